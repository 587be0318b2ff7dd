"""What a fact is the value of: of a slot (name, home, job, age, "dentist" …) there is one current value.

Two facts of one slot with different values contradict each other, with equal values they are one fact.
Recognised without a model, in the languages of :mod:`ovos_memory.entity.words`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ovos_memory.entity import words
from ovos_memory.entity.tokens import is_same_word, plain, tokens, word_set

_SUBJECT = re.compile(
    r"^(?:(?:the |o |a |el |la |le |il |lo |der |die |de |het )?(?:user|usuario|usuaria|utilizador"
    r"|utilizadora|benutzer"
    r"|benutzerin|nutzer|nutzerin|gebruiker|usuari|person)(?:['’]?s)?\b|l['’]ut(?:ilisateur|ilisatrice"
    r"|ente)\b"
    r"|(?:my|his|her|their|mein|meine|sein|seine|ihr|ihre|mi|su|meu|minha|seu|sua|o meu|a minha|mon|ma"
    r"|son|sa|il mio|la mia"
    r"|il suo|la sua|mijn|zijn|haar)\b|(?:i['’]m|i am|i|ich|yo|eu|je|j['’]|io|ik|he|she|they|er|sie|el"
    r"|ella|ele|ela|il|elle"
    r"|lui|lei|hij|zij)\b)[\s:,-]*"
)
_NAME_LABEL = r"(?:(?:full |first |given |preferred |vor)?name|nombre|nome|prenom|nom|naam)"
_OF_USER = r"(?: (?:of|des|der|del|de|do|da|della|van)\b[^:=]{0,30}?)?"
_IS = r"\s*(?:\bis\b|\bist\b|\bes\b|\be\b|\best\b|\bare\b|\bwas\b|[:=])\s*"
_FROM = r"(?:\w+ )?(?:from|von|aus|de|desde|da|do|van|uit) .{1,40}?"

_PATTERNS: tuple[tuple[str, str], ...] = (
    ("name", rf"^{_NAME_LABEL}{_OF_USER}{_IS}(?P<v>.+)"),
    (
        "name",
        r"^(?:(?:is|wants to be|prefers to be|likes to be|wird|goes)\s+)?(?:called|named|known as|by"
        r"|heisse|heisst|genannt)\s+"
        r"(?P<v>(?!in\b|at\b|by\b).+)",
    ),
    (
        "name",
        r"^(?:se llama|me llamo|chama-se|me chamo|s['’]appelle|(?:m['’])?appelle|si chiama|mi chiamo"
        r"|heet)\s+(?P<v>.+)",
    ),
    (
        "age",
        r"^(?:is|am|ist|bin|tiene|tengo|tem|tenho|a|ai|ha|ho)?\s*(?P<v>\d{1,3})\s*(?:years?\b|yo\b|jahre"
        r"|anos|ans|anni|jaar)",
    ),
    ("age", rf"^(?:age|alter|edad|idade|eta|leeftijd){_IS}(?P<v>.+)"),
    (
        "birthday",
        rf"^(?:birth ?day|birth ?date|date of birth|geburtstag|cumpleanos|aniversario|anniversaire"
        rf"|compleanno|verjaardag){_IS}(?P<v>.+)",
    ),
    ("birthday", r"^(?:was |is )?born on\s+(?P<v>.+)"),
    ("birthplace", r"^(?:was |is |comes? |originally )*(?:born in|from)\s+(?P<v>(?!\d).+)"),
    (
        "home",
        r"^(?:currently |now |still |has |have |recently |just )*(?:lives?|living|lived|resides?"
        r"|residing|is based|based|is living)"
        r"\s+(?:now |currently )?(?:in|at|on|near)\s+(?P<v>.+)",
    ),
    (
        "home",
        r"^(?:has |have |had |recently |just |is |is now )*(?:moved|moving|relocated)\s+(?:from .{1,40}?"
        r" )?to\s+(?P<v>.+)",
    ),
    (
        "home",
        r"^(?:jetzt |nun )?(?:wohnt|wohne|lebt|lebe)\s+(?:jetzt |nun |seit \w+ )?(?:in|im|am"
        r"|bei)\s+(?P<v>.+)",
    ),
    ("home", rf"^(?:ist|bin|zog)?\s*(?:{_FROM} )?nach\s+(?P<v>.+?)(?:\s+(?:um)?gezogen)?$"),
    (
        "home",
        r"^(?:ahora |agora |agora )?(?:vive|vivo|reside|mora|moro|abita|abito|habite|vit|vis)\s+(?:ahora"
        r" |agora )?(?:en|em|no|na|a|ad|au|aux|in)\s+(?P<v>.+)",
    ),
    (
        "home",
        r"^(?:se mudo|me mude|se ha mudado|mudou-se|mudei-me|se mudou|me mudei|a demenage|ai demenage|si"
        r" e trasferit[oa]|mi sono trasferit[oa])\s+"
        r"(?:(?:de|desde|da|do) .{1,40}? )?(?:a|para|au|ad|in)\s+(?P<v>.+)",
    ),
    (
        "home",
        rf"^(?:woont|woon)\s+(?:nu )?(?:in|op|te)\s+(?P<v>.+)|^(?:is|ben)?\s*(?:{_FROM}"
        rf" )?naar\s+(?P<v2>.+?)\s+verhuisd",
    ),
    (
        "home",
        rf"^(?:home ?town|home|(?:current )?(?:city|town|residence|location)|wohnort|stadt|ciudad|cidade"
        rf"|ville|citta|woonplaats){_OF_USER}{_IS}(?:in\s+)?(?P<v>.+)",
    ),
    (
        "job",
        r"^(?:now |currently )?(?:works?|working|is employed|worked|is working)\s+(?:now )?as\s+(?P<v>.+)",
    ),
    (
        "job",
        r"^(?:arbeitet|arbeite)\s+als\s+(?P<v>.+)|^(?:trabaja|trabajo|trabalha"
        r"|trabalho)\s+como\s+(?P<v2>.+)",
    ),
    ("job", r"^(?:travaille\s+comme|lavora\s+come|werkt\s+als)\s+(?P<v>.+)"),
    (
        "job",
        rf"^(?:job|occupation|profession|job title|beruf|profesion|profissao|metier|professione"
        rf"|beroep){_IS}(?P<v>.+)",
    ),
    (
        "employer",
        r"^(?:now |currently )?(?:works?|working|is employed|is working)\s+(?:now )?(?:at|for|with"
        r"|by)\s+(?P<v>.+)",
    ),
    (
        "employer",
        r"^(?:arbeitet|arbeite)\s+(?:bei|fur)\s+(?P<v>.+)|^(?:trabaja|trabajo)\s+(?:en|para)\s+(?P<v2>.+)",
    ),
    (
        "employer",
        r"^(?:trabalha|trabalho)\s+(?:na|no|em|para)\s+(?P<v>.+)|^(?:travaille\s+(?:chez|pour)"
        r"|lavora\s+(?:per|presso)|werkt\s+(?:bij|voor))\s+(?P<v2>.+)",
    ),
    (
        "employer",
        rf"^(?:employer|company|arbeitgeber|empresa|empleador|empregador|employeur|azienda"
        rf"|werkgever){_IS}(?P<v>.+)",
    ),
    ("spouse", r"^(?:is )?married to\s+(?P<v>.+)|^(?:ist )?mit\s+(?P<v2>.+?)\s+verheiratet"),
    ("car", r"^drives\s+(?:an? )?(?P<v>.+)"),
    ("weight", r"^weighs\s+(?P<v>.+)"),
    ("height", r"^is\s+(?P<v>.+?)\s+tall$"),
    ("waking time", r"^(?:wakes|gets) up at\s+(?P<v>.+)"),
    ("bedtime", r"^goes to (?:bed|sleep) at\s+(?P<v>.+)"),
)
_COMPILED = [(slot, re.compile(pattern)) for slot, pattern in _PATTERNS]
_LABELLED = re.compile(r"^(?P<label>[^:=]{2,60}?)\s*[:=]\s*(?P<v>.+)$")
_POSSESSIVE = re.compile(
    r"^(?P<label>(?!(?:is|ist|es|e|est|are|was|has)\b)[\w'’ -]{2,50}?)\s+(?:is (?:now"
    r" )?(?P<named>(?:called |named ))|(?P<named2>heisst |se llama |chama-se"
    r" |s['’]appelle |si chiama |heet )|is |are |ist |es |est |e )(?P<v>.+)$"
)
_NAMED = re.compile(
    r"^(?:has|have|owns|got|hat|tiene|tem|a|ha|heeft)\s+(?:an?|one|eine?n?|una?|uma?|une?"
    r"|een)\s+(?P<label>[\w -]{2,30}?)\s+"
    r"(?:named|called|namens|llamad[oa]|chamad[oa]|nomme|appelee?|chiamat[oa]|genaamd)\s+(?P<v>.+)$"
)
_TRIM = " .,;!\"'“”«»"


@dataclass(frozen=True)
class Slot:
    """A slot and its value, both folded.

    Attributes:
        name: The slot.
        value: Its value.
        is_one_of_many: Another value may stand beside it ("has a dog named Rex").
    """

    name: str
    value: str
    is_one_of_many: bool = False

    def has_value_of(self, other: Slot) -> bool:
        """Tell whether both name the same value, one perhaps in more words ("Bob", "Bob Smith")."""
        mine = [t.text for t in tokens(self.value)]
        theirs = [t.text for t in tokens(other.value)]
        shorter, longer = sorted((mine, theirs), key=len)
        return bool(shorter) and all(any(is_same_word(a, b, strict=True) for b in longer) for a in shorter)


@lru_cache(maxsize=2_048)
def slot_of(fact: str) -> Slot | None:
    """Return the slot that a fact fills; ``None`` when it is not of the kind that has one current value."""
    text = " ".join(plain(fact).split()).strip(_TRIM)
    text = _SUBJECT.sub("", text)
    for name, pattern in _COMPILED:
        match = pattern.match(text)
        if match is not None:
            groups = match.groupdict()
            value = (groups.get("v") or groups.get("v2") or "").strip(_TRIM)
            return Slot(name, value) if value else None
    return _labelled(text, fact)


def _labelled(text: str, fact: str) -> Slot | None:
    for pattern in (_NAMED, _LABELLED, _POSSESSIVE):
        match = pattern.match(text)
        if match is None:
            continue
        label, value = match["label"].strip(_TRIM), match["v"].strip(_TRIM)
        parts = [t.text for t in tokens(label)]
        groups = match.groupdict()
        is_named = pattern is _NAMED or bool(groups.get("named") or groups.get("named2"))
        is_named = is_named or any(p in ("name", "names", "nombre", "nome", "nom", "naam") for p in parts)
        known = [p for p in parts if p not in words.FRAME or p in _FAVOURITES]
        if not value or not known or len(known) > 4:
            return None
        if not is_named and any(p in words.MANY_VALUED for p in known):
            return None
        if known[-1].endswith("s") and not is_named and not known[-1].endswith("ss"):
            return None  # "hobbies: chess": more than one may be
        if is_named and _is_user_name(known):
            return Slot("name", value)
        kind = "favourite" if any(p in _FAVOURITES for p in known) else ""
        if pattern is _POSSESSIVE and not (kind or is_named or _is_specific(value, fact)):
            return None  # "Rex is sick" says something of Rex, "dentist is Dr. Hall" who it is
        rest = sorted(p for p in known if p not in _FAVOURITES)
        return Slot(" ".join([kind, *rest]).strip(), value, pattern is _NAMED) if rest else None
    return None


_FAVOURITES = frozenset(
    [
        "favourite",
        "favorite",
        "lieblings",
        "favorito",
        "favorita",
        "favori",
        "prefere",
        "preferee",
        "preferito",
        "preferita",
        "favoriete",
    ]
)


def _is_specific(value: str, fact: str) -> bool:
    """Tell whether a value is a name or a number rather than a description."""
    in_value = word_set(value)
    return any(t.is_hard and t.text in in_value for t in tokens(fact))


def _is_user_name(label: list[str]) -> bool:
    return all(part in words.USER for part in label)
