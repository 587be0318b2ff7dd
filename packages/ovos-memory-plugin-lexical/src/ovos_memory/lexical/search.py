"""From a query to ranked documents, at a cost that does not grow with the store.

The rare words of a query choose candidates, and the best of those are scored with all words and their neighbourhood.  A
small session is scored whole, by its own statistics, so nobody else's words play a part in it.  Documents that are not
indexed yet are analysed on the spot.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ovos_memory.lexical.candidates import Candidates
from ovos_memory.lexical.dates import Span, boost
from ovos_memory.lexical.drafts import Draft
from ovos_memory.lexical.index import LexicalIndex
from ovos_memory.lexical.index_tables import Entry, IndexState, unpack_terms
from ovos_memory.lexical.planner import Vocabulary, plan
from ovos_memory.lexical.scoring import Matcher, Profile, Scorer

SMALL_SESSION = 2_000
"""Documents of a session that are scored one by one; above it the posting lists are faster."""
LARGE_SHARE = 0.25
"""A session with at least that share of all documents is found by looking at all of them: FTS5 walks two long lists
together far more slowly than one."""
MAX_CLOSELY = 32
"""Candidates that are scored together with the exchanges around them; four times what is wanted, where that is more."""
_BEYOND = 64
"""More than so many beyond what is wanted are not: none of them comes so far up."""
MAX_WAITING = 256
"""Documents without an index entry that a search looks at, the newest, on either side of what is indexed."""


HELD_ONLY = -1
"""In place of a session's number: search only what is held in memory."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is searched.

    Attributes:
        query: As it was asked.
        limit: How many documents are wanted.
        times: That the query names.
        session: Only this session (its number, or :data:`HELD_ONLY`); ``None``: all sessions.
        held: Documents that are not in the ledger yet, oldest first, their rows negative and ascending.
        replaced: Rows of documents that ``held`` has newer versions of.
    """

    query: str
    limit: int
    times: Sequence[Span] = ()
    session: int | None = None
    held: Sequence[Draft] = ()
    replaced: frozenset[int] = frozenset()


class Ranked(NamedTuple):
    """A document that was found: its row (negative: held in memory) and its score, above zero, bigger is better."""

    row: int
    score: float


Found = Entry | Draft


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a search has at hand besides the candidates: documents that wait for the index, and the store's size."""

    waiting: Mapping[int, Draft]
    documents: int
    words: int


def search(
    index: LexicalIndex,
    request: Request,
    connection: sqlite3.Connection | None = None,
    state: IndexState | None = None,
) -> list[Ranked]:
    """Return the documents that share a word with the query, best first; of equals the newest.

    Args:
        index: Where to search.
        request: What is asked.
        connection: A snapshot of the store; ``None`` while it cannot be read: then only what is held is searched.
        state: Of the index in that snapshot; ``None``: there is none, and only the newest documents are searched.
    """
    if request.session == HELD_ONLY:
        connection = state = None
    waiting = [] if connection is None else index.waiting(connection, state, MAX_WAITING, request.session)
    drafts = {draft.row: draft for draft in _newest_of_equals([*waiting, *request.held])}
    held = [draft.counts for draft in drafts.values()]
    if connection is not None and state is not None and request.session is not None:
        entries = index.of_session(connection, request.session, SMALL_SESSION)
        if entries is not None:
            own = Counter(itertools.chain.from_iterable(unpack_terms(e.terms) for e in entries if e.is_shown))
            vocabulary = Vocabulary(index.tables, connection, held, own)
            concepts = plan(index.analyzer, request.query, vocabulary, len(entries) + len(drafts))
            return Ranking(Matcher(concepts), request).of_whole([*entries, *drafts.values()])
    scope = _Scope(
        drafts,
        (state.documents if state else 0) + len(drafts),
        (state.words if state else 0) + sum(draft.words for draft in drafts.values()),
    )
    vocabulary = Vocabulary(index.tables, connection if state else None, held)
    concepts = plan(index.analyzer, request.query, vocabulary, scope.documents)
    if not concepts:
        return []
    ranking = Ranking(Matcher(concepts), request)
    if connection is None or state is None:
        return ranking.of_whole(list(drafts.values()))
    return ranking.of_candidates(index, connection, scope)


