"""The ledger as a queue: which consumer (vectors, facts, summary) has dealt with which change.

A consumer's *frontier* is a change number: all documents up to it were handed out in order at least once.  Of those
only the unfinished ones have a row in the work table (leased, failed, parked); beyond the frontier only the finished
ones have (done out of turn).  In the usual course both sets are small, so the cost is flat in the size of the ledger.
An edited or extended document has a new change number and is pending again by itself; a new fingerprint has a
frontier of 0 and everything pending.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ovos_memory.core.ledger_codec import document_of
from ovos_memory.core.ledger_reader import LedgerReader
from ovos_memory.core.types import Document

MAX_FAILURES = 5
"""Failures after which a document is parked."""
MAX_LOSSES = 10
"""Leases that ran out without a word, after which a document is parked: it may be what kills the process."""
_OPEN, _DONE, _PARKED = 0, 1, 2
_IS_FREE = "NOT (lease_s > 0 AND abs(:now - leased_at) < lease_s)"
_SESSION_SCAN = 256


class LedgerQueue(LedgerReader):
    """The queue half of a ledger.

    ``consumer`` names who works, ``fingerprint`` with what (a model and its settings).  All methods raise
    :class:`~ovos_memory.core.errors.StoreError` when the database cannot be read or written.
    """

    def claim(
        self, consumer: str, fingerprint: str, *, limit: int, lease_s: float, owner: str, now: float
    ) -> list[Document]:
        """Hand out pending documents, those that changed first before others, to nobody else for ``lease_s`` seconds.

        When nothing is pending nothing is written.  A lease ends with :meth:`done`, :meth:`failed`, :meth:`release`,
        or when ``now`` is ``lease_s`` or more away from the claim, in either direction (clocks are set back).

        Args:
            consumer: Who works.
            fingerprint: With what.
            limit: Documents at most.
            lease_s: How long they are the caller's.
            owner: Names the caller, a thread of a process.
            now: The clock, epoch seconds.
        """
        with self.database.read() as reader:
            key, frontier = self._consumer(reader, consumer, fingerprint)
            if not self._is_pending(reader, key, frontier, now):
                return []
        with self.database.write() as writer:
            key, frontier = self._create_consumer(writer, consumer, fingerprint)
            found = self._claimable(writer, key, limit, now)
            found += self._advance(writer, key, frontier, limit - len(found))
            writer.executemany(
                f"INSERT INTO {self.prefix}work VALUES (?, ?, {_OPEN}, 0, 0, ?, ?, ?)"
                " ON CONFLICT (consumer, change) DO UPDATE SET"
                " owner = excluded.owner, leased_at = excluded.leased_at, lease_s = excluded.lease_s",
                [(key, document.change, owner, now, lease_s) for document in found],
            )
        return found

    def current(
        self, documents: Sequence[Document], *, connection: sqlite3.Connection | None = None
    ) -> list[Document]:
        """Return those documents that are still stored just as given: neither deleted nor changed since.

        Within the transaction that stores results it says which results may be stored.
        """
        with self._reading(connection) as reader:
            return [document for document in documents if self._is_current(reader, document)]

    def done(
        self,
        consumer: str,
        fingerprint: str,
        documents: Sequence[Document],
        *,
        connection: sqlite3.Connection | None = None,
    ) -> list[Document]:
        """Mark documents as dealt with, claimed or not.

        Args:
            consumer: Who worked.
            fingerprint: With what.
            documents: As they were when the work began.
            connection: Of a write transaction, when results are stored in the same one.

        Returns:
            Those that were not marked, because they were deleted or changed meanwhile; a changed one is pending
            again.  Usually empty.  Results made of them must not be stored (see :meth:`current`).
        """
        gone = []
        with self._writing(connection) as writer:
            key, frontier = self._create_consumer(writer, consumer, fingerprint)
            for document in documents:
                if not self._is_current(writer, document):
                    gone.append(document)
                elif document.change <= frontier:
                    writer.execute(
                        f"DELETE FROM {self.prefix}work WHERE consumer = ? AND change = ?",
                        (key, document.change),
                    )
                else:
                    frontier = self._done_early(writer, key, frontier, document.change)
        return gone

    def failed(
        self, consumer: str, fingerprint: str, documents: Sequence[Document], *, owner: str | None = None
    ) -> None:
        """Count a failure of claimed documents and end their leases; the fifth parks a document.

        Args:
            consumer: Who worked.
            fingerprint: With what.
            documents: As they were claimed.
            owner: When given: only documents that are still this owner's.
        """
        with self.database.write() as writer:
            key, _ = self._create_consumer(writer, consumer, fingerprint)
            writer.executemany(
                f"UPDATE {self.prefix}work SET failures = failures + 1, losses = 0, owner = NULL, lease_s = 0,"
                f" state = CASE WHEN failures + 1 >= {MAX_FAILURES} THEN {_PARKED} ELSE {_OPEN} END"
                f" WHERE consumer = ? AND change = ? AND state = {_OPEN} AND (? IS NULL OR owner = ?)",
                [(key, document.change, owner, owner) for document in documents],
            )

    def release(self, consumer: str, fingerprint: str, documents: Sequence[Document], *, owner: str) -> None:
        """Give claimed documents back untouched, as a worker that stops does; they are pending at once."""
        with self.database.write() as writer:
            key, _ = self._create_consumer(writer, consumer, fingerprint)
            writer.executemany(
                f"UPDATE {self.prefix}work SET owner = NULL, lease_s = 0"
                f" WHERE consumer = ? AND change = ? AND state = {_OPEN} AND owner = ?",
                [(key, document.change, owner) for document in documents],
            )

    def renew(
        self, consumer: str, fingerprint: str, documents: Sequence[Document], *, owner: str, now: float
    ) -> None:
        """Begin the leases of claimed documents anew, for work that takes longer than one."""
        with self.database.write() as writer:
            key, _ = self._create_consumer(writer, consumer, fingerprint)
            writer.executemany(
                f"UPDATE {self.prefix}work SET leased_at = ?"
                f" WHERE consumer = ? AND change = ? AND state = {_OPEN} AND owner = ?",
                [(now, key, document.change, owner) for document in documents],
            )

    # ------------------------------------------------------------------ counting
    def pending_count(self, consumer: str, fingerprint: str) -> int:
        """Return how many documents are not dealt with, claimed ones included, parked ones not.

        Cost grows with their number.
        """
        p = self.prefix
        with self.database.read() as reader:
            key, frontier = self._consumer(reader, consumer, fingerprint)
            row = reader.execute(
                f"SELECT (SELECT count(*) FROM {p}documents WHERE change > :frontier)"
                f" - (SELECT count(*) FROM {p}work WHERE consumer = :key AND state = {_DONE})"
                f" + (SELECT count(*) FROM {p}work WHERE consumer = :key AND state = {_OPEN})",
                {"key": key, "frontier": frontier},
            ).fetchone()
        return int(row[0])

    def parked(self, consumer: str, fingerprint: str | None = None) -> int:
        """Return how many documents are parked, with one fingerprint or with any."""
        p = self.prefix
        with self.database.read() as reader:
            row = reader.execute(
                f"SELECT count(*) FROM {p}work WHERE state = {_PARKED} AND consumer IN"
                f" (SELECT key FROM {p}consumers WHERE consumer = ? AND (? IS NULL OR fingerprint = ?))",
                (consumer, fingerprint, fingerprint),
            ).fetchone()
        return int(row[0])

    def retry_parked(self, consumer: str) -> int:
        """Make parked documents pending again, with no failures; return how many."""
        p = self.prefix
        with self.database.write() as writer:
            return writer.execute(
                f"UPDATE {p}work SET state = {_OPEN}, failures = 0, losses = 0, owner = NULL, lease_s = 0"
                f" WHERE state = {_PARKED} AND consumer IN (SELECT key FROM {p}consumers WHERE consumer = ?)",
                (consumer,),
            ).rowcount

    def restart(self, consumer: str, fingerprint: str | None = None) -> None:
        """Make everything pending again, for one fingerprint or for all: the consumer's results were lost."""
        p = self.prefix
        chosen = f"(SELECT key FROM {p}consumers WHERE consumer = ? AND (? IS NULL OR fingerprint = ?))"
        values = (consumer, fingerprint, fingerprint)
        with self.database.write() as writer:
            writer.execute(f"DELETE FROM {p}work WHERE consumer IN {chosen}", values)
            writer.execute(f"DELETE FROM {p}consumers WHERE key IN {chosen}", values)

    def unfinished(
        self, consumer: str, fingerprint: str, *, session_id: str | None = None, limit: int
    ) -> list[Document]:
        """Return the newest documents that are not dealt with (claimed and parked ones included), oldest first.

        They are what must stand in for themselves until their results are there.  Flat cost: of a session only the
        last 256 documents are looked at.
        """
        p = self.prefix
        unfinished = (
            f"EXISTS (SELECT 1 FROM {p}work w WHERE w.consumer = :key AND w.change = d.change AND w.state <> {_DONE})"
            f" OR d.change > :frontier AND NOT EXISTS"
            f" (SELECT 1 FROM {p}work w WHERE w.consumer = :key AND w.change = d.change)"
        )
        with self.database.read() as reader:
            key, frontier = self._consumer(reader, consumer, fingerprint)
            values = {"key": key, "frontier": frontier, "limit": limit}
            if session_id is None:
                rows = reader.execute(self._unfinished_anywhere(), values).fetchall()
            else:
                values["session"] = (
                    -1 if (n := self.session_number(session_id, connection=reader)) is None else n
                )
                rows = reader.execute(
                    f"{self._select} WHERE d.row IN (SELECT row FROM (SELECT row, change FROM {p}documents"
                    f" WHERE session = :session ORDER BY n DESC LIMIT {_SESSION_SCAN}) d WHERE {unfinished})"
                    " ORDER BY d.change DESC LIMIT :limit",
                    values,
                ).fetchall()
        return [document_of(row) for row in reversed(rows)]

    def _unfinished_anywhere(self) -> str:
        p = self.prefix
        return (
            f"{self._select} WHERE d.change IN (SELECT change FROM"
            f" (SELECT change FROM {p}work WHERE consumer = :key AND state <> {_DONE} ORDER BY change DESC LIMIT :limit)"
            f" UNION SELECT change FROM (SELECT change FROM {p}documents d WHERE d.change > :frontier AND NOT EXISTS"
            f" (SELECT 1 FROM {p}work w WHERE w.consumer = :key AND w.change = d.change)"
            " ORDER BY d.change DESC LIMIT :limit)) ORDER BY d.change DESC LIMIT :limit"
        )

    # ------------------------------------------------------------------ inside
    def _consumer(self, reader: sqlite3.Connection, consumer: str, fingerprint: str) -> tuple[int, int]:
        row = reader.execute(
            f"SELECT key, frontier FROM {self.prefix}consumers WHERE consumer = ? AND fingerprint = ?",
            (consumer, fingerprint),
        ).fetchone()
        return (-1, 0) if row is None else (row[0], row[1])

    def _create_consumer(
        self, writer: sqlite3.Connection, consumer: str, fingerprint: str
    ) -> tuple[int, int]:
        key, frontier = self._consumer(writer, consumer, fingerprint)
        if key == -1:
            cursor = writer.execute(
                f"INSERT INTO {self.prefix}consumers (consumer, fingerprint, frontier) VALUES (?, ?, 0)",
                (consumer, fingerprint),
            )
            key = int(cursor.lastrowid or 0)
        return key, frontier

    def _is_current(self, reader: sqlite3.Connection, document: Document) -> bool:
        statement = f"SELECT 1 FROM {self.prefix}documents WHERE change = ? AND row = ?"
        return reader.execute(statement, (document.change, document.row)).fetchone() is not None

    def _is_pending(self, reader: sqlite3.Connection, key: int, frontier: int, now: float) -> bool:
        p = self.prefix
        row = reader.execute(
            f"SELECT EXISTS (SELECT 1 FROM {p}work WHERE consumer = :key AND state = {_OPEN} AND {_IS_FREE})"
            f" OR EXISTS (SELECT 1 FROM {p}documents d WHERE d.change > :frontier AND NOT EXISTS"
            f" (SELECT 1 FROM {p}work w WHERE w.consumer = :key AND w.change = d.change))",
            {"key": key, "frontier": frontier, "now": now},
        ).fetchone()
        return bool(row[0])

    def _claimable(self, writer: sqlite3.Connection, key: int, limit: int, now: float) -> list[Document]:
        """Return documents up to the frontier whose lease ran out or that failed; those lost too often are parked."""
        p = self.prefix
        values = {"key": key, "now": now, "limit": limit}
        writer.execute(
            f"UPDATE {p}work SET losses = losses + 1, owner = NULL, lease_s = 0,"
            f" state = CASE WHEN losses + 1 >= {MAX_LOSSES} THEN {_PARKED} ELSE {_OPEN} END"
            f" WHERE consumer = :key AND state = {_OPEN} AND owner IS NOT NULL AND {_IS_FREE}",
            values,
        )
        rows = writer.execute(
            f"{self._select} WHERE d.change IN (SELECT change FROM {p}work WHERE consumer = :key AND state = {_OPEN}"
            f" AND {_IS_FREE} ORDER BY change LIMIT :limit) ORDER BY d.change",
            values,
        ).fetchall()
        return [document_of(row) for row in rows]

    def _advance(self, writer: sqlite3.Connection, key: int, frontier: int, limit: int) -> list[Document]:
        """Move the frontier over the next ``limit`` documents that are not done, and return them."""
        if limit <= 0:
            return []
        rows = writer.execute(
            f"{self._select} WHERE d.change > ? AND NOT EXISTS"
            f" (SELECT 1 FROM {self.prefix}work w WHERE w.consumer = ? AND w.change = d.change)"
            " ORDER BY d.change LIMIT ?",
            (frontier, key, limit),
        ).fetchall()
        found = [document_of(row) for row in rows]
        self._move_frontier(writer, key, found[-1].change if len(found) == limit else None)
        return found

    def _done_early(self, writer: sqlite3.Connection, key: int, frontier: int, change: int) -> int:
        """Mark a change beyond the frontier, and return the frontier, moved up to the first one still to do."""
        p = self.prefix
        row = writer.execute(
            f"SELECT d.change FROM {p}documents d WHERE d.change > ? AND d.change <> ? AND NOT EXISTS"
            f" (SELECT 1 FROM {p}work w WHERE w.consumer = ? AND w.change = d.change) ORDER BY d.change LIMIT 1",
            (frontier, change, key),
        ).fetchone()
        if row is None or row[0] > change:
            return self._move_frontier(writer, key, None if row is None else row[0] - 1)
        writer.execute(
            f"INSERT OR IGNORE INTO {p}work VALUES (?, ?, {_DONE}, 0, 0, NULL, 0, 0)", (key, change)
        )
        return frontier

    def _move_frontier(self, writer: sqlite3.Connection, key: int, frontier: int | None) -> int:
        """Set the frontier (``None``: behind the newest document); marks of what is done before it are not needed."""
        p = self.prefix
        if frontier is None:
            frontier = int(writer.execute(f"SELECT coalesce(max(change), 0) FROM {p}documents").fetchone()[0])
        writer.execute(f"UPDATE {p}consumers SET frontier = max(frontier, ?) WHERE key = ?", (frontier, key))
        writer.execute(
            f"DELETE FROM {p}work WHERE consumer = ? AND state = {_DONE} AND change <= ?", (key, frontier)
        )
        return frontier
