"""What a ledger shows: single documents, the end of a session, everything in order, what has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ovos_memory.core.ledger_codec import (
    content_columns,
    document_of,
    session_id_of,
    session_key,
    split_id,
)
from ovos_memory.core.ledger_tables import COLUMNS, LedgerTables
from ovos_memory.core.record_types import SessionSummary
from ovos_memory.core.text import fold
from ovos_memory.core.types import Document

_PAGE = 256
"""Documents read at once; no snapshot stays open while a caller works on them."""
MIN_PHRASE = 3
"""Characters of the shortest phrase that may choose what is forgotten."""


class LedgerReader(LedgerTables):
    """The reading half of a ledger.

    Methods that take a ``connection`` read in its snapshot, or within its transaction; else in one of their
    own. All of them raise :class:`~ovos_memory.core.errors.StoreError` when the database cannot be read.
    """

    def get(self, document_id: str, *, connection: sqlite3.Connection | None = None) -> Document | None:
        """Return a document, ``None`` when there is none of that id."""
        with self._reading(connection) as reader:
            return self._get(reader, document_id)

    def get_many(self, ids: Iterable[str], *, connection: sqlite3.Connection | None = None) -> list[Document]:
        """Return documents in the order of ``ids``, without those that do not exist."""
        keys = [key for each in ids if (key := split_id(each)) is not None]
        found: dict[tuple[bytes, int], Document] = {}
        with self._reading(connection) as reader:
            for start in range(0, len(keys), _PAGE):
                page = keys[start : start + _PAGE]
                marks = ",".join(["(?,?)"] * len(page))
                # One statement, for each gives Python's lock away; its planner would begin with all documents.
                statement = (
                    f"WITH wanted(id, n) AS (VALUES {marks}) SELECT {COLUMNS} FROM wanted w"
                    f" CROSS JOIN {self.sessions_table} s ON s.id = w.id"
                    f" CROSS JOIN {self.documents_table} d ON d.session = s.key AND d.n = w.n"
                )
                for row in reader.execute(statement, [value for key in page for value in key]):
                    found[bytes(row[1]), row[2]] = document_of(row)
        return [found[key] for key in keys if key in found]

    def by_rows(
        self, rows: Sequence[int], *, connection: sqlite3.Connection | None = None
    ) -> dict[int, Document]:
        """Return documents by their row number, without those that do not exist."""
        found: dict[int, Document] = {}
        with self._reading(connection) as reader:
            for start in range(0, len(rows), _PAGE):
                page = rows[start : start + _PAGE]
                marks = ",".join("?" * len(page))
                for row in reader.execute(f"{self._select} WHERE d.row IN ({marks})", page):
                    found[row[0]] = document_of(row)
        return {row: found[row] for row in rows if row in found}

    def newest(self, session_id: str, *, connection: sqlite3.Connection | None = None) -> Document | None:
        """Return a session's newest document, ``None`` when it has none.  Flat cost."""
        return next(iter(self.tail(session_id, 1, connection=connection)), None)

    def tail(
        self,
        session_id: str,
        documents: int,
        *,
        before_n: int | None = None,
        connection: sqlite3.Connection | None = None,
    ) -> list[Document]:
        """Return a session's last ``documents`` documents, oldest first; cost grows with them only.

        Args:
            session_id: The session.
            documents: How many at most.
            before_n: Only those with a smaller number; for going on above the oldest one seen.
            connection: Of an enclosing transaction.
        """
        older, bound = ("", ()) if before_n is None else (" AND d.n < ?", (before_n,))
        with self._reading(connection) as reader:
            rows = reader.execute(
                f"{self._select} WHERE s.id = ?{older} ORDER BY d.n DESC LIMIT ?",
                (session_key(session_id), *bound, documents),
            ).fetchall()
        return [document_of(row) for row in reversed(rows)]

    def documents(
        self,
        *,
        session_id: str | None = None,
        before: float | None = None,
        after: float | None = None,
        phrase: str | None = None,
        start: int = 0,
        limit: int | None = None,
    ) -> Iterator[Document]:
        """Yield documents in row order, that is in order of arrival.

        Read in pages, so the ledger may change meanwhile: what is deleted before its turn is not shown.

        Args:
            session_id: Only of this session.
            before: Only those created before this moment, epoch seconds.
            after: Only those created at this moment or later.
            phrase: Only those whose text contains it, compared by :func:`~ovos_memory.core.text.fold`.
            start: Only from this row number on; for going on behind the last one seen.
            limit: How many at most.

        Raises:
            ValueError: The phrase has fewer than three characters.
        """
        needle = None if phrase is None else fold(phrase)
        if needle is not None and len(needle) < MIN_PHRASE:
            raise ValueError(f"a phrase needs at least {MIN_PHRASE} characters, got {len(needle)}")
        return self._pages(session_id, before, after, needle, start, limit)

    def _pages(
        self,
        session_id: str | None,
        before: float | None,
        after: float | None,
        needle: str | None,
        start: int,
        limit: int | None,
    ) -> Iterator[Document]:
        order = "d.row" if session_id is None else "d.n"
        conditions, values = ["d.row >= ?"], [start]
        fixed: list[Any] = []
        for condition, value in (("d.created_at < ?", before), ("d.created_at >= ?", after)):
            if value is not None:
                conditions.append(condition)
                fixed.append(value)
        if session_id is not None:
            conditions.append("s.id = ?")
            fixed.append(session_key(session_id))
        wanted = " AND ".join(conditions)
        statement = f"{self._select} WHERE {wanted} AND {order} > ? ORDER BY {order} LIMIT {_PAGE}"
        last, left = -1, limit
        while left is None or left > 0:
            with self.database.read() as reader:
                rows = reader.execute(statement, (*values, *fixed, last)).fetchall()
            for row in rows:
                document = document_of(row)
                if needle is not None and needle not in fold(document.content):
                    continue
                yield document
                if left is not None:
                    left -= 1
                    if left == 0:
                        return
            if len(rows) < _PAGE:
                return
            last = rows[-1][0] if session_id is None else rows[-1][2]

    def changed(
        self, since: int, limit: int, *, connection: sqlite3.Connection | None = None
    ) -> list[Document]:
        """Return the documents changed after change number ``since``, in order of change.  Flat cost."""
        with self._reading(connection) as reader:
            rows = reader.execute(
                f"{self._select} WHERE d.change > ? ORDER BY d.change LIMIT ?", (since, limit)
            ).fetchall()
        return [document_of(row) for row in rows]

    def last_change(self, *, connection: sqlite3.Connection | None = None) -> int:
        """Return the number of the newest change, 0 for a new ledger.  Flat cost."""
        with self._reading(connection) as reader:
            return int(reader.execute(f"SELECT change FROM {self.prefix}clock").fetchone()[0])

    def count(self, session_id: str | None = None, *, connection: sqlite3.Connection | None = None) -> int:
        """Return how many documents there are, of one session or in all.  Flat cost."""
        p = self.prefix
        with self._reading(connection) as reader:
            if session_id is None:
                row = reader.execute(f"SELECT documents FROM {p}clock").fetchone()
            else:
                row = reader.execute(
                    f"SELECT documents FROM {p}sessions WHERE id = ?", (session_key(session_id),)
                ).fetchone()
        return 0 if row is None else int(row[0])

    def count_from(self, start: int) -> int:
        """Return how many documents have this row number or a later one.  Cost grows with them."""
        with self.database.read() as reader:
            row = reader.execute(f"SELECT count(*) FROM {self.documents_table} WHERE row >= ?", (start,))
            return int(row.fetchone()[0])

    def session_number(self, session_id: str, *, connection: sqlite3.Connection | None = None) -> int | None:
        """Return the session's number in the documents table, never reused; ``None`` when it has none."""
        with self._reading(connection) as reader:
            row = reader.execute(
                f"SELECT key FROM {self.prefix}sessions WHERE id = ?", (session_key(session_id),)
            ).fetchone()
        return None if row is None else int(row[0])

    def sessions(self) -> list[SessionSummary]:
        """Return every session that has documents, by first arrival.  Cost grows with the sessions."""
        p = self.prefix
        edge = f"(SELECT created_at FROM {p}documents WHERE session = s.key ORDER BY n {{}} LIMIT 1)"
        with self.database.read() as reader:
            rows = reader.execute(
                f"SELECT s.id, s.documents, {edge.format('ASC')}, {edge.format('DESC')}"
                f" FROM {p}sessions s ORDER BY s.key"
            ).fetchall()
        return [SessionSummary(session_id_of(key), count, first, last) for key, count, first, last in rows]

    def _get(self, reader: sqlite3.Connection, document_id: str) -> Document | None:
        parts = split_id(document_id)
        if parts is None:
            return None
        row = reader.execute(f"{self._select} WHERE s.id = ? AND d.n = ?", parts).fetchone()
        return None if row is None else document_of(row)

    def _holds(self, reader: sqlite3.Connection, document: Document) -> bool:
        """Tell whether the session has a document that says the same and was made at the same moment."""
        question, answer, messages, text, _ = content_columns(document)
        row = reader.execute(
            f"SELECT 1 FROM {self.prefix}documents d JOIN {self.prefix}sessions s ON s.key = d.session"
            " WHERE s.id = ? AND d.created_at = ? AND d.question = ? AND d.answer = ?"
            " AND d.messages IS ? AND d.text IS ? LIMIT 1",
            (session_key(document.session_id), document.created_at, question, answer, messages, text),
        ).fetchone()
        return row is not None