class Ranking:
    """Ranks documents for one request.

    Args:
        matcher: Of the query's words.
        request: What is asked.
    """

    def __init__(self, matcher: Matcher, request: Request) -> None:
        self._matcher = matcher
        self._request = request
        self._profiles: dict[int, Profile] = {}
        self._documents: dict[int, Found] = {}

    def of_whole(self, found: Sequence[Found]) -> list[Ranked]:
        """Rank all documents that there are, by their own statistics."""
        self._load(found)
        shown = [document for document in found if isinstance(document, Draft) or document.is_shown]
        profiles = [self._profiles[document.row] for document in shown]
        scorer = Scorer(
            [sum(profile.counts[i] > 0 for profile in profiles) for i in range(len(self._matcher.concepts))],
            documents=len(shown),
            words=sum(profile.words for profile in profiles),
        )
        return self._finish(scorer, self._matching(), _beside_each_other(found))

    def of_candidates(
        self, index: LexicalIndex, connection: sqlite3.Connection, scope: _Scope
    ) -> list[Ranked]:
        """Rank what the rare words lead to; only the best of it is seen together with its neighbours."""
        concepts, request = self._matcher.concepts, self._request
        session, share = request.session, 1.0
        if session is not None:
            share = min(1.0, index.session_size(connection, session) / max(1, scope.documents))
        is_large = session is not None and share >= LARGE_SHARE
        candidates = Candidates(
            index,
            connection,
            concepts,
            scope.documents,
            None if is_large else session,
            share if is_large else 1.0,
        )
        rows = candidates.rows(request.limit, request.times)
        found = index.tables.by_rows(connection, rows).values()
        self._load(entry for entry in found if session is None or entry.session == session)
        self._load(scope.waiting.values())
        scorer = Scorer(
            [concept.documents for concept in concepts], documents=scope.documents, words=scope.words
        )
        # Most neighbours that matter are candidates themselves, so a first look costs nothing more.
        glance = self._finish(
            scorer, self._matching(), _beside_each_other(self._documents.values(), is_gapless=True)
        )
        best = [
            found.row for found in glance[: max(MAX_CLOSELY, min(4 * request.limit, request.limit + _BEYOND))]
        ]
        beside = {**_beside_each_other(scope.waiting.values()), **index.neighbours(connection, best)}
        others = {row for row in best for row in beside.get(row, ()) if row not in self._profiles}
        self._load(index.tables.by_rows(connection, list(others)).values())
        return self._finish(scorer, best, beside)

    def _load(self, found: Iterable[Found]) -> None:
        for document in found:
            self._documents[document.row] = document
            self._profiles[document.row] = (
                self._matcher.of_entry(document)
                if isinstance(document, Entry)
                else self._matcher.of_counts(document.counts, document.words)
            )

    def _matching(self) -> list[int]:
        return [
            row
            for row, document in self._documents.items()
            if (isinstance(document, Draft) or document.is_shown)
            and row not in self._request.replaced
            and self._matcher.is_match(self._profiles[row])
        ]

    def _boost(self, row: int) -> float:
        times = self._request.times
        return boost(times, self._documents[row].created_at) if times else 1.0

    def _finish(
        self, scorer: Scorer, rows: Iterable[int], beside: Mapping[int, Sequence[int]]
    ) -> list[Ranked]:
        profiles = self._profiles
        ranked: dict[int, Ranked] = {}
        for row in rows:
            around = [profiles[other] for other in beside.get(row, ()) if other in profiles]
            digest = self._documents[row].digest
            equal = ranked.get(digest)
            if equal is None or _age(equal.row) < _age(row):
                ranked[digest] = Ranked(row, scorer.score(profiles[row], around) * self._boost(row))
        return sorted(ranked.values(), key=lambda found: (found.score, _age(found.row)), reverse=True)


def _age(row: int) -> tuple[bool, int]:
    """Return what orders rows from old to new; what is only held in memory is newest."""
    return row < 0, row


def _newest_of_equals(drafts: Iterable[Draft]) -> list[Draft]:
    """Return the drafts, given oldest first, without those that a newer identical one stands for."""
    return list({draft.digest: draft for draft in drafts}.values())


def _beside_each_other(documents: Iterable[Found], *, is_gapless: bool = False) -> dict[int, list[int]]:
    """Return the neighbours of each document, by row, among all documents of a session.

    Args:
        documents: In any order.
        is_gapless: Only documents with consecutive numbers are neighbours, because others may be missing here.
    """
    ordered = sorted(documents, key=lambda document: (document.session, document.n))
    beside: dict[int, list[int]] = {document.row: [] for document in ordered}
    for before, after in itertools.pairwise(ordered):
        if before.session == after.session and (after.n == before.n + 1 or not is_gapless):
            beside[before.row].append(after.row)
            beside[after.row].append(before.row)
    return beside
