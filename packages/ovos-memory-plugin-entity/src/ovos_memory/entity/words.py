"""Words that the fact logic has to know, by what they do; folded: lower case, without marks.

English, German, Dutch, Spanish, Portuguese, French, Italian and Catalan. A language that is missing costs
precision, never a fact that the user stated in the words of the fact: what is compared are first of all the
words themselves.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


USER = _words(
    "user users usuario usuaria utilizador utilizadora benutzer benutzerin nutzer nutzerin utilisateur"
    " utilisatrice utente"
    " gebruiker gebruikster usuari speaker"
)
"""Words for the one who speaks."""

FRAME = USER | _words(
    # Who is spoken of.
    "person i me my mine myself you your he she they his her their him them we our us it its"
    " ich mich mir mein meine meinen meiner meinem er sie sein seine ihr ihre yo mi mis me su sus el"
    " ella eu meu minha meus"
    " minhas seu sua ele ela je moi mon ma mes il elle son sa ses io mio mia miei mie lui lei suo sua ik"
    " mijn hij zij zijn haar"
    # Articles, prepositions, conjunctions.
    " the a an of in on at to for from with by as and or but that this these those who which about into"
    " than also"
    " der die das den dem des ein eine einen einem einer und oder mit von vom zu zum zur im am als auf"
    " bei fur nach aus dass"
    " el la los las un una unos unas de del al en con por para que y o como lo"
    " os as um uma uns umas do da dos das no na nos nas em com e ao"
    " le les une du au aux avec pour qui et ou dans chez est"
    " gli dello della dei delle nel nella alla che per"
    " het een van met te naar bij voor dat"
    # To be, to have, auxiliaries.
    " is are was were be been being am has have had having does do did will would can could should s m"
    " re ve ll d any more very really too just"
    " ist sind war bin bist sein hat habe haben hatte wird werden kann es esta son soy era ser estar"
    " tiene tengo tener ha he"
    " tem tenho ter tinha sou estou e suis sommes etre a ai ont avoir sono sei ho hanno avere essere ben"
    " heeft heb hebben"
    # Naming, liking, living, owning: they say what kind of fact it is, people say them in many ways.
    " name named names called call goes known heisst heissen heist namens nombre llama llamo nome chama"
    " chamo chamado chamada"
    " nom appelle nomme chiama chiamo chiamato naam heet genaamd nom diu"
    " like likes liked love loves loved enjoy enjoys enjoyed prefer prefers preferred favorite favourite"
    " fan fond"
    " mag mochte liebt lieblings bevorzugt gern gerne gusta gustan encanta prefiere favorito favorita"
    " gosta adora prefere"
    " aime adore prefere prefer favori preferee piace piacciono ama preferisce preferito preferita houdt"
    " vindt favoriete"
    " live lives lived living reside resides residing based home wohnt lebt wohne lebe vive vivo mora"
    " moro reside habite vit"
    " abita abito woont woon moved moves own owns owned got gets keeps besitzt posee possui possede"
    " possiede"
    " work works working worked job arbeitet arbeite trabaja trabajo trabalha trabalho travaille lavora"
    " lavoro werkt werk"
    " said says mentioned stated told wants want now currently recently year years old jahre alt anos"
    " ans anni jaar"
)
"""Words that neither prove a fact nor speak against it."""

NEGATIONS = _words(
    "not never no longer nor without dont doesnt didnt isnt wasnt arent cant cannot wont stopped quit"
    " hate hates hated"
    " dislike dislikes disliked anymore former formerly ex gave"
    " nicht kein keine keinen keiner nie niemals hasst hasse ohne aufgehort nunca jamas odia odio"
    " tampoco sin dejo deje"
    " nao jamais odeia odeio sem deixei deixou pas plus jamais deteste detestes sans arrete non mai odia"
    " odio senza smesso"
    " niet geen nooit haat zonder gestopt mai cap"
)

MILD_NEGATIVES = _words(
    "allergic allergy intolerant intolerance avoid avoids cannot cant allergisch unvertraglich meidet"
    " alergico alergica alergia"
    " intolerante evita allergique allergie eviter allergico allergica allergia intollerante vegan"
    " vegetarian gluten lactose"
    " free frei sin sem sans senza"
)
"""Facts with one of these may well rest on a sentence of the other sign ("I cannot eat nuts")."""

CORRECTIONS = _words(
    "actually instead correction correct changed change switched switch moved meant longer anymore now"
    " used rather wrong"
    " sorry renamed replaced sold new newer"
    " eigentlich stattdessen korrektur geandert gewechselt umgezogen gezogen meinte jetzt mehr frueher"
    " fruher falsch"
    " realidad ahora cambio cambie mude mudo correccion antes ya corrijo"
    " afinal agora mudei mudou troquei trocou correcao antes ja em vez"
    " fait maintenant change demenage plutot correction avant"
    " realta adesso ora cambiato trasferito correzione prima invece"
    " eigenlijk nu veranderd verhuisd correctie eerst"
)
"""Words of somebody who corrects what was known."""

FIRST_PERSON = _words(
    "i im ive id ill my me mine we our us ich mein meine meinen mir mich wir unser yo mi mis me nos"
    " nuestro eu meu minha"
    " meus minhas nos je j mon ma mes moi nous io mio mia mi noi ik mijn me jo meu meva"
)

MANY_VALUED = _words(
    "child children kid kids son sons daughter daughters brother brothers sister sisters sibling"
    " siblings friend friends pet"
    " pets dog dogs cat cats hobby hobbies allergy allergies interest interests language languages skill"
    " skills like likes"
    " dislike dislikes goal goals plan plans project projects colleague cousin aunt uncle medication"
    " medications medicine note"
    " fact appointment reminder kind sohn tochter bruder schwester freund freundin hund katze hobbys"
    " allergie allergien"
    " sprache hijo hija hermano hermana amigo amiga perro gato aficion alergia idioma filho filha irmao"
    " irma cao cachorro"
    " passatempo lingua fils fille frere soeur ami amie chien chat loisir langue figlio figlia fratello"
    " sorella amico cane gatto"
)
"""What one may have more than one of: a second value stands beside the first."""

NUMBERS = {
    word: str(value)
    for value, words in enumerate(
        (
            "zero null cero",
            "one eins uno um une een",
            "two zwei dos dois duas deux due twee couple",
            "three drei tres trois tre drie",
            "four vier cuatro quatro quatre quattro",
            "five funf cinco cinq cinque vijf",
            "six sechs seis sei zes",
            "seven sieben siete sete sept sette zeven",
            "eight acht ocho oito huit otto",
            "nine neun nueve nove neuf negen",
            "ten zehn diez dez dix dieci tien",
            "eleven elf once onze undici",
            "twelve zwolf doce doze douze dodici twaalf",
        )
    )
    for word in words.split()
}

KINDS: dict[str, frozenset[str]] = {
    "health": _words(
        "allergic allergy allergies diabetes diabetic asthma asthmatic medication medicine pill insulin"
        " illness disease condition"
        " doctor blood pressure vegan vegetarian celiac coeliac gluten lactose intolerant pregnant"
        " wheelchair deaf blind"
        " allergisch allergie diabetiker diabetikerin krankheit medikament arzt arztin schwanger"
        " alergico alergica alergia diabetico"
        " asma embarazada medico remedio gravida allergique diabetique enceinte medecin allergico"
        " allergica diabetico incinta"
        " vegano vegana vegetariano vegetariana vegetarier vegetarierin vegetarien allergisch zwanger"
    ),
    "family": _words(
        "wife husband partner spouse married son daughter child children kid kids mother father mom mum"
        " dad brother sister"
        " grandmother grandfather grandma grandpa family girlfriend boyfriend fiance frau mann ehefrau"
        " ehemann sohn tochter"
        " kind kinder mutter vater bruder schwester oma opa familie verheiratet esposa esposo marido"
        " mujer hijo hija hijos madre"
        " padre hermano hermana abuela abuelo familia casado casada filho filha filhos mae pai irmao"
        " irma avo mulher femme mari"
        " fils fille enfants mere pere frere soeur famille marie moglie marito figlio figlia figli"
        " fratello sorella famiglia vrouw"
        " zoon dochter kinderen moeder broer zus"
    ),
    "work": _words(
        "job profession occupation employer company boss office beruf firma empresa trabajo profesion"
        " profissao metier travail"
        " entreprise lavoro azienda baan bedrijf"
    ),
}
"""What a fact is about when the model does not say."""
