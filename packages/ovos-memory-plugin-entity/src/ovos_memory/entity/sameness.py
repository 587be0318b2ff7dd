"""Which facts are one fact, and which cannot both be true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ovos_memory.core.text import identity
from ovos_memory.entity import words
from ovos_memory.entity.evidence import is_correction, is_negative, mentions
from ovos_memory.entity.slots import slot_of
from ovos_memory.entity.tokens import Token, content, is_same_word, tokens, word_set

if TYPE_CHECKING:
    from ovos_memory.entity.facts import Fact, NewFact


def is_repeat(new: str, old: str) -> bool:
    """Tell whether two texts state the same fact, one of them perhaps in more detail."""
    if identity(new).casefold() == identity(old).casefold():
        return True
    if is_negative(new) != is_negative(old):
        return False
    mine, theirs = slot_of(new), slot_of(old)
    if mine is not None and theirs is not None and mine.name == theirs.name:
        return mine.has_value_of(theirs)
    a, b = content(new), content(old)
    if not a or not b or (mine is not None) != (theirs is not None):
        return False
    if len(a) == len(b):
        return _covers(a, b) and _covers(b, a)
    shorter, longer = sorted((a, b), key=len)
    return _covers(longer, shorter) and _relation(new) == _relation(old)


def contradicts(new: str, old: str, *, said: str) -> bool:
    """Tell whether a new fact takes the place of an old one.

    It does with another value for the same slot, with other numbers or the other sign about the same things,
    and when the user's words correct the old fact in so many words.
    """
    mine, theirs = slot_of(new), slot_of(old)
    if mine is not None and theirs is not None and mine.name == theirs.name:
        return not mine.is_one_of_many or is_correction(said)
    a, b = content(new), content(old)
    things_a, things_b = [t for t in a if not t.is_number], [t for t in b if not t.is_number]
    if things_a and things_b and _covers(things_a, things_b) and _covers(things_b, things_a):
        numbers_a, numbers_b = {t.text for t in a if t.is_number}, {t.text for t in b if t.is_number}
        return is_negative(new) != is_negative(old) or bool(
            numbers_a and numbers_b and numbers_a != numbers_b
        )
    if not is_correction(said):
        return False
    spoken = word_set(said)
    names_old = all(any(is_same_word(t.text, s) for s in spoken) for t in b)
    return bool(b) and _relation(new) == _relation(old) and (names_old or _same_but_one(new, old))


def is_related(new: NewFact, fact: Fact) -> bool:
    """Tell whether a replacement that a model asks for makes sense: small models mix up numbers."""
    if contradicts(new.text, fact.text, said=new.words) or mentions(fact.text, new.words):
        return True
    if any(any(is_same_word(a.text, b.text) for b in content(fact.text)) for a in content(new.text)):
        return True
    return (
        new.kind == fact.kind != "other"
        and _relation(new.text) == _relation(fact.text)
        and is_correction(new.words)
    )


def _covers(tokens_a: list[Token], tokens_b: list[Token]) -> bool:
    """Tell whether every word of ``tokens_b`` stands in ``tokens_a``; numbers exactly."""
    return all(
        any(
            a.text == b.text or (not b.is_number and is_same_word(a.text, b.text, strict=b.is_hard))
            for a in tokens_a
        )
        for b in tokens_b
    )


def _relation(fact: str) -> str:
    """Return what relates the user to the rest of a fact: its first word that is no filler."""
    for token in tokens(fact):
        for name, known in _RELATIONS.items():
            if token.text in known:
                return name
        if token.text not in words.FRAME and token.text not in words.NEGATIONS:
            return token.text
    return ""


def _same_but_one(new: str, old: str) -> bool:
    """Tell whether two facts are the same sentence about another thing ("prefers tea")."""
    a, b = [t.text for t in tokens(new)], [t.text for t in tokens(old)]
    common = len(set(a) & set(b))
    return len(a) == len(b) and common >= 1 and common >= len(set(a)) - 1


_RELATIONS = {
    "like": frozenset(
        [
            "like",
            "likes",
            "love",
            "loves",
            "enjoy",
            "enjoys",
            "prefer",
            "prefers",
            "fan",
            "fond",
            "favorite",
            "favourite",
            "mag",
            "liebt",
            "mochte",
            "bevorzugt",
            "gusta",
            "gustan",
            "encanta",
            "prefiere",
            "gosta",
            "adora",
            "prefere",
            "aime",
            "adore",
            "piace",
            "piacciono",
            "ama",
            "preferisce",
            "houdt",
            "hate",
            "hates",
            "dislike",
            "dislikes",
        ]
    ),
    "have": frozenset(
        [
            "has",
            "have",
            "own",
            "owns",
            "hat",
            "habe",
            "besitzt",
            "tiene",
            "tengo",
            "tem",
            "tenho",
            "possui",
            "a",
            "ai",
            "ha",
            "ho",
            "possede",
            "heeft",
            "heb",
        ]
    ),
    "be": frozenset(
        ["is", "am", "are", "was", "ist", "bin", "es", "soy", "e", "sou", "est", "suis", "sono", "ben"]
    ),
}
