"""How far the consumers of a ledger (vectors, facts, summary) have come, and what they have left.

A consumer's *frontier* is a change number: all documents up to it were handed out in order at least once.  Of
those only the unfinished ones have a row in the work table (leased, failed, parked); beyond the frontier only
the finished ones have (done out of turn).  In the usual course both sets are small, so the cost is flat in
the size of the ledger. An edited or extended document has a new change number and is pending again by itself;
a new fingerprint has a frontier of 0 and everything pending.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ovos_memory.core.ledger_codec import document_of
from ovos_memory.core.ledger_reader import LedgerReader
from ovos_memory.core.types import Document

OPEN, DONE, PARKED = 0, 1, 2
"""States of a row in the work table; an open one is leased or waits for its next try."""
_SESSION_SCAN = 256


class LedgerProgress(LedgerReader):
    """The marks of a ledger.

    ``consumer`` names who works, ``fingerprint`` with what (a model and its settings).  All methods raise
    :class:`~ovos_memory.core.errors.StoreError` when the database cannot be read or written.
    """

    def current(
        self, documents: Sequence[Document], *, connection: sqlite3.Connection | None = None
    ) -> list[Document]:
        """Return those documents that are still stored just as given: neither deleted nor changed since.

        Within the transaction that stores results it says which results may be stored.
        """
        with self._reading(connection) as reader:
            return [document for document in documents if self._is_current(reader, document)]

    def pending_count(self, consumer: str, fingerprint: str) -> int:
        """Return how many documents are not dealt with, claimed ones included, parked ones not.

        Cost grows with their number.
        """
        p = self.prefix
        with self.database.read() as reader:
            key, frontier = self._consumer(reader, consumer, fingerprint)
            row = reader.execute(
                f"SELECT (SELECT count(*) FROM {p}documents WHERE change > :frontier)"
                f" - (SELECT count(*) FROM {p}work WHERE consumer = :key AND state = {DONE})"
                f" + (SELECT count(*) FROM {p}work WHERE consumer = :key AND state = {OPEN})",
                {"key": key, "frontier": frontier},
            ).fetchone()
        return int(row[0])

    def parked(self, consumer: str, fingerprint: str | None = None) -> int:
        """Return how many documents are parked, with one fingerprint or with any."""
        p = self.prefix
        with self.database.read() as reader:
            row = reader.execute(
                f"SELECT count(*) FROM {p}work WHERE state = {PARKED} AND consumer IN"
                f" (SELECT key FROM {p}consumers WHERE consumer = ? AND (? IS NULL OR fingerprint = ?))",
                (consumer, fingerprint, fingerprint),
            ).fetchone()
        return int(row[0])

    def retry_parked(self, consumer: str) -> int:
        """Make parked documents pending again, with no failures; return how many."""
        p = self.prefix
        with self.database.write() as writer:
            return writer.execute(
                f"UPDATE {p}work SET state = {OPEN}, failures = 0, losses = 0, owner = NULL, lease_s = 0"
                f" WHERE state = {PARKED} AND consumer IN (SELECT key FROM {p}consumers WHERE consumer = ?)",
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
        """Return the newest documents that are not dealt with, oldest first.

        Claimed and parked ones are among them: they must stand in for themselves until their results are
        there.  Flat cost: of a session only the last 256 documents are looked at.
        """
        p = self.prefix
        unfinished = (
            f"EXISTS (SELECT 1 FROM {p}work w"
            f" WHERE w.consumer = :key AND w.change = d.change AND w.state <> {DONE})"
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
            f" (SELECT change FROM {p}work WHERE consumer = :key AND state <> {DONE}"
            f" ORDER BY change DESC LIMIT :limit)"
            f" UNION SELECT change FROM (SELECT change FROM {p}documents d WHERE d.change > :frontier"
            f" AND NOT EXISTS"
            f" (SELECT 1 FROM {p}work w WHERE w.consumer = :key AND w.change = d.change)"
            " ORDER BY d.change DESC LIMIT :limit)) ORDER BY d.change DESC LIMIT :limit"
        )

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
