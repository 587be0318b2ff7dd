"""English word forms: irregular ones by table, regular ones by Porter's algorithm.

The algorithm is that of M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two
later amendments of its author (``-logi`` and ``-bli``); it is written out here because the one inside SQLite
stems only what its own tokenizer cuts.
"""

from __future__ import annotations

# Families, the base form first.  What changes its meaning when folded (saw: the tool; left: the
# side; felt, found, lay, wound as verbs of their own) stands here only where the verb is by far the more
# common reading.
_FAMILIES = """\
arise arose arisen|awake awoke awoken|bear bore borne|beat beaten|become became|begin began begun|
bend bent|bet bets|bind bound|bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|
bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|cling clung|come came|
creep crept|deal dealt|dig dug|dive dove|do did done does doing|draw drew drawn|dream dreamt|
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|
find found|flee fled|fly flew flown flies|forbid forbade forbidden|forget forgot forgotten|
forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone goes going|
grind ground|grow grew grown|hang hung|have had has having|hear heard|hide hid hidden|hold held|keep kept|
kneel knelt|know knew known|lead led|leap leapt|learn learnt|leave left|lend lent|lie lain lying|light lit|
lose lost|make made making|mean meant|meet met|mistake mistook mistaken|overcome overcame|pay paid|
prove proven|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|
sell sold|send sent|sew sewn|shake shook shaken|shave shaven|shine shone|shoot shot|show shown|
shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|smell smelt|sneak snuck|
sow sown|speak spoke spoken|speed sped|spell spelt|spend spent|spill spilt|spin spun|spit spat|
spoil spoilt|spring sprang sprung|stand stood|steal stole stolen|stick stuck|sting stung|stink stank stunk|
strike struck stricken|string strung|strive strove striven|swear swore sworn|sweep swept|swell swollen|
swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|
throw threw thrown|thrive thrived|tread trod trodden|understand understood|undergo underwent|
undertake undertook|wake woke woken|wear wore worn|weave wove woven|weep wept|win won|
withdraw withdrew withdrawn|wring wrung|write wrote written|child children|man men|woman women|foot feet|
tooth teeth|mouse mice|goose geese|ox oxen|person people|die dying dies died|knife knives|wife wives|
life lives|leaf leaves|wolf wolves|shelf shelves|half halves|loaf loaves|thief thieves|calf calves|
scarf scarves|self selves|hoof hooves|dwarf dwarves|cactus cacti|fungus fungi|crisis crises|
analysis analyses|medium media|datum data|mum mom mommy mummy mama|dad daddy|hobby hobbies|movie movies|
cookie cookies|tv television|bike bicycle|photo photograph|fridge refrigerator|phone telephone|kid kids|
colour color|favourite favorite|neighbour neighbor|centre center|theatre theater|
travel travelled travelling traveller|grey gray|behaviour behavior|sky skies|tie ties tying"""

_VOWELS = frozenset("aeiou")

_STEP2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli":
    "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def _longest_first(suffixes: object) -> tuple[str, ...]:
    return tuple(sorted(suffixes, key=len, reverse=True))  # type: ignore[call-overload]


_STEP2_ORDER, _STEP3_ORDER, _STEP4_ORDER = map(_longest_first, (_STEP2, _STEP3, _STEP4))


def stem(word: str) -> str:
    """Return the stem of a lower-case word of ASCII letters; other words are returned as they are."""
    known = _BASE.get(word)
    return _porter(word) if known is None else known


def _porter(word: str) -> str:
    if len(word) <= 2 or not (word.isascii() and word.isalpha()):
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP2_ORDER, _STEP2)
    word = _replaced(word, _STEP3_ORDER, _STEP3)
    word = _step4(word)
    if word.endswith("e"):
        head = word[:-1]
        measure = _measure(head)
        if measure > 1 or (measure == 1 and not _is_short(head)):
            word = head
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _is_consonant(word: str, position: int) -> bool:
    letter = word[position]
    if letter in _VOWELS:
        return False
    return letter != "y" or position == 0 or not _is_consonant(word, position - 1)


def _measure(head: str) -> int:
    """Count Porter's m: how often a vowel run is followed by a consonant run."""
    count, before = 0, True
    for position in range(len(head)):
        consonant = _is_consonant(head, position)
        count += consonant and not before
        before = consonant
    return count


def _has_vowel(head: str) -> bool:
    return any(not _is_consonant(head, position) for position in range(len(head)))


def _is_short(word: str) -> bool:
    """Tell whether the word ends in consonant, vowel, consonant other than w, x, y."""
    return (
        len(word) >= 3
        and _is_consonant(word, len(word) - 3)
        and not _is_consonant(word, len(word) - 2)
        and _is_consonant(word, len(word) - 1)
        and word[-1] not in "wxy"
    )


def _plural(word: str) -> str:
    if not word.endswith("s"):
        return word
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    return word if word.endswith("ss") else word[:-1]


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        head = word[: -len(ending)]
        if not word.endswith(ending):
            continue
        if not _has_vowel(head):
            return word
        if head.endswith(("at", "bl", "iz")):
            return head + "e"
        if (
            len(head) > 1
            and head[-1] == head[-2]
            and _is_consonant(head, len(head) - 1)
            and head[-1] not in "lsz"
        ):
            return head[:-1]
        return head + "e" if _measure(head) == 1 and _is_short(head) else head
    return word


def _replaced(word: str, order: tuple[str, ...], table: dict[str, str]) -> str:
    for ending in order:
        if word.endswith(ending):
            head = word[: -len(ending)]
            return head + table[ending] if _measure(head) else word
    return word


def _step4(word: str) -> str:
    for ending in _STEP4_ORDER:
        if word.endswith(ending):
            head = word[: -len(ending)]
            if _measure(head) > 1 and (ending != "ion" or head.endswith(("s", "t"))):
                return head
            return word
    return word


def _bases() -> dict[str, str]:
    """Map every form of the table to the stem of its family's first form."""
    families = (family.split() for family in _FAMILIES.replace("\n", "").split("|"))
    return {form: _porter(forms[0]) for forms in families for form in forms}


_BASE = _bases()
