"""Light stemming without a dependency: the frequent inflections of a language cut off, by table.

This is no grammar.  It makes the forms of a word meet in most cases; what it misses, the search finds through words
that begin alike.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from ovos_memory.lexical.folding import fold


@dataclass(frozen=True, slots=True)
class _Endings:
    """How the words of a language are cut.

    Attributes:
        suffixes: As written; folded when used.
        rounds: How often one is cut.
        least: Letters that remain.
        spared: Letters more that remain in later rounds.
        prefixes: Cut before the suffixes.
        least_after_prefix: Letters that remain behind a prefix.
    """

    suffixes: str
    rounds: int = 1
    least: int = 3
    spared: int = 1
    prefixes: str = ""
    least_after_prefix: int = 3


_TABLE = {
    "de": _Endings("ungen ung heiten heit keiten keit lichen licher liches liche lich isch ische innen in ern er en em es"
                   " et te ten test e n s t st end ende enden", rounds=2, prefixes="ge", least_after_prefix=5),
    "nl": _Endings("heden heid ingen ing lijke lijk tjes tje jes je sels en er es e s", rounds=2,
                   prefixes="ge", least_after_prefix=5),
    "sv": _Endings("heterna heten heter het ningarna ningar ningen ning arna erna orna ande ende aren aste ast ade are"
                   " ar er or en et na t a e n s d it", rounds=2),
    "da": _Endings("ernes erne hederne heden heder hed ningerne ningen ning ende ede erede erer er en et ene es e s t"
                   " r te", rounds=2),
    "nb": _Endings("hetene heten heter het ningene ningen ning ene ane ende ede et er ar en a e s t te r", rounds=2),
    "es": _Endings("amientos amiento imientos imiento aciones ación adoras adores adora ador encias encia ancias ancia"
                   " mente idades idad ándolo iéndolo ando iendo yendo aríamos eríamos aron ieron aste iste ábamos"
                   " íamos aba abas aban ían ías ía ará erá irá arán erán ado ada ados adas ido ida idos idas amos emos"
                   " imos ar er ir ó é es os as an en a e o s", rounds=2),
    "gl": _Endings("amentos amento acións ación adores ador encias encia mente idades idade ando endo indo aron eron"
                   " iron aba aban ía ían ado ada ados adas ido ida idos idas amos emos imos ar er ir ou eu iu óns ón ás"
                   " es os as an en a e o s", rounds=2),
    "pt": _Endings("amentos amento ações ação adores ador ências ência mente idades idade ando endo indo aram eram iram"
                   " ava avam ia iam ado ada ados adas ido ida idos idas amos emos imos ar er ir ou eu iu ões ães ão ais"
                   " éis óis es os as am em a e o s", rounds=2),
    "ca": _Endings("aments ament acions ació adors ador ències ència ment itats itat ant ent int aven ava ien ia aren"
                   " eren iren at ada ats ades it ida its ides em eu ar er ir re és os es en a e o s à ns", rounds=2),
    "fr": _Endings("issements issement ements ement ations ation ateurs ateur trices trice ences ence ités ité euses euse"
                   " eurs eur aient erait ions iez issait ant ants ante antes aux eaux eau ées ée és é er ir ez ai ais"
                   " ait ons ent era erai es e s x t is it i", rounds=2),
    "it": _Endings("amenti amento azioni azione atori atore enze enza mente ità ando endo avano evano ivano avo evo ava"
                   " eva iva arono erono irono ato ata ati ate uto uta uti ute ito ita iti ite iamo ate ete are ere ire"
                   " erà arà ò ano ono chi che ghi ghe hi he ie io a e i o", rounds=2),
    "ro": _Endings("urilor urile uri ului elor ilor iilor ule ul lor le ele ii ei ea ia ie ează esc ește ând ind at ată"
                   " ați ate it ită am ai au ez i e a u ă t", rounds=2),
    "eu": _Endings("arekin ekin arentzat entzat aren en ari ei etan ean an etara era ra etatik etik tik eko ko tako ak"
                   " ek ok etan rik ik a k n tzen ten tu du t i o z az ez", rounds=2),
    "fi": _Endings("kaan kään kin kö ko han hän nsa nsä mme nne ni si issa issä ssa ssä ista istä sta stä illa illä"
                   " lla llä ilta iltä lta ltä ille lle ksi iksi ina inä na nä itta ittä tta ttä iden itten ien jen ten"
                   " en in seen siin hin hen hon hän iin aan ään een oon uun yyn öön ita itä ia iä ja jä ta tä a ä n t"
                   " i j e o u ut yt nut nyt neet tiin ttiin vat vät isi mme tte", rounds=3),
    "hu": _Endings("ban ben ból ből ról ről tól től nak nek val vel hoz hez höz ért ként ig ra re ba be nál nél kor án én"
                   " on en ön ot et öt at t n k ok ek ök ak m am em om öm d ad ed od öd ja je juk jük uk ük unk ünk tok tek"
                   " aim eim im ai ei i a e á é ott ett ött t tam tem tál tél ni ó ő va ve", rounds=3),
    "pl": _Endings("ościach ości ość owaniu owanie anie eniu enie ami iami ach iach owie owi ów iego ego iemu emu iej ej"
                   " ymi imi ych ich ym im em iem om iom ą ę a e i o u y ie ia ię łem łam łeś łaś liśmy łyśmy li ły ła ło ł"
                   " ać eć ić yć uje uję isz esz my cie ją ają", rounds=2),
    "cs": _Endings("ostech ostí ost ování ováním ání ení ami emi ích ách ech ového ovému ovi ové ého ému ých ými ím ým em"
                   " ou ám ům ů a e ě i o u y á é í ý ová al ala ali aly il ila ili el ela at it et ět uje uji íš eš me te"
                   " ím ám", rounds=2),
    "tr": _Endings("larından lerinden larında lerinde larını lerini larına lerine larım lerim ların lerin ları leri lar"
                   " ler ımız imiz umuz ümüz ınız iniz unuz ünüz nın nin nun nün ın in un ün ım im um üm m yı yi yu yü ı i"
                   " u ü ya ye a e sı si su sü nda nde ndan nden da de ta te dan den tan ten yla yle la le ki lık lik luk"
                   " lük lı li lu lü cı ci cu cü yor iyor dı di du dü tı ti tu tü dım dim dum düm tım tim tum tüm dık dik"
                   " duk dük tık tik mış miş muş müş acak ecek mak mek ar er ır ir ur ür", rounds=3, spared=0),
    "ru": _Endings("остями остях ости ость ениями ениях ением ения ение ению аниями аниях анием ания ание анию иями ями"
                   " ами иях ях ах ого его ому ему ыми ими ый ий ой ей ая яя ое ее ые ие ую юю ых их ым им ом ем ам ям"
                   " ием иям ов ев ью ия ии ию ешь ишь ете ите ует уют ют ут ят ат ет ит ем им ла ло ли л ал ала али ил"
                   " ила или ть ать ить еть а я о е у ю ы и ь й", rounds=2),
    "uk": _Endings("остями остях ості ість еннями еннях енням ення аннями ання анням ями ами ях ах ого ього ому ьому ими"
                   " іми ий ій ої ою ею єю а я е є і ї у ю ів їв ам ям ом ем єм их іх им ім ував увала увати ла ло ли в"
                   " ав ала али ив ила или ти ати ити ять уть ють ить ає ує еш иш о и ь й", rounds=2),
    "el": _Endings("ματων ματα ματος μα ους ων ες ος ου οι ας ης εις εων εως ουμε ετε ουν ουσα ουσε ησα ησε ησαν ισα ισε"
                   " σαμε σα σε αμε ατε αν ω α η ο ι ε υ ων ιων ια ιας ιες", rounds=2),
    "he": _Endings("יהם ותיו ותי ים ות ית יו ה ת י", prefixes="וה ול וב ה ו ב ל מ ש כ", least_after_prefix=3),
    "ar": _Endings("اتها اته تها ته ها هم هن نا كم ان ات ون ين يه ه ي ك وا ت",
                   prefixes="وبال وال بال كال فال لل ال", least_after_prefix=3, rounds=2),
    "fa": _Endings("هایشان هایمان هایی های ها ترین تر یان ان یم ید ند ات ام اش م ت ش ی ه", prefixes="نمی می",
                   least_after_prefix=3),
    "hi": _Endings("ियों ियाँ ियां ाओं ाएँ ाएं ुओं ुएँ ुएं ीयों ेंगे ूंगा ेगा ेगी ने ना नी ता ते ती कर ों ें ीं ाँ ां ो े ी ा"
                   " ि ू ु", least=2),
}  # fmt: skip

_GRADATION = (
    ("nt", "nn"),
    ("lt", "ll"),
    ("rt", "rr"),
    ("mp", "mm"),
    ("nk", "ng"),
    ("kk", "k"),
    ("pp", "p"),
    ("tt", "t"),
)


def _finnish(stem: str) -> str:
    """Level the consonants that change between strong and weak grade (katu, kadun; kauppa, kaupan)."""
    stem = stem.replace("d", "t")
    for strong, weak in _GRADATION:
        stem = stem.replace(strong, weak)
    return stem.rstrip("aeiouy") if len(stem.rstrip("aeiouy")) >= 3 else stem


def _turkish(stem: str) -> str:
    """Level the last consonant, which softens before a vowel (kitap, kitabı)."""
    return stem[:-1] + {"b": "p", "d": "t", "g": "k"}.get(stem[-1], stem[-1])


_FLEETING = re.compile(r"([^aeiouy])\1?e([lnr])$")
_LONG = re.compile(r"([aeou])\1([^aeiou])$")


def _germanic(stem: str) -> str:
    """Level doubled consonants (katt, katten; nett) and the e that comes and goes (cykel, cyklar)."""
    stem = _FLEETING.sub(r"\1\2", stem)
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem


def _dutch(stem: str) -> str:
    """Level vowels that are doubled in closed syllables only (maan, manen), too."""
    if len(stem) > 5 and stem[-1] == "d":  # of a past tense: wandel(d)en
        stem = stem[:-1]
    return _germanic(_LONG.sub(r"\1\2", stem))


_FINISH: dict[str, Callable[[str], str]] = {
    "fi": _finnish,
    "tr": _turkish,
    "nl": _dutch,
    "sv": _germanic,
    "da": _germanic,
    "nb": _germanic,
}


@functools.cache
def light_stemmer(language: str) -> Callable[[str], str] | None:
    """Return a function that stems a folded word of the language; ``None`` when there is no table for it."""
    table = _TABLE.get(language)
    if table is None:
        return None
    suffixes = _alternatives(table.suffixes)
    first = re.compile(rf"(?<=.{{{table.least}}})(?:{suffixes})$")
    later = re.compile(rf"(?<=.{{{table.least + table.spared}}})(?:{suffixes})$")
    # the regular expression finds the leftmost match, and with it the longest suffix that leaves enough
    prefix = None
    if table.prefixes:
        prefix = re.compile(rf"^(?:{_alternatives(table.prefixes)})(?=.{{{table.least_after_prefix},}})")
    finish = _FINISH.get(language)

    def stem(word: str) -> str:
        if prefix is not None:
            word = prefix.sub("", word, count=1)
        word = first.sub("", word, count=1)
        for _ in range(table.rounds - 1):
            word = later.sub("", word, count=1)
        return word if finish is None or len(word) < 2 else finish(word)

    return stem


def _alternatives(listed: str) -> str:
    parts = {fold(part) for part in listed.split()} - {""}
    return "|".join(sorted(map(re.escape, parts), key=lambda part: (-len(part), part)))
