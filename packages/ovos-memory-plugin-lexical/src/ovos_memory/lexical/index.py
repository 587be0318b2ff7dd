"""The search index over a ledger: derived, exact, and never in the way of writing a document.

A document is indexed some time after it was recorded, together with others; until then a search reads it as it is
(:meth:`LexicalIndex.waiting`).  What is deleted or changed leaves the index within the transaction that does it.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ovos_memory.core.types import Document
from ovos_memory.lexical.analysis import Analyzer
from ovos_memory.lexical.drafts import Draft, Drafts
from ovos_memory.lexical.index_tables import Entry, IndexState, IndexTables, pack_terms, unpack_terms

SLICE = 64
"""Documents indexed in one transaction; about as many may wait for it."""
_PAGE = 400


class LexicalIndex:
    """The index of one ledger; implements the ledger's ``AttachedIndex``.

    Args:
        prefix: Of the ledger's tables.
        analyzer: What makes terms of texts; another one means another index, which is then built anew.
    """

    def __init__(self, prefix: str, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.tables = IndexTables(prefix, analyzer.fingerprint)
        self._documents = f"{prefix}documents"
        self._sessions = f"{prefix}sessions"
        self._clock = f"{prefix}clock"
        self._select = (
            f"SELECT d.row, s.id, d.n, d.question, d.answer, NULL, d.text, NULL, d.created_at, d.change, d.session"
            f" FROM {prefix}documents d JOIN {prefix}sessions s ON s.key = d.session"
        )
        self.drafts = Drafts(analyzer)

    # ------------------------------------------------------------------ life
    def open(self, connection: sqlite3.Connection) -> IndexState:
        """Return the state within a write transaction, beginning a new index where there is none to go on with.

        Raises:
            StoreUnavailable: This SQLite has no FTS5.
        """
        state = self.tables.state(connection)
        if state is not None:
            return state
        last = connection.execute(f"SELECT change FROM {self._clock}").fetchone()[0]
        return self.tables.create(connection, int(last))

    def begin_anew(self, connection: sqlite3.Connection) -> None:
        """Drop the index within a write transaction and begin a new one."""
        last = connection.execute(f"SELECT change FROM {self._clock}").fetchone()[0]
        self.tables.create(connection, int(last))

    def add_newer(self, connection: sqlite3.Connection) -> int:
        """Index up to a slice of the documents recorded since; return how many there were."""
        state = self.open(connection)
        rows = connection.execute(
            f"{self._select} WHERE d.change > ? ORDER BY d.change LIMIT {SLICE}", (state.high,)
        ).fetchall()
        if rows:
            state = self._add(connection, state, [self.drafts.of_row(row) for row in rows])
            self.tables.save(connection, replace(state, high=rows[-1][9]))
            self.drafts.drop((row[0], row[9]) for row in rows)
        return len(rows)

    def add_older(self, connection: sqlite3.Connection, limit: int = SLICE) -> bool:
        """Index some of the documents that a new index still misses, newest first; return whether more are left."""
        state = self.open(connection)
        if state.low == 0:
            return False
        rows = connection.execute(
            f"{self._select} WHERE d.change <= ? ORDER BY d.change DESC LIMIT ?", (state.low, limit)
        ).fetchall()
        state = self._add(connection, state, [self.drafts.of_row(row) for row in reversed(rows)])
        low = rows[-1][9] - 1 if len(rows) == limit else 0
        self.tables.save(connection, replace(state, low=low))
        return low > 0

    # ------------------------------------------------------------------ what waits
    def waiting(
        self, connection: sqlite3.Connection, state: IndexState | None, limit: int, session: int | None = None
    ) -> list[Draft]:
        """Return the newest documents that are not indexed yet, oldest first.

        Args:
            connection: A snapshot.
            state: Of the index in that snapshot; ``None`` when there is none.
            limit: How many at most on either side of what is indexed.
            session: Only those of this session (its number).
        """
        high, low = (0, 0) if state is None else (state.high, state.low)
        # The unary plus keeps SQLite from walking a whole session to find its few newest changes.
        keys = self._newest_keys(
            connection, "change > ? AND +session = ifnull(?, session)", "change", (high, session, limit)
        )
        if low > 0 and session is None:
            keys += self._newest_keys(connection, "change <= ?", "change", (low, limit))
        elif low > 0:
            keys += self._newest_keys(connection, "session = ? AND change <= ?", "n", (session, low, limit))
        found = {key: draft for key in keys if (draft := self.drafts.get(*key)) is not None}
        missing = [change for row, change in keys if (row, change) not in found]
        for start in range(0, len(missing), SLICE):
            page = missing[start : start + SLICE]
            marks = ",".join("?" * len(page))
            for row in connection.execute(f"{self._select} WHERE d.change IN ({marks})", page):
                found[row[0], row[9]] = self.drafts.of_row(row)
        return sorted(found.values(), key=lambda draft: draft.row)

    def is_behind(self, connection: sqlite3.Connection, state: IndexState, limit: int) -> bool:
        """Tell whether more than ``limit`` new documents are not indexed yet."""
        newer = f"SELECT 1 FROM {self._documents} WHERE change > ? LIMIT 1 OFFSET ?"
        return connection.execute(newer, (state.high, limit)).fetchone() is not None

    def _newest_keys(
        self, connection: sqlite3.Connection, condition: str, order: str, values: Sequence[int | None]
    ) -> list[tuple[int, int]]:
        return connection.execute(
            f"SELECT row, change FROM {self._documents} WHERE {condition} ORDER BY {order} DESC LIMIT ?",
            values,
        ).fetchall()

    # ------------------------------------------------------------------ looking up
    def neighbours(self, connection: sqlite3.Connection, rows: Sequence[int]) -> dict[int, list[int]]:
        """Return for each document (by row) the rows of those just before and after it in its session."""
        both = f"{self._beside('<', 'DESC')}, {self._beside('>', 'ASC')}"
        return {
            row: [other for other in others if other is not None]
            for row, *others in self._per_document(connection, both, rows)
        }

    def following(self, connection: sqlite3.Connection, rows: Sequence[int]) -> dict[int, int]:
        """Return for each document (by row) the row of the one that came next in its session, if one did."""
        found = self._per_document(connection, self._beside(">", "ASC"), rows)
        return {row: other for row, other in found if other is not None}

    def _beside(self, sign: str, order: str) -> str:
        return (
            f"(SELECT o.row FROM {self._documents} o WHERE o.session = d.session AND o.n {sign} d.n"
            f" ORDER BY o.n {order} LIMIT 1)"
        )

    def _per_document(
        self, connection: sqlite3.Connection, columns: str, rows: Sequence[int]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield row and columns of documents; in few statements, for each gives Python's lock away."""
        for start in range(0, len(rows), _PAGE):
            page = rows[start : start + _PAGE]
            marks = ",".join("?" * len(page))
            yield from connection.execute(
                f"SELECT d.row, {columns} FROM {self._documents} d WHERE d.row IN ({marks})", page
            )

    def session_size(self, connection: sqlite3.Connection, session: int) -> int:
        """Return how many documents a session has."""
        row = connection.execute(
            f"SELECT documents FROM {self._sessions} WHERE key = ?", (session,)
        ).fetchone()
        return 0 if row is None else int(row[0])

    def of_session(self, connection: sqlite3.Connection, session: int, limit: int) -> list[Entry] | None:
        """Return all entries of a session in order; ``None`` when it has more than ``limit`` documents."""
        if self.session_size(connection, session) > limit:
            return None
        rows = f"SELECT row FROM {self._documents} WHERE session = ?"
        return self.tables.entries(connection, f"row IN ({rows}) ORDER BY n", (session,))

    def rows_between(
        self, connection: sqlite3.Connection, start: float, end: float
    ) -> tuple[int, int] | None:
        """Return the first and last row of a time, taking rows to be in order of time; ``None`` when there are none.

        Cost: two binary searches.
        """
        first, behind = (self._row_at(connection, moment) for moment in (start, end))
        return (first, behind - 1) if first < behind else None

    def _row_at(self, connection: sqlite3.Connection, moment: float) -> int:
        """Return a row number such that documents before it are older than ``moment``."""
        low = 0
        high = (connection.execute(f"SELECT max(row) FROM {self._documents}").fetchone()[0] or 0) + 1
        while low < high:
            middle = (low + high) // 2
            row, created_at = connection.execute(
                f"SELECT row, created_at FROM {self._documents} WHERE row >= ? ORDER BY row LIMIT 1",
                (middle,),
            ).fetchone()
            if created_at < moment:
                low = row + 1
            else:
                high = middle
        return low

    # ------------------------------------------------------------------ adding and removing
    def _add(self, connection: sqlite3.Connection, state: IndexState, drafts: Sequence[Draft]) -> IndexState:
        """Index drafts, given in row order; return the state after it."""
        terms = list({term: None for draft in drafts for term in draft.counts})
        numbers = {term: number for term, (number, _) in self.tables.known_terms(connection, terms).items()}
        new = [term for term in terms if term not in numbers]
        numbers.update(zip(new, range(state.next_term, state.next_term + len(new)), strict=True))
        self.tables.add_terms(connection, [(numbers[term], term, 0) for term in new])
        entries = [_entry(draft, numbers) for draft in drafts]
        hidden = self._stand_for_repeats(connection, entries)
        self.tables.add_entries(connection, entries)
        shown = [entry for entry in entries if entry.is_shown]
        counts = Counter(number for entry in shown for number in unpack_terms(entry.terms))
        counts.subtract(number for entry in hidden for number in unpack_terms(entry.terms))
        self.tables.count_terms(connection, [(by, number) for number, by in counts.items() if by])
        return replace(
            state,
            documents=state.documents + len(shown) - len(hidden),
            words=state.words + sum(e.words for e in shown) - sum(e.words for e in hidden),
            next_term=state.next_term + len(new),
        )

    def _stand_for_repeats(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> list[Entry]:
        """Let the newest of identical documents stand for them; return the stored ones that this hid."""
        hidden: list[Entry] = []
        newest: dict[int, Entry] = {}
        for entry in entries:
            before = newest.get(entry.digest)
            if before is not None:
                before.is_shown = False
            else:
                for stored in self.tables.entries(connection, "digest = ? AND is_shown", (entry.digest,)):
                    if stored.row < entry.row:
                        self.tables.show(connection, stored, False)
                        hidden.append(stored)
                    else:
                        entry.is_shown = False
            if entry.is_shown:
                newest[entry.digest] = entry
        return hidden

    def removed(self, connection: sqlite3.Connection, documents: Sequence[Document]) -> None:
        """Forget documents within the transaction that deletes or changes them; see the ledger's ``AttachedIndex``.

        An index that is too damaged for that is begun anew: what is to be forgotten must not stay for its sake.
        """
        try:
            state = self.tables.state(connection)
            if state is not None:
                self._remove(connection, state, documents)
        except sqlite3.DatabaseError:
            self.begin_anew(connection)

    def _remove(
        self, connection: sqlite3.Connection, state: IndexState, documents: Sequence[Document]
    ) -> None:
        gone_documents = gone_words = 0
        for document in documents:
            self.drafts.drop([(document.row, document.change)])
            entry = self.tables.by_rows(connection, [document.row]).get(document.row)
            if entry is None:
                continue
            self.tables.drop_entry(connection, entry)
            if not entry.is_shown:
                continue
            earlier = self.tables.entries(connection, "digest = ? ORDER BY row DESC LIMIT 1", (entry.digest,))
            if earlier:
                self.tables.show(connection, earlier[0], True)
                continue
            self.tables.count_terms(connection, [(-1, number) for number in unpack_terms(entry.terms)])
            gone_documents, gone_words = gone_documents + 1, gone_words + entry.words
        self.tables.save(
            connection,
            replace(state, documents=state.documents - gone_documents, words=state.words - gone_words),
        )


def _entry(draft: Draft, numbers: dict[str, int]) -> Entry:
    return Entry(
        row=draft.row,
        session=draft.session,
        n=draft.n,
        created_at=draft.created_at,
        is_shown=True,
        digest=draft.digest,
        words=draft.words,
        terms=pack_terms((numbers[term], count) for term, count in draft.counts.items()),
    )
