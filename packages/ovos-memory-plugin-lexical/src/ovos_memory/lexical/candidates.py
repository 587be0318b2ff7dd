"""Which documents are worth scoring: those with the rare words of a query, a bounded number of them."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ovos_memory.lexical.dates import MAX_BOOST, Span
from ovos_memory.lexical.index import LexicalIndex
from ovos_memory.lexical.index_tables import session_query, term_query
from ovos_memory.lexical.scoring import Concept, rarity

MAX_POSTINGS = 6_000
"""Postings read for one query."""
MAX_CANDIDATES = 300
_BESIDE = 0.5
"""What the words of the documents recorded just before and after count for."""
_MAX_DATED_POSTINGS = 1_000
"""Postings read for each time that a query names, beside the others."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Chooses the documents that are worth scoring.

    The rarest word is always searched, the newest documents first where it is in too many; commoner words follow while
    the budget lasts.  Of what they find, the documents with the most weight of words win, of equals the newest.  Rows
    are in order of arrival, so those next to each other are mostly of one conversation and vouch for each other.

    Attributes:
        index: Where to search.
        connection: A snapshot.
        concepts: The query's words, the rarest first.
        documents: How many the store holds.
        session: Only documents of this session (its number).
    """

    index: LexicalIndex
    connection: sqlite3.Connection
    concepts: Sequence[Concept]
    documents: int
    session: int | None = None

    def rows(self, limit: int, times: Sequence[Span] = ()) -> list[int]:
        """Return the rows of the most promising documents.

        Args:
            limit: How many hits are wanted; for a long list there are more candidates.
            times: That the query names; documents of then are candidates whatever came later.
        """
        found = self._postings(max(MAX_POSTINGS, 10 * limit))
        for time in times:
            rows = self.index.rows_between(self.connection, time.start, time.latest)
            if rows is not None:
                for row, weight in self._postings(_MAX_DATED_POSTINGS, rows).items():
                    found[row] = max(found.get(row, 0.0), weight * MAX_BOOST)
        wanted = max(MAX_CANDIDATES, 3 * limit)
        near = found.get
        best = heapq.nlargest(
            wanted,
            [
                (weight + _BESIDE * (near(row - 1, 0.0) + near(row + 1, 0.0)), row)
                for row, weight in found.items()
            ],
        )
        return [row for _, row in best]

    def _postings(self, left: int, rows: tuple[int, int] | None = None) -> dict[int, float]:
        """Read up to ``left`` postings, rare words first; return the weight of words for each document found."""
        found: dict[int, float] = {}
        for concept in self.concepts:
            numbers = concept.numbers()
            if not numbers or left <= 0:
                continue
            match = term_query(numbers)
            if self.session is not None:
                match = f"{session_query(self.session)} AND {match}"
            weight = rarity(self.documents, concept.documents)
            newest = self.index.tables.newest_rows(self.connection, match, left, rows=rows)
            left -= len(newest)
            for row in newest:
                found[row] = found.get(row, 0.0) + weight
        return found
