"""Texts as words to compare: folded, numbers as digits, scripts without blanks as pairs of characters."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from ovos_memory.entity import words

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_JOINED = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f\u0e80-\u0eff\u1780-\u17ff]+"
)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th|er|eme|º|ª|o|a)$")
_ELIDED = re.compile(r"^(?:l|d|j|m|t|s|n|c|qu|un|dell|nell|all)['’](?=\w)")


@dataclass(frozen=True)
class Token:
    """One word.

    Attributes:
        text: Folded; a number in digits.
        is_hard: It has to be right, for it is a number or a name.
    """

    text: str
    is_hard: bool = False

    @property
    def is_number(self) -> bool:
        """It holds a digit."""
        return any(c.isdigit() for c in self.text)


def plain(text: str) -> str:
    """Return the text folded for comparison: NFKC, lower case, marks off Latin letters."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    kept = [
        c
        for i, c in enumerate(decomposed)
        if not (unicodedata.combining(c) and i and _is_latin(decomposed, i))
    ]
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=4_096)
def tokens(text: str) -> tuple[Token, ...]:
    """Return the words of a text, in order."""
    found: list[Token] = []
    for position, match in enumerate(_WORD.finditer(unicodedata.normalize("NFKC", text))):
        raw = match.group()
        is_name = position > 0 and raw[0].isupper()
        for part in _split(raw):
            number = words.NUMBERS.get(part, part)
            ordinal = _ORDINAL.fullmatch(number)
            number = ordinal.group(1) if ordinal else number
            number = number.lstrip("0") or "0" if number.isdecimal() else number
            found.append(Token(number, is_name or any(c.isdigit() for c in number)))
    return tuple(found)


def content(text: str) -> list[Token]:
    """Return the words that carry the information of a fact."""
    kept = [t for t in tokens(text) if t.is_number or (t.is_hard and len(t.text) > 1) or _carries(t.text)]
    return [t for t in kept if t.text not in words.NEGATIONS and t.text not in words.USER]


def word_set(text: str) -> frozenset[str]:
    """Return the distinct words of a text."""
    return frozenset(t.text for t in tokens(text))


def is_same_word(one: str, other: str, *, strict: bool = False) -> bool:
    """Tell whether two folded words are the same up to inflection.

    Args:
        one: A word.
        other: A word.
        strict: For names: five letters agree, and only endings of up to two may differ.
    """
    if one == other:
        return True
    shorter, longer = sorted((len(one), len(other)))
    if shorter < 4 or one.isdigit() or other.isdigit():
        return one.rstrip("s") == other.rstrip("s") and shorter > 2
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    return common >= max(5, longer - 2) if strict else common >= max(4, 0.6 * longer)


def is_among(token: Token, others: frozenset[str]) -> bool:
    """Tell whether a word stands among others, inflected or not."""
    if token.text in others:
        return True
    if token.is_number:
        return False
    return any(is_same_word(token.text, other, strict=token.is_hard) for other in others)


def _carries(word: str) -> bool:
    # One character is a word where a character is a syllable or more, and a remnant of one elsewhere.
    return word not in words.FRAME and (len(word) > 1 or ord(word[0]) > 0x2FF)


def _split(raw: str) -> list[str]:
    word = _ELIDED.sub("", plain(raw))
    word = re.sub(r"['’]s$", "", word)
    word = re.sub(r"n['’]t$", "nt", word)
    parts: list[str] = []
    position = 0
    for run in _JOINED.finditer(word):
        parts += [p for p in re.split(r"['’]", word[position : run.start()]) if p]
        joined = run.group()
        parts += [joined[i : i + 2] for i in range(len(joined) - 1)] or [joined]
        position = run.end()
    return parts + [p for p in re.split(r"['’]", word[position:]) if p]


def _is_latin(text: str, index: int) -> bool:
    """Tell whether the mark at ``index`` sits on a Latin letter: elsewhere marks are letters of their own."""
    while index and unicodedata.combining(text[index]):
        index -= 1
    return "a" <= text[index] <= "z"
