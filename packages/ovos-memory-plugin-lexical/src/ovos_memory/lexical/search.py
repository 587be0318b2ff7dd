"""From a query to ranked documents, at a cost that does not grow with the store.

The rare words of a query choose candidates, and the best of those are scored with all words and their neighbourhood.  A
small session is scored whole, by its own statistics, so nobody else's words play a part in it.  Documents that are not
indexed yet are analysed on the spot.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ovos_memory.lexical.candidates import Candidates
from ovos_memory.lexical.dates import Span, boost
from ovos_memory.lexical.index import Draft, LexicalIndex
from ovos_memory.lexical.index_tables import Entry, IndexState
from ovos_memory.lexical.planner import Vocabulary, plan
from ovos_memory.lexical.scoring import Concept, Matcher, Profile, Scorer

SMALL_SESSION = 2_000
"""Documents of a session that are scored one by one; above it the posting lists are faster."""
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


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document that was found: its row (negative: held in memory) and its score, above zero, bigger is better."""

    row: int
    score: float


@dataclass(frozen=True, slots=True)
class _Pool:
    """What is scored, and what is known about the documents around it."""

    entries: Mapping[int, Entry]
    drafts: Mapping[int, Draft]
    beside: Mapping[int, Sequence[int]]
    documents: int
    words: int
    is_whole: bool
    """All documents that matter are here, so the words can be counted in them."""


def search(index: LexicalIndex, connection: sqlite3.Connection | None, request: Request) -> list[Ranked]:
    """Return the documents that share a word with the query, best first; of equals the newest.

    Args:
        index: Where to search.
        connection: A snapshot of the store; ``None`` while it cannot be read: then only what is held is searched.
        request: What is asked.
    """
    if request.session == HELD_ONLY:
        connection = None
    state = None if connection is None else index.tables.state(connection)
    waiting = [] if connection is None else index.waiting(connection, state, MAX_WAITING, request.session)
    drafts = {draft.row: draft for draft in _newest_of_equals([*waiting, *request.held])}
    vocabulary = Vocabulary(
        index.tables, connection if state else None, [draft.counts for draft in drafts.values()]
    )
    documents = (state.documents if state else 0) + len(drafts)
    words = (state.words if state else 0) + sum(draft.words for draft in drafts.values())
    concepts = plan(index.analyzer, request.query, vocabulary, documents)
    if not concepts:
        return []
    pool = _Pool({}, drafts, _beside_each_other(drafts.values()), documents, words, is_whole=True)
    if connection is not None and state is not None:
        pool = _with_indexed(index, connection, request, concepts, pool)
    return _ranked(concepts, pool, request)


def _with_indexed(
    index: LexicalIndex, connection: sqlite3.Connection, request: Request, concepts: Sequence[Concept], own: _Pool
) -> _Pool:
    """Return the indexed documents that are worth scoring beside those that wait for the index."""
    if request.session is not None:
        entries = index.of_session(connection, request.session, SMALL_SESSION)
        if entries is not None:
            drafts = own.drafts.values()
            shown = [entry for entry in entries if entry.is_shown]
            return _Pool(
                {entry.row: entry for entry in entries},
                own.drafts,
                _beside_each_other([*entries, *drafts]),
                len(shown) + len(drafts),
                sum(entry.words for entry in shown) + sum(draft.words for draft in drafts),
                is_whole=True,
            )
    rows = Candidates(index, connection, concepts, own.documents, request.session).rows(request.limit, request.times)
    beside = index.neighbours(connection, [*rows, *(row for row in own.drafts if row >= 0)])
    wanted = dict.fromkeys([*rows, *(row for others in beside.values() for row in others)])
    found = index.tables.by_rows(connection, [row for row in wanted if row not in own.drafts])
    return _Pool(found, own.drafts, {**own.beside, **beside}, own.documents, own.words, is_whole=False)


def _ranked(concepts: Sequence[Concept], pool: _Pool, request: Request) -> list[Ranked]:
    matcher = Matcher(concepts)
    profiles: dict[int, Profile] = {row: matcher.of_entry(entry) for row, entry in pool.entries.items()}
    profiles.update((row, matcher.of_counts(draft.counts, draft.words)) for row, draft in pool.drafts.items())
    documents: dict[int, Entry | Draft] = {row: entry for row, entry in pool.entries.items() if entry.is_shown}
    documents.update(pool.drafts)
    for row in request.replaced:
        documents.pop(row, None)
    matching = [(row, found) for row, found in documents.items() if matcher.is_match(profiles[row])]
    containing = [concept.documents for concept in concepts]
    if pool.is_whole:
        containing = [sum(profiles[row].counts[i] > 0 for row in documents) for i in range(len(concepts))]
    scorer = Scorer(containing, documents=pool.documents, words=pool.words)
    ranked: dict[int, Ranked] = {}
    for row, document in matching:
        around = [profiles[other] for other in pool.beside.get(row, ()) if other in profiles]
        score = scorer.score(profiles[row], around) * boost(request.times, document.created_at)
        equal = ranked.get(document.digest)
        if equal is None or _age(equal.row) < _age(row):
            ranked[document.digest] = Ranked(row, score)
    return sorted(ranked.values(), key=lambda found: (found.score, _age(found.row)), reverse=True)


def _age(row: int) -> tuple[bool, int]:
    """Return what orders rows from old to new; what is only held in memory is newest."""
    return row < 0, row


def _newest_of_equals(drafts: Iterable[Draft]) -> list[Draft]:
    """Return the drafts, given oldest first, without those that a newer identical one stands for."""
    return list({draft.digest: draft for draft in drafts}.values())


def _beside_each_other(documents: Iterable[Entry | Draft]) -> dict[int, list[int]]:
    """Return the neighbours of each document, by row, among all documents of a session."""
    ordered = sorted(documents, key=lambda document: (document.session, document.n))
    beside: dict[int, list[int]] = {document.row: [] for document in ordered}
    for before, after in zip(ordered, ordered[1:], strict=False):
        if before.session == after.session:
            beside[before.row].append(after.row)
            beside[after.row].append(before.row)
    return beside
