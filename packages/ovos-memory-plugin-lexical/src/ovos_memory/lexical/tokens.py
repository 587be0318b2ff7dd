"""Text cut into words: compounds whole and in parts, scripts that write without blanks in overlapping pairs."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "part", "whole", "single", "pair"]

MAX_WORD_CHARS = 64
"""Longer runs (hashes, encoded data) are cut; nobody asks for more of them."""

_JOINTS = r"'\-_.:/@+&"
_ASCII_RUN = re.compile(rf"[a-z0-9]+(?:[{_JOINTS}][a-z0-9]+)*")
_ASCII_PART = re.compile(r"[a-z0-9]+")
_MIXED = re.compile(r"[^\W\d_]{2,}|\d{2,}|\d+")
_UNSPACED_BLOCKS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar, Khmer and their extensions
    "\u3040-\u30ff\u31f0-\u31ff"  # kana
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # ideographs
    "\u1100-\u11ff\uac00-\ud7ff"  # Hangul
)


@dataclass(frozen=True, slots=True)
class Token:
    """A searchable piece of a text.

    Attributes:
        text: As folded.
        kind: ``word``; ``part`` or ``whole`` of a compound; ``single`` or ``pair`` of an unspaced script.
        run: Number of the blank-separated run it comes from, counting up.
    """

    text: str
    kind: Kind
    run: int

    @property
    def is_gram(self) -> bool:
        """Whether it is a piece of a run without blanks."""
        return self.kind in ("single", "pair")


# A user's first turn pays for the patterns of texts beyond ASCII, so each is compiled when it is needed, and has as few
# large classes as it can.
@functools.cache
def _marks() -> str:
    """Return the body of a class of all combining marks; ideographs, Hangul and private blocks have none."""
    found: list[list[int]] = []
    for code in (*range(0x300, 0x3100), *range(0xA600, 0xAC00), *range(0xFB00, 0x10000)):
        if unicodedata.category(chr(code))[0] == "M":
            if found and found[-1][-1] == code - 1:
                found[-1][-1] = code
            else:
                found.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in found)


def _letter() -> str:
    return rf"[^\W_{_UNSPACED_BLOCKS}][{_marks()}]*"


@functools.cache
def _run() -> re.Pattern[str]:
    """Compile what stands between blanks; its group has it when the script writes with blanks."""
    unspaced = rf"(?:(?!\d)[{_UNSPACED_BLOCKS}{_marks()}])+"
    return re.compile(rf"((?![{_JOINTS}])(?:[{_JOINTS}]?{_letter()})+)|{unspaced}")


@functools.cache
def _part() -> re.Pattern[str]:
    return re.compile(rf"(?:{_letter()})+")


@functools.cache
def _cluster() -> re.Pattern[str]:
    """Compile one character of an unspaced run with its marks."""
    return re.compile(rf"(?:[^\W\d_]|[{_UNSPACED_BLOCKS}])[{_marks()}]*")


def tokens(folded: str) -> Iterator[Token]:
    """Yield the tokens of a folded text, in order.

    A compound such as ``pol-358`` comes as its parts and, behind them, as a whole without its joints (``pol358``), so
    that any spelling of it finds any other; joints between digits stay (``9:30``).
    """
    if folded.isascii():
        for number, found in enumerate(_ASCII_RUN.finditer(folded)):
            yield from _compound(found[0], number)
        return
    for number, found in enumerate(_run().finditer(folded)):
        if found[1] is None:
            yield from _grams(_cluster().findall(found[0]), number)
        else:
            yield from _compound(found[0], number)


def is_plain(word: str) -> bool:
    """Tell whether a token is a word of letters alone, marks included."""
    return word.isalpha() or not any(c.isdigit() for c in word)


def _compound(run: str, number: int) -> Iterator[Token]:
    if run.isalpha():
        yield Token(run[:MAX_WORD_CHARS], "word", number)
        return
    if "'" in run:
        run = _without_apostrophes(run)
    parts = (_ASCII_PART if run.isascii() else _part()).findall(run)
    has_digit = any(c.isdigit() for c in run)
    if len(parts) == 1:
        yield Token(parts[0][:MAX_WORD_CHARS], "word", number)
        if has_digit:
            yield from _halves(parts[0], number)
        return
    for part in parts:
        yield Token(part[:MAX_WORD_CHARS], "part", number)
        if has_digit:
            yield from _halves(part, number)
    if has_digit or any(joint in run for joint in "-_@+&"):
        whole = re.sub(rf"(?<!\d)[{_JOINTS}]|[{_JOINTS}](?!\d)", "", run)
        if len(whole) <= MAX_WORD_CHARS:
            yield Token(whole, "whole", number)


def _without_apostrophes(run: str) -> str:
    """Drop elided articles and endings (``l'``, ``'s``); inside a Cyrillic word the apostrophe is a letter."""
    if any("\u0400" <= c <= "\u052f" for c in run):
        return run.replace("'", "")
    pieces = run.split("'")
    return ".".join(p for p in pieces if len(p) > 1) or "".join(pieces)


def _halves(part: str, number: int) -> Iterator[Token]:
    """Yield letters and digits of ``200mb`` apart."""
    pieces = _MIXED.findall(part)
    if len(pieces) > 1 and "".join(pieces) == part:
        for piece in pieces:
            yield Token(piece, "part", number)


def _grams(clusters: list[str], number: int) -> Iterator[Token]:
    for position, cluster in enumerate(clusters):
        yield Token(cluster, "single", number)
        if position:
            yield Token(clusters[position - 1] + cluster, "pair", number)
