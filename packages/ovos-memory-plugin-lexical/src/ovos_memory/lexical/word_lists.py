"""The function words of the languages, as written; read by :mod:`ovos_memory.lexical.function_words`."""

from __future__ import annotations

SPACED: dict[str, str] = {
    "en": """a an the and or but nor if then else than as so of at by for with about against between
        into through during
        before after above below to from up down in out on off over under again further once here there
        when where why
        how what which who whom whose this that these those am is are was were be been being have has
        had having do does
        did doing done can cannot could shall should will would may might must ought i me my mine
        myself we our ours us
        ourselves you your yours yourself yourselves he him his himself she her hers herself it its
        itself they them
        their theirs themselves all any both each few many more most much other some such no not only own same
        too very just also
        ever because until while let lets please ain aren couldn didn doesn don hadn hasn haven isn
        mustn needn shan
        shouldn wasn weren won wouldn ll re ve im ive youre youve hes shes theyre theyve weve dont
        doesnt didnt isnt
        arent wasnt werent cant couldnt wont wouldnt thats whats wheres whos theres oh ok okay yes yeah
        hey hi""",
    "de": """der die das den dem des ein eine einer einem einen eines und oder aber denn wenn weil dass
        ob als wie was wer
        wen wem wessen wo wohin woher wann warum wieso welche welcher welches welchen welchem ich du er
        sie es wir ihr
        mich mir dich dir ihn ihm uns euch ihnen sich mein meine meinen meinem meiner meines dein deine
        deinen deinem
        deiner sein seine seinen seinem seiner ihre ihren ihrem ihrer unser unsere unseren unserem euer
        eure bin bist ist
        sind seid war warst waren wart wird werden wurde wurden worden habe hast hat haben hatte hatten
        kann kannst können
        konnte muss musst müssen soll sollen will willst wollen darf mag möchte im am zum zur vom beim
        ins ans in an auf
        aus bei mit nach von vor zu zwischen über unter durch für gegen ohne um bis seit nicht kein
        keine keinen keinem
        nur auch noch schon sehr so da dort hier dann nun ja nein doch mal denn etwas man dieser diese
        dieses diesen
        diesem jener jene jenes heißt heiße heißen gibt bitte""",
    "es": """el la los las lo un una unos unas y e o u pero si no sí que qué quién quiénes cuál cuáles
        cómo cuándo dónde
        cuánto cuántos cuánta cuántas por para con sin de del al a en entre sobre desde hasta hacia
        según durante tras
        ante contra como cuando donde porque aunque mientras yo tú él ella ello nosotros vosotros ellos
        ellas usted
        ustedes me te se nos os le les mi mis tu tus su sus mío mía tuyo suyo nuestro nuestra nuestros
        nuestras vuestro
        este esta estos estas esto ese esa esos esas eso aquel aquella aquello soy eres es somos sois
        son era eras eran
        fue fui fueron ser sido estoy estás está están estaba estaban he has ha hemos han había haber
        hay muy más menos
        ya también tampoco solo sólo aquí allí ahí entonces llamo llamas llama llaman hola gracias""",
    "fr": """le la les l un une des du de d au aux et ou mais si ni car donc que qu quoi qui quel
        quelle quels quelles dont
        où quand comment pourquoi combien est-ce je j tu il elle on nous vous ils elles me m te t se s
        lui leur leurs moi
        toi soi eux mon ma mes ton ta tes son sa ses notre nos votre vos ce c cet cette ces cela ça
        ceci celui celle ceux
        celles suis es est sommes êtes sont étais était étaient être été fut sera ai as a avons avez
        ont avais avait
        avaient avoir eu ne n pas plus moins très aussi bien y en dans sur sous avec sans pour par vers
        chez entre depuis
        pendant avant après comme alors oui non ici là appelle appelles appellent bonjour merci qu'est""",
    "it": """il lo la i gli le l un uno una e ed o ma se che chi cui quale quali quanto quanta quanti
        quante come quando
        dove perché di a da in con su per tra fra del dello della dei degli delle al allo alla ai agli
        alle dal dallo
        dalla dai dagli dalle nel nello nella nei negli nelle sul sullo sulla sui sugli sulle col io tu
        lui lei noi voi
        loro mi ti si ci vi ne me te mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra
        nostri vostro
        questo questa questi queste quello quella quelli quelle ciò sono sei è siamo siete era eri
        erano essere stato
        stata fu ho hai ha abbiamo avete hanno avevo aveva avere non più molto anche già solo qui qua
        là lì allora poi
        sì no chiamo chiami chiama chiamano ciao grazie cosa""",
    "pt": """o a os as um uma uns umas e ou mas se que quê quem qual quais quanto quantos quanta
        quantas como quando onde
        porque porquê por para com sem de do da dos das em no na nos nas num numa ao aos à às pelo pela
        pelos pelas até
        desde entre sobre eu tu ele ela nós vós eles elas você vocês me te lhe lhes mim ti meu minha
        meus minhas teu tua
        teus tuas seu sua seus suas nosso nossa nossos nossas este esta estes estas isto esse essa
        esses essas isso
        aquele aquela aquilo sou és é somos são era eram foi fui foram ser sido estou está estão estava
        tenho tens tem
        temos têm tinha ter há não sim mais menos muito também já só aqui ali lá então chamo chamas
        chama chamam olá""",
    "gl": """o a os as un unha uns unhas e ou pero se que quen cal cales canto cantos como cando onde
        por para con sen de
        do da dos das en no na nos nas ao aos á ás polo pola ata desde entre sobre eu ti el ela nós vós
        eles elas me te
        lle lles che meu miña meus miñas teu túa seu súa seus súas noso nosa este esta isto ese esa iso
        aquel son es é
        somos sodes era foi fun ser estou está están estaba teño tes ten temos teñen había hai non si
        máis menos moi
        tamén xa só aquí alí entón chamo chamas chama chaman ola""",
    "ca": """el la els les l un una uns unes i o però si no que què qui quin quina quins quines quant
        quants quanta com
        quan on per amb sense de del dels d a al als en entre sobre des fins jo tu ell ella nosaltres
        vosaltres ells
        elles em et es ens us li els m t s n hi ho ne meu meva meus meves teu teva seu seva seus seves
        nostre nostra
        aquest aquesta aquests aquestes això aquell aquella allò sóc soc ets és som sou són era eren va
        van vaig ser
        estat estic està estan he has ha hem heu han havia haver hi ha molt més menys també ja només
        aquí allà llavors
        perquè pel pels dic dius diu diuen""",
    "eu": """eta edo baina ez bai da dira naiz zara gara zen ziren dut du dute dugu duzu zuen nuen
        zuten dago daude nago zer
        nor non noiz nola zein zenbat zergatik nire zure bere gure haien ni zu hura gu zuek haiek hau
        hori hauek horiek
        bat batzuk oso ere gero orain hemen hor han hemen nola baita ba al ote duen den diren dela izan
        izango dio diot
        zait zaio deitzen""",
    "nl": """de het een en of maar als dan dat die dit deze wie wat waar wanneer waarom hoe welke welk
        ik jij je u hij zij
        ze wij we jullie mij me jou hem haar ons hen hun mijn jouw uw zijn onze er ben bent is was
        waren wordt worden werd
        heb hebt heeft hebben had hadden kan kunt kunnen kon moet moeten zal zullen zou wil wilt willen
        mag in op aan uit
        bij met naar van voor tot over onder door om te tegen zonder tussen na niet geen nog ook al zo
        hier daar toen nu
        ja nee wel heel zich iets heet heten""",
    "sv": """och eller men att om som den det de en ett jag du han hon vi ni dem mig dig honom henne
        oss er sig min mitt
        mina din ditt dina sin sitt sina hans hennes vår vårt våra ert era deras vad vem vilka vilken
        vilket var när hur
        varför vart är var vara varit blir blev ha har hade kan kunde ska skulle vill ville måste får
        på i av för med till
        från under över efter mellan utan hos vid inte nej ja också så här där då nu mycket mer bara
        ingen inget denna
        detta dessa heter hette""",
    "da": """og eller men at om som den det de en et jeg du han hun vi i dem mig dig ham hende os jer
        sig min mit mine din
        dit dine sin sit sine hans hendes vores jeres deres hvad hvem hvilke hvilken hvilket hvor
        hvornår hvordan hvorfor
        er var være været bliver blev have har havde kan kunne skal skulle vil ville må får på af for
        med til fra under
        over efter mellem uden hos ved ikke nej ja også så her der da nu meget mere kun ingen intet
        denne dette disse
        hedder hed""",
    "nb": """og eller men at om som den det de en ei et jeg du han hun vi dere dem meg deg ham henne
        oss seg min mitt mine
        mi din ditt dine di sin sitt sine si hans hennes vår vårt våre deres hva hvem hvilke hvilken
        hvilket hvor når
        hvordan hvorfor er var være vært blir ble ha har hadde kan kunne skal skulle vil ville må får
        på i av for med til
        fra under over etter mellom uten hos ved ikke nei ja også så her der da nå veldig mer bare
        ingen denne dette disse
        heter het eg ikkje kva kven korleis kor""",
    "fi": """ja tai mutta että jos kun kuin niin koska vaikka minä sinä hän me te he se ne minun sinun
        hänen meidän teidän
        heidän minua sinua häntä minulle sinulle hänelle minulla sinulla hänellä sen niiden tämä tuo
        nämä nuo tätä tämän
        mikä mitä mitkä kuka ketä kenen missä mihin mistä milloin miten miksi minne kuinka mikä olen
        olet on olemme olette
        ovat oli olin olivat olla ollut ole en et ei emme ette eivät myös vain nyt sitten siellä täällä
        siinä hyvin jo
        vielä joka jotka nimi nimeltä""",
    "hu": """a az egy és vagy de hogy ha mert mint én te ő mi ti ők engem téged őt minket nekem neked
        neki nekünk nekik
        enyém tied ez az ezek azok itt ott ide oda ki mi mit kit kinek minek mikor hol hova honnan
        hogyan miért melyik
        mennyi hány van vannak volt voltak vagyok vagy vagyunk lesz lenni nem igen is csak már még most
        akkor nagyon meg
        el fel le be ki össze hívják hívnak""",
    "pl": """i oraz lub albo ale że żeby jeśli jak gdy bo więc ja ty on ona ono my wy oni one mnie mi
        mną ciebie cię tobie
        ci go jego mu niego jej ją nią nas nam was wam ich im nich się mój moja moje moich mojego mojej
        twój twoja twoje
        twojego twojej swój swoja swoje nasz nasza wasz ten ta to te ci tego tej tym tych kto kogo co
        czego czym gdzie
        kiedy dlaczego który która które jaki jaka jakie ile czy jestem jesteś jest jesteśmy są był
        była było byli być
        będzie mam masz ma mamy mają w we na z ze do od dla po pod nad przed przez przy o u za bez
        między nie tak też już
        tylko tu tam bardzo jeszcze nazywa""",
    "cs": """a i nebo ale že aby když jak protože tak já ty on ona ono my vy oni mě mne mi mnou tebe tě
        ti jeho ho mu něho
        její ji jí ní nás nám vás vám jich jim se si můj moje má mého mojí tvůj tvoje tvého svůj svoje
        náš naše váš ten ta
        to ty toho té tom těch kdo koho co čeho čím kde kam odkud kdy proč který která které jaký jaká
        jaké kolik jsem jsi
        je jsme jste jsou byl byla bylo byli být bude mám máš má máme mají v ve na z ze do od pro po
        pod nad před při o u
        za bez mezi s k ke ne ano také už jen tady tam velmi ještě jmenuje""",
    "ro": """un o unei unui niște și sau dar că dacă ca când cum unde ce cine care cât câți de ce eu tu
        el ea noi voi ei ele
        mă te îl îi ne vă se mi ți meu mea mei mele tău ta tăi tale său sa lui nostru noastră acest
        această aceasta acel
        sunt ești este e suntem sunteți era erau fost fi am ai are avem aveți au în la pe cu din de
        pentru prin spre până
        fără între sub după nu da mai foarte și doar aici acolo atunci numește cheamă""",
    "tr": """ve veya ya da de ama fakat ki ile için gibi kadar ben sen o biz siz onlar bana sana ona
        bize size onlara beni
        seni onu bizi sizi onları benim senin onun bizim sizin onların bu şu bunlar şunlar ne kim
        nerede nereye nereden ne
        zaman nasıl neden niçin hangi kaç mi mı mu mü değil var yok evet hayır çok daha en her bir şey
        olan olarak idi
        dır dir adı""",
    "vi": """và hoặc nhưng mà là của có không được bị ở tại trong ngoài trên dưới với cho từ đến về để
        khi nếu thì vì nên
        tôi bạn anh chị em ông bà nó chúng ta mình họ cái con chiếc này kia đó đấy gì nào ai đâu sao
        bao nhiêu thế rất
        cũng đã đang sẽ vẫn chỉ những các một ra vào lên xuống ạ à nhé rồi tên""",
    "ru": """и или но а что чтобы если как когда где куда откуда почему зачем кто кого кому кем чего
        чему чем какой какая
        какое какие какого который которая которые сколько ли я ты он она оно мы вы они меня мне мной
        тебя тебе его ему
        него нему её ей ней нас нам вас вам их им них себя себе мой моя моё мои моего моей моему твой
        твоя твоё твоего
        твоей свой своя свое наш наша ваш этот эта это эти этого тот та то те того в во на с со к ко у
        о об от до из за
        по под над при для без через между не ни да нет бы же уже ещё только тоже так там тут здесь
        есть был была было
        были быть будет очень зовут""",
    "uk": """і й та або але а що щоб якщо як коли де куди звідки чому хто кого кому ким чого чим який
        яка яке які якого
        скільки чи я ти він вона воно ми ви вони мене мені мною тебе тобі його йому нього її їй неї нас
        нам вас вам їх їм
        них себе собі мій моя моє мої мого моєї твій твоя твоє твого твоєї свій своя наш наша ваш цей
        ця це ці цього той
        та те ті того в у на з із зі до від для без через між за під над при про по не ні так вже ще
        тільки також там тут
        є був була було були бути буде дуже звати звуть""",
    "el": """ο η το οι τα του της των τον την τους τις ένας μια μία ένα και ή αλλά ότι πως αν όταν
        γιατί επειδή όπως εγώ
        εσύ αυτός αυτή αυτό εμείς εσείς αυτοί με σε μου σου μας σας τι ποιος ποια ποιο ποιοι πού πότε
        πόσο πόσα είμαι
        είσαι είναι είμαστε ήταν ήμουν έχω έχεις έχει έχουν είχε από για στο στη στην στον στα στους
        στις μετά πριν δεν
        μην μη ναι όχι θα να πολύ πιο και εδώ εκεί που λένε""",
    "he": """של את על אל עם אני אתה הוא היא אנחנו אתם הם הן לי לך לו לה לנו להם שלי שלך שלו שלה שלנו
        אותי אותך אותו אותה
        זה זאת זו אלה מה מי איפה מתי איך למה איזה איזו כמה האם אם כי או אבל לא כן יש אין היה היתה היו
        גם רק כבר עוד מאוד
        פה שם אז כל בין עד כמו""",
    "ar": """من إلى عن على في مع هذا هذه ذلك تلك هؤلاء الذي التي الذين ما ماذا من متى أين كيف لماذا هل
        كم أي أنا أنت هو هي
        نحن هم أنتم لي لك له لها لنا لهم و أو ثم لكن إن أن إذا كان كانت كانوا يكون لا لم لن ليس قد كل
        بعض غير بين عند
        بعد قبل حتى نعم هنا هناك جدا أيضا فقط يا اسم""",
    "fa": """و یا اما که را از به با در بر برای تا این آن اینها آنها من تو او ما شما آنها ایشان چه چی
        کی کجا چرا چگونه چطور
        چند کدام آیا است هست هستم هستی هستیم هستند بود بودم بودند شد می هم نه بله خیلی هر یک دیگر فقط
        اگر ولی چون ام ای
        اند اسم نام ها های هایی هایم می نمی""",
    "hi": """का के की को में से पर ने है हैं था थे थी हूँ हो और या लेकिन कि जो वह वे यह ये मैं हम तुम
        आप मेरा मेरी मेरे
        हमारा हमारी तुम्हारा तुम्हारी आपका आपकी आपके उसका उसकी उसके इसका मुझे मुझको तुझे उसे इसे हमें
        उन्हें क्या कौन कब
        कहाँ कहां कैसे क्यों कितना कितने कितनी किस किसने किसका नहीं हाँ भी ही तो एक अब बहुत साथ लिए रहा
        रहे रही गया गई गए
        होता होती कर करना नाम""",
}
UNSPACED: dict[str, str] = {
    "th": """ที่ไหน เมื่อไหร่ เมื่อไร อะไร อย่างไร ยังไง ทำไม เท่าไหร่ เท่าไร ของฉัน ของผม ของคุณ ของ
        ฉัน ผม ดิฉัน คุณ เขา เธอ
        เรา เป็น คือ มี และ หรือ แต่ กับ ที่ ใน จาก ได้ ให้ จะ ไม่ นี้ นั้น ครับ ค่ะ คะ แล้ว อยู่ ว่า
        ก็ ไหม มั้ย ใคร ไหน กี่ ชื่อ
        เรียกว่า ด้วย มาก""",
    "zh": """什么 什麼 怎么 怎麼 怎样 为什么 為什麼 哪里 哪裡 哪儿 哪个 哪個 谁 誰 几 幾 多少 何时 我的
        你的 他的 她的 它的 我们的
        我们 我們 你们 你們 他们 他們 她们 这个 這個 那个 那個 是 的 了 吗 嗎 呢 吧 叫 名字 是不是
        有没有 一个 一個 可以 因为 所以 但是
        还是 就是 没有 不是""",
    "ja": """何ですか なんですか ですか でした です ますか ました ません ます でしょう だった である
        している していた しました した する
        ている ていた という といい と言い について とは では には のは のが のを こと もの ため よう
        それ これ あれ どれ その この あの
        どの ここ そこ あそこ どこ だれ 誰 なに 何 いつ どう なぜ 私の 僕の あなたの 私 僕 あなた 名前
        から まで など とても ください
        ありがとう あります いますか います ある いる""",
    "ko": """무엇 뭐야 뭐예요 무슨 어디 언제 누구 어떻게 어떤 얼마 나의 내가 우리 저의 제가 당신 그리고
        그러나 하지만 있어요 있습니다
        입니다 습니다 합니다 했습니다 했어요 해요 하는 이에요 예요 에서 에게 으로 부터 까지 이름""",
}
