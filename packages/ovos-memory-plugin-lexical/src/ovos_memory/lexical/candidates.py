"""Which documents are worth scoring: those with the rare words of a query, a bounded number of them."""

from __future__ import annotations

import heapq
import itertools
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ovos_memory.lexical.dates import MAX_BOOST, Span
from ovos_memory.lexical.index import LexicalIndex
from ovos_memory.lexical.index_tables import session_query, term_query
from ovos_memory.lexical.scoring import Concept, rarity

MAX_POSTINGS = 5_000
"""Postings read for one query."""
MAX_SESSION_POSTINGS = 2_000
"""Postings read for one query in one session: each costs more, for two lists are walked together."""
MAX_CANDIDATES = 300
_LEAST, _PROMISING = 64, 0.6
"""Beyond the first 64, candidates with less than 0.6 of the weight of the last one wanted have no chance."""
_BESIDE = 0.5
"""What the words of the documents recorded just before and after count for."""
_MAX_DATED_POSTINGS = 1_000
"""Postings read for each time that a query names, beside the others."""


Postings = tuple[float, list[int]]
"""The weight of a word, and rows of documents that have it, newest first."""


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
        share: Of the documents that the caller will keep; the fewer, the more are read.
    """

    index: LexicalIndex
    connection: sqlite3.Connection
    concepts: Sequence[Concept]
    documents: int
    session: int | None = None
    share: float = 1.0

    def rows(self, limit: int, times: Sequence[Span] = ()) -> list[int]:
        """Return the rows of the most promising documents.

        Args:
            limit: How many hits are wanted; for a long list there are more candidates.
            times: That the query names; documents of then are candidates whatever came later.
        """
        most = MAX_POSTINGS if self.session is None else MAX_SESSION_POSTINGS
        lists = self._postings(int(max(most, 10 * limit) / self.share))
        wanted = int(max(MAX_CANDIDATES, 3 * limit) / self.share)
        weights = _weights(lists, wanted)
        for time in times:
            rows = self.index.rows_between(self.connection, time.start, time.latest)
            if rows is not None:
                for row, weight in _weights(self._postings(_MAX_DATED_POSTINGS, rows), wanted).items():
                    weights[row] = max(weights.get(row, 0.0), weight * MAX_BOOST)
        best = heapq.nlargest(wanted, zip(weights.values(), weights.keys(), strict=True))
        least = int(max(_LEAST, 3 * limit) / self.share)
        if len(best) > least:
            bar = _PROMISING * best[min(limit, least) - 1][0]
            best = best[:least] + [each for each in best[least:] if each[0] >= bar]
        return [row for _, row in best]

    def _postings(self, left: int, rows: tuple[int, int] | None = None) -> list[Postings]:
        """Read up to ``left`` postings, rare words first; return each word's weight and rows, newest first."""
        lists: list[Postings] = []
        for concept in self.concepts:
            numbers = concept.numbers()
            if not numbers or left <= 0:
                continue
            match = term_query(numbers)
            if self.session is not None:
                match = f"{session_query(self.session)} AND {match}"
            newest = self.index.tables.newest_rows(self.connection, match, left, rows=rows)
            left -= len(newest)
            lists.append((rarity(self.documents, concept.documents), newest))
        return lists


def _weights(lists: Sequence[Postings], wanted: int) -> dict[int, float]:
    """Return the weights of documents, at least of those with the ``wanted`` greatest, of equals the newest.

    Most of what is found has one word and nothing beside it, so its weight is the word's and only the newest of it
    can be wanted.  Whole sets sort that out; a look at each of thousands would be the greater part of a search.
    """
    every: set[int] = set()
    special: set[int] = set()
    for _, rows in lists:
        special |= every.intersection(rows)
        every.update(rows)
    behind = every.intersection(map((1).__add__, every))
    special |= behind
    special.update(row - 1 for row in behind)
    own: dict[int, float] = {}
    flat: dict[int, float] = {}
    for weight, rows in lists:
        for row in special.intersection(rows):
            own[row] = own.get(row, 0.0) + weight
        plain = (row for row in rows if row not in special)
        flat.update(zip(itertools.islice(plain, wanted), itertools.repeat(weight), strict=False))
    near = own.get
    for row, weight in own.items():
        flat[row] = weight + _BESIDE * (near(row - 1, 0.0) + near(row + 1, 0.0))
    return flat
