"""Is a fact what the user said?

A model repeats the assistant, an example of its prompt, or what it makes up.  A fact is stored only when its
words are the user's: every number and name, at least half of the rest, and with the same sign ("not vegan any
more" is no evidence for "is vegan").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ovos_memory.core.text import fold, truncate
from ovos_memory.entity import words
from ovos_memory.entity.tokens import Token, content, is_among, tokens, word_set

MAX_WORDS_CHARS = 240
"""Characters of the user's words that are kept with a fact."""

_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？](?!\d)|\n|$|\.(?=\d))+")
_CLAUSE = re.compile(
    r"[,;:、，；]|\s[-–—]\s|\b(?:but|and|aber|und|sondern|pero|sino|mas|mais|ma|maar|en|y|e|et)\b",
    re.IGNORECASE,
)
_ANSWERED_NO = re.compile(r"^\W*no\W+(?=(?:i|i'm|im|my|we|it|it's|that|the)\b)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Evidence:
    """The user's words that a fact rests on."""

    words: str


def find_evidence(fact: str, said: str, *, quote: str = "") -> Evidence | None:
    """Return the user's words that a fact rests on; ``None``: they do not say so.

    Args:
        fact: The fact as the model puts it.
        said: What the user said, nothing else.
        quote: The words that the model itself names as evidence; they count when the user said them
            literally.
    """
    carried = content(fact) or list(tokens(fact))[-1:]  # "name is mia": a name that is a word elsewhere
    if not carried or not said.strip():
        return None
    best = _best_sentence(carried, said)
    if best is None:
        return None
    spoken = word_set(said)
    supported = [t for t in carried if is_among(t, spoken)]
    is_quoted = bool(quote) and is_quoted_from(quote, said)
    if any(t.is_hard and t not in supported for t in carried):
        return None
    if 2 * len(supported) < len(carried) and not (is_quoted and supported):
        return None
    if _is_question(best) or _has_wrong_sign(fact, carried, best):
        return None
    return Evidence(truncate(_SPACES.sub(" ", best).strip(), MAX_WORDS_CHARS))


def is_quoted_from(quote: str, said: str) -> bool:
    """Tell whether the user said these very words (case, blanks and end marks aside)."""
    wanted = _SPACES.sub(" ", fold(quote)).strip(" .!\"'")
    return len(wanted) >= 3 and wanted in _SPACES.sub(" ", fold(said))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, their end marks included."""
    return [s for s in (m.group().strip() for m in _SENTENCE.finditer(text)) if s]


def mentions(fact: str, said: str) -> bool:
    """Tell whether the user's words touch a fact: they share a word that carries information."""
    spoken = word_set(said)
    return any(is_among(t, spoken) for t in content(fact))


def is_correction(said: str) -> bool:
    """Tell whether the user corrects or takes back something."""
    spoken = word_set(said)
    return bool(spoken & (words.CORRECTIONS | words.NEGATIONS))


def is_negative(fact: str) -> bool:
    """Tell whether a fact says that something is not so."""
    return bool(word_set(fact) & words.NEGATIONS)


def _best_sentence(carried: list[Token], said: str) -> str | None:
    """Return the sentence that holds most of the fact's words; ``None`` when none holds any."""
    best, most = None, 0
    for sentence in sentences(said):
        spoken = word_set(sentence)
        hits = sum(is_among(t, spoken) for t in carried)
        if hits >= most and hits:
            best, most = sentence, hits
    return best


def _is_question(sentence: str) -> bool:
    """Tell whether the user asked instead of telling, and not about themselves."""
    return sentence.rstrip().endswith(("?", "？")) and not word_set(sentence) & words.FIRST_PERSON


def _has_wrong_sign(fact: str, carried: list[Token], sentence: str) -> bool:
    said_in_fact = word_set(fact)
    if said_in_fact & words.MILD_NEGATIVES and not said_in_fact & words.NEGATIONS:
        # "allergic to nuts" may rest on "nuts are fine, I love them" as little as on anything; but "is vegan"
        # must not rest on "not vegan any more".
        return _is_denied(carried, sentence) and any(
            t.text in word_set(sentence) & words.MILD_NEGATIVES for t in carried
        )
    return _is_denied(carried, sentence) != bool(said_in_fact & words.NEGATIONS)


def _is_denied(carried: list[Token], sentence: str) -> bool:
    """Tell whether the clause that holds most of the fact's words has a negation in it."""
    best: frozenset[str] = frozenset()
    most = 0
    for clause in _CLAUSE.split(_ANSWERED_NO.sub("", sentence)):
        spoken = word_set(clause)
        hits = sum(is_among(t, spoken) for t in carried)
        if hits > most:
            best, most = spoken, hits
    return bool(best & words.NEGATIONS)
