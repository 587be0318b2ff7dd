"""Rules of what may be asked: people say hyphens, quotes and nothing at all."""

from __future__ import annotations

import logging
import random

import pytest

from ovos_memory.testing.scenes import LibraryScene
from ovos_memory.testing.suite import needs

NOTHING_SEARCHABLE = ["", "   ", "?!…", "*", "\n\t", "\u200b", "\u200b\u200b ", "()[]{}", "\x00"]
ODD_QUERIES = [
    'say "hi',
    "don't",
    "(harbour",
    "harbour)",
    "NEAR(harbour old)",
    "AND",
    "harbour AND",
    "NOT harbour",
    "harb*",
    "^memory",
    '"',
    '""""',
    "'; DROP TABLE x; --",
    "{}[] harbour",
    "content:harbour",
    "harbour -old",
    "%s {query} harbour",
    "harbour\x00",
    "harbour \ud83d",
    "session_id:s",
]


class QuerySuite(LibraryScene):
    """A query is plain text, whatever is in it."""

    @needs("retrieves")
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("POL-358", "the parcel code is POL-358"),
            ("pol-358?", "the parcel code is POL-358"),
            ("TODO: ficus", "TODO: water the ficus at 9:30"),
            ("9:30", "TODO: water the ficus at 9:30"),
            ("the old harbour", "I walked to the old harbour"),
            ("gpt-4o POL-358 100-200MB", "the parcel code is POL-358"),
        ],
    )
    def test_the_best_match_comes_first(self, query: str, expected: str) -> None:
        """Hyphens and colons are what people say, not operators."""
        hits = self._library().search(query, "s")

        assert hits and expected in hits[0].content, [hit.content for hit in hits]

    @needs("retrieves")
    @pytest.mark.parametrize("query", ODD_QUERIES)
    def test_an_odd_query_is_plain_text(self, query: str) -> None:
        """No operator, no column filter; the word in it is found; nothing fails behind the scenes."""
        memory = self._library()
        before = self.logs.lines(logging.WARNING)
        hits = memory.search(query, "s")

        assert self.logs.lines(logging.WARNING) == before
        if "harbour" in query:
            assert hits and "harbour" in hits[0].content
        assert any("ficus" in hit.content for hit in memory.search("ficus", "s"))

    @needs("retrieves")
    def test_no_query_fails(self) -> None:
        """200 random lines of ASCII, the seed fixed."""
        memory, dice = self._library(), random.Random(7)
        for _ in range(200):
            query = "".join(chr(dice.randrange(1, 127)) for _ in range(dice.randrange(1, 24)))
            assert isinstance(memory.search(query, "s"), list)
        assert not self.logs.lines(logging.WARNING)

    @needs("retrieves")
    @pytest.mark.parametrize("query", NOTHING_SEARCHABLE)
    def test_nothing_searchable_finds_nothing(self, query: str) -> None:
        """An empty query is neither an error nor the whole store; a context then has no block and header."""
        memory = self._library()
        assert memory.search(query, "s") == []

        context = self.context(memory, query)
        assert [m for m in context if m.role.value in ("system", "developer")] == []

    @needs("retrieves")
    def test_an_emoji_turn_breaks_nothing(self) -> None:
        """It may be impossible to find by words; it must not be impossible to say."""
        memory = self.new()
        self.tell(memory, "😀", "🎉")
        self.tell(memory, "my dentist is Doctor Miller")

        assert isinstance(memory.search("😀", "s"), list)
        self.context(memory, "😀")
        assert "Miller" in memory.search("dentist", "s")[0].content
