"""JSON values out of a text that was meant to be JSON.

Small models cut their lists off at the token limit, quote with apostrophes, leave commas dangling and talk
around it all.  The scanner takes what is complete and never raises; its work is bounded by :data:`MAX_CHARS`
and :data:`MAX_STARTS`, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ovos_memory.core.text import clean

MAX_CHARS = 65_536
"""Characters of a reply that are looked at; a model that writes more has gone astray."""
MAX_DEPTH = 12
"""Nesting beyond this is junk."""
MAX_STARTS = 64
"""Brackets at which a value is tried for."""

_BLANK = re.compile(r"\s*")
_START = re.compile(r"[\[{]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z]+")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_KEY = re.compile(r"[A-Za-z_][\w-]*(?=\s*:)")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_CLOSES = re.compile(r"\s*(?:[,\]}:]|$)")
_NEXT_ITEM = re.compile(r"\s*[\"\[{]")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")


class _NotJson(Exception):
    """The text at this place is no value; it is looked for further on."""


@dataclass(frozen=True)
class Found:
    """A list or object that a text holds.

    Attributes:
        value: Python lists, dicts and scalars; of a value that was cut off, its complete parts.
        is_cut: The text ended before the value did.
    """

    value: Any
    is_cut: bool


def find_values(text: str) -> Iterator[Found]:
    """Yield the lists and objects of a text, in order, what stands around them left out."""
    text = text[:MAX_CHARS]
    position = 0
    for _ in range(MAX_STARTS):
        start = _START.search(text, position)
        if start is None:
            return
        scanner = _Scanner(text, start.start())
        try:
            value = scanner.value(0)
        except _NotJson:
            position = max(start.end(), scanner.stuck_at)
            continue
        yield Found(value, scanner.is_cut)
        position = max(scanner.position, start.end())


class _Scanner:
    """Reads one value; ``is_cut`` tells that the text ended within it."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.is_cut = False
        self.stuck_at = position + 1

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            self.stuck_at = self.position
            raise _NotJson
        mark = self._peek()
        if mark == "[":
            return self._list(depth)
        if mark == "{":
            return self._object(depth)
        if mark in ('"', "'"):
            return self._string(mark)
        return self._scalar()

    def _peek(self) -> str:
        """Skip blanks and return the next character; ``""`` at the end, which means: cut off."""
        blank = _BLANK.match(self.text, self.position)
        self.position = blank.end() if blank else self.position
        if self.position >= len(self.text):
            self.is_cut = True
            return ""
        return self.text[self.position]

    def _list(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self.position += 1
        while True:
            mark = self._peek()
            if mark == "" or mark == "]":
                self.position += mark == "]"
                return items
            if mark == ",":
                self.position += 1
                continue
            item = self.value(depth + 1)
            if not self.is_cut or _holds_complete_parts(item):
                items.append(item)
            if self.is_cut:
                return items

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self.position += 1
        while True:
            mark = self._peek()
            if mark == "" or mark == "}":
                self.position += mark == "}"
                return members
            if mark == ",":
                self.position += 1
                continue
            key = self._key(mark)
            if self.is_cut or self._peek() != ":":
                if self.is_cut:
                    return members
                raise _NotJson
            self.position += 1
            if self._peek() == "":
                return members
            item = self.value(depth + 1)
            if not self.is_cut or isinstance(item, (list, dict)):
                members[key] = item
            if self.is_cut:
                return members

    def _key(self, mark: str) -> str:
        if mark in ('"', "'"):
            return self._string(mark)
        bare = _KEY.match(self.text, self.position)
        if bare is None:
            raise _NotJson
        self.position = bare.end()
        return bare.group()

    def _scalar(self) -> Any:
        number = _NUMBER.match(self.text, self.position)
        if number is not None:
            self.position = number.end()
            self.is_cut = self.position >= len(self.text)
            text = number.group()
            return float(text) if len(text) > 18 or not text.lstrip("-").isdecimal() else int(text)
        word = _WORD.match(self.text, self.position)
        if word is None or word.group().lower() not in _WORDS:
            if word is not None and word.end() >= len(self.text):  # "nul": cut off within the word
                self.is_cut = True
                return None
            raise _NotJson
        self.position = word.end()
        return _WORDS[word.group().lower()]

    def _string(self, quote: str) -> str:
        """Read a text; a quote that nothing could follow (``User's``) is a part of it."""
        parts: list[str] = []
        self.position += 1
        while True:
            plain = _PLAIN[quote].match(self.text, self.position)
            if plain is not None:
                parts.append(plain.group())
                self.position = plain.end()
            if self.position >= len(self.text):
                self.is_cut = True
                return clean("".join(parts))
            if self.text[self.position] == "\\":
                parts.append(self._escape())
                continue
            self.position += 1
            if _CLOSES.match(self.text, self.position) or _NEXT_ITEM.match(self.text, self.position):
                return clean("".join(parts))  # joins the halves of escaped emoji
            parts.append(quote)

    def _escape(self) -> str:
        mark = self.text[self.position + 1 : self.position + 2]
        digits = _HEX.match(self.text, self.position + 2) if mark == "u" else None
        self.position += 6 if digits else 2
        return chr(int(digits.group(), 16)) if digits else _ESCAPES.get(mark, mark)


def _holds_complete_parts(value: Any) -> bool:
    """Tell whether a value that was cut off still holds whole items, as a half-filled object does not."""
    if isinstance(value, list):
        return bool(value)
    return isinstance(value, dict) and any(isinstance(part, (list, dict)) for part in value.values())
