"""The ledger as a queue: documents are handed out, to one worker each, and marked as dealt with."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ovos_memory.core.ledger_codec import document_of
from ovos_memory.core.ledger_progress import DONE, OPEN, PARKED, LedgerProgress
from ovos_memory.core.types import Document

MAX_FAILURES = 5
"""Failures after which a document is parked."""
MAX_LOSSES = 10
"""Leases that ran out without a word, after which a document is parked: it may be what kills the process."""
_IS_FREE = "NOT (lease_s > 0 AND abs(:now - leased_at) < lease_s)"


class LedgerQueue(LedgerProgress):
    """The queue of a ledger.

    ``consumer`` and ``fingerprint`` as in :class:`~ovos_memory.core.ledger_progress.LedgerProgress`.  All
    methods raise :class:`~ovos_memory.core.errors.StoreError` when the database cannot be read or written.

    No mark waits for the disk, or the turns that record meanwhile would wait as well: what a power cut undoes is done
    again.  What one process marked another one sees at once.
    """

    def claim(
        self, consumer: str, fingerprint: str, *, limit: int, lease_s: float, owner: str, now: float
    ) -> list[Document]:
        """Hand out pending documents, in order of change, to nobody else for ``lease_s`` seconds.

        When nothing is pending nothing is written.  A lease ends with :meth:`done`, :meth:`failed`,
        :meth:`release`, or when ``now`` is ``lease_s`` or more away from the claim, in either direction
        (clocks are set back).

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
        with self.database.write(is_synced=False) as writer:
            key, frontier = self._create_consumer(writer, consumer, fingerprint)
            found = self._claimable(writer, key, limit, now)
            found += self._advance(writer, key, frontier, limit - len(found))
            writer.executemany(
                f"INSERT INTO {self.prefix}work VALUES (?, ?, {OPEN}, 0, 0, ?, ?, ?)"
                " ON CONFLICT (consumer, change) DO UPDATE SET"
                " owner = excluded.owner, leased_at = excluded.leased_at, lease_s = excluded.lease_s",
                [(key, document.change, owner, now, lease_s) for document in found],
            )
        return found

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
            Those that were not marked, because they were deleted or changed meanwhile; a changed one is
            pending again.  Usually empty.  Results made of them must not be stored (see :meth:`current`).
        """
        gone = []
        with self._writing(connection, is_synced=False) as writer:
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
        with self.database.write(is_synced=False) as writer:
            key, _ = self._create_consumer(writer, consumer, fingerprint)
            writer.executemany(
                f"UPDATE {self.prefix}work SET failures = failures + 1, losses = 0, owner = NULL,"
                " lease_s = 0,"
                f" state = CASE WHEN failures + 1 >= {MAX_FAILURES} THEN {PARKED} ELSE {OPEN} END"
                f" WHERE consumer = ? AND change = ? AND state = {OPEN} AND (? IS NULL OR owner = ?)",
                [(key, document.change, owner, owner) for document in documents],
            )

    def release(self, consumer: str, fingerprint: str, documents: Sequence[Document], *, owner: str) -> None:
        """Give claimed documents back untouched, as a worker that stops does; they are pending at once."""
        with self.database.write(is_synced=False) as writer:
            key, _ = self._create_consumer(writer, consumer, fingerprint)
            writer.executemany(
                f"UPDATE {self.prefix}work SET owner = NULL, lease_s = 0"
                f" WHERE consumer = ? AND change = ? AND state = {OPEN} AND owner = ?",
                [(key, document.change, owner) for document in documents],
            )

    def renew(
        self, consumer: str, fingerprint: str, documents: Sequence[Document], *, owner: str, now: float
    ) -> None:
        """Begin the leases of claimed documents anew, for work that takes longer than one."""
        with self.database.write(is_synced=False) as writer:
            key, _ = self._create_consumer(writer, consumer, fingerprint)
            writer.executemany(
                f"UPDATE {self.prefix}work SET leased_at = ?"
                f" WHERE consumer = ? AND change = ? AND state = {OPEN} AND owner = ?",
                [(now, key, document.change, owner) for document in documents],
            )

    # ------------------------------------------------------------------ inside
    def _is_pending(self, reader: sqlite3.Connection, key: int, frontier: int, now: float) -> bool:
        p = self.prefix
        row = reader.execute(
            f"SELECT EXISTS (SELECT 1 FROM {p}work WHERE consumer = :key AND state = {OPEN} AND {_IS_FREE})"
            f" OR EXISTS (SELECT 1 FROM {p}documents d WHERE d.change > :frontier AND NOT EXISTS"
            f" (SELECT 1 FROM {p}work w WHERE w.consumer = :key AND w.change = d.change))",
            {"key": key, "frontier": frontier, "now": now},
        ).fetchone()
        return bool(row[0])

    def _claimable(self, writer: sqlite3.Connection, key: int, limit: int, now: float) -> list[Document]:
        """Return what failed, or whose lease ran out, up to the frontier; park what was lost too often."""
        p = self.prefix
        values = {"key": key, "now": now, "limit": limit}
        writer.execute(
            f"UPDATE {p}work SET losses = losses + 1, owner = NULL, lease_s = 0,"
            f" state = CASE WHEN losses + 1 >= {MAX_LOSSES} THEN {PARKED} ELSE {OPEN} END"
            f" WHERE consumer = :key AND state = {OPEN} AND owner IS NOT NULL AND {_IS_FREE}",
            values,
        )
        rows = writer.execute(
            f"{self._select} WHERE d.change IN"
            f" (SELECT change FROM {p}work WHERE consumer = :key AND state = {OPEN}"
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
        """Mark a change beyond the frontier; return the frontier, moved up to the first one to do."""
        p = self.prefix
        row = writer.execute(
            f"SELECT d.change FROM {p}documents d WHERE d.change > ? AND d.change <> ? AND NOT EXISTS"
            f" (SELECT 1 FROM {p}work w WHERE w.consumer = ? AND w.change = d.change)"
            " ORDER BY d.change LIMIT 1",
            (frontier, change, key),
        ).fetchone()
        if row is None or row[0] > change:
            return self._move_frontier(writer, key, None if row is None else row[0] - 1)
        writer.execute(
            f"INSERT OR IGNORE INTO {p}work VALUES (?, ?, {DONE}, 0, 0, NULL, 0, 0)", (key, change)
        )
        return frontier

    def _move_frontier(self, writer: sqlite3.Connection, key: int, frontier: int | None) -> int:
        """Set the frontier (``None``: behind the newest document); done marks before it are not needed."""
        p = self.prefix
        if frontier is None:
            frontier = int(writer.execute(f"SELECT coalesce(max(change), 0) FROM {p}documents").fetchone()[0])
        writer.execute(f"UPDATE {p}consumers SET frontier = max(frontier, ?) WHERE key = ?", (frontier, key))
        writer.execute(
            f"DELETE FROM {p}work WHERE consumer = ? AND state = {DONE} AND change <= ?", (key, frontier)
        )
        return frontier
