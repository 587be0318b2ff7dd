"""The ledger: every exchange as one document in SQLite, the truth that everything else is derived from.

Writing a document is one transaction, durable when the call returns.  Its number within the session is never
used again, whatever is deleted; nothing here gets slower as the ledger grows.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ovos_memory.core.errors import DocumentGone
from ovos_memory.core.ledger_codec import (
    content_columns,
    document_of,
    edited_messages,
    session_hash,
    session_key,
    storable,
)
from ovos_memory.core.ledger_notes import LedgerNotes
from ovos_memory.core.ledger_queue import LedgerQueue
from ovos_memory.core.ledger_types import Ledger
from ovos_memory.core.sqlite import WAIT_S, Database
from ovos_memory.core.types import Document, Exchange

__all__ = ["AttachedIndex", "Ledger", "SqliteLedger"]


class AttachedIndex(Protocol):
    """An index in the ledger's own file that must never show what is gone."""

    def removed(self, connection: sqlite3.Connection, documents: Sequence[Document]) -> None:
        """Forget documents, given as they were indexed.

        Called within the transaction that deletes, edits or extends them.
        """


class SqliteLedger(LedgerQueue, LedgerNotes):
    """A ledger in a database; safe from any thread, shared with other processes.

    Methods with a ``connection`` do their work within the write transaction of that connection, which makes
    many of them one; the others take a transaction of their own and wait at most ``wait_s`` seconds for it.
    All of them raise :class:`~ovos_memory.core.errors.StoreError` when the database cannot be read or
    written.

    Args:
        database: Where the tables live.
        prefix: Of the tables' names, so that one file can hold several ledgers; letters, digits, underscores.
        index: Told of documents that go or change.
    """

    def __init__(self, database: Database, *, prefix: str = "", index: AttachedIndex | None = None) -> None:
        super().__init__(database, prefix=prefix)
        self._index = index

    # ------------------------------------------------------------------ recording
    def append(
        self,
        session_id: str,
        exchange: Exchange,
        *,
        created_at: float,
        metadata: Mapping[str, Any] | None = None,
        wait_s: float = WAIT_S,
        connection: sqlite3.Connection | None = None,
    ) -> Document:
        """Record an exchange; on disk when the call returns.

        Cost: one transaction with one fsync, flat in the size of the ledger.

        Args:
            session_id: Its session, opaque.
            exchange: What was said; the document keeps its messages as they are given.
            created_at: Epoch seconds, UTC.
            metadata: Facts about it, kept as JSON.
            wait_s: Seconds to wait for other writers.
            connection: Of an enclosing write transaction.
        """
        question, answer = storable(exchange.question), storable(exchange.answer)
        facts = dict(metadata or {})
        document = Document(session_id, 0, question, answer, exchange.messages, created_at, metadata=facts)
        with self._writing(connection, wait_s) as writer:
            return self._insert(writer, document)

    def append_text(
        self,
        session_id: str,
        text: str,
        *,
        created_at: float,
        metadata: Mapping[str, Any] | None = None,
        wait_s: float = WAIT_S,
        connection: sqlite3.Connection | None = None,
    ) -> Document:
        """Record a text verbatim as a document of its own; all else as for :meth:`append`."""
        document = Document(
            session_id, 0, "", "", (), created_at, text=storable(text), metadata=dict(metadata or {})
        )
        with self._writing(connection, wait_s) as writer:
            return self._insert(writer, document)

    def extend(
        self,
        document: Document,
        exchange: Exchange,
        *,
        wait_s: float = WAIT_S,
        connection: sqlite3.Connection | None = None,
    ) -> Document:
        """Replace a document's exchange by a longer one: pieces of its answer came late.

        Id, row and ``created_at`` stay; ``change`` is a new one, so every consumer sees it as pending again.

        Args:
            document: As it was last read.
            exchange: All of it, the earlier pieces included.
            wait_s: Seconds to wait for other writers.
            connection: Of an enclosing write transaction.

        Raises:
            DocumentGone: It was deleted meanwhile, or changed by somebody else; :meth:`get` tells which.
        """
        with self._writing(connection, wait_s) as writer:
            if not self._is_current(writer, document):
                raise DocumentGone(f"document {document.n} of a session was deleted or changed while it grew")
            longer = replace(
                document,
                question=storable(exchange.question),
                answer=storable(exchange.answer),
                messages=exchange.messages,
            )
            return self._change(writer, document, longer)

    def restore(self, document: Document, *, connection: sqlite3.Connection) -> Document | None:
        """Record a document again with the number it had (-1: the next one), within a write transaction.

        Returns:
            The document; with the next free number when its own belongs to another one; ``None`` when it is
            there already, under whatever number.
        """
        if document.n >= 0 and self._get(connection, document.id) is None:
            return self._insert(connection, document, n=document.n)
        return None if self._holds(connection, document) else self._insert(connection, document)

    # ------------------------------------------------------------------ correcting and forgetting
    def edit(
        self,
        document_id: str,
        *,
        question: str | None = None,
        answer: str | None = None,
        text: str | None = None,
    ) -> Document:
        """Correct what a document says; its messages follow, tool calls stay.

        Args:
            document_id: Which one.
            question: The user's words, of an exchange.
            answer: The assistant's words, of an exchange.
            text: All of it, of a verbatim text.

        Raises:
            DocumentGone: There is no such document.
            ValueError: A text has neither question nor answer, an exchange no text.
        """
        with self.database.write() as writer:
            document = self._get(writer, document_id)
            if document is None:
                raise DocumentGone("there is no document of that id")
            is_text = document.text is not None
            if (is_text and (question is not None or answer is not None)) or (
                not is_text and text is not None
            ):
                raise ValueError("an exchange has a question and an answer, a verbatim text only a text")
            edited = replace(
                document,
                question=document.question if question is None else storable(question),
                answer=document.answer if answer is None else storable(answer),
                text=document.text if text is None else storable(text),
            )
            if not is_text:
                edited = replace(edited, messages=edited_messages(document, edited))
            return self._change(writer, document, edited)

    def delete(
        self, document_ids: Sequence[str], *, connection: sqlite3.Connection | None = None
    ) -> list[Document]:
        """Forget documents; return those there were.

        A session without documents leaves only its counter, under a hash of its id.
        """
        with self._writing(connection) as writer:
            found = [self._get(writer, document_id) for document_id in dict.fromkeys(document_ids)]
            documents = [document for document in found if document is not None]
            self._remove(writer, documents)
        return documents

    def delete_session(
        self, session_id: str, *, connection: sqlite3.Connection | None = None
    ) -> list[Document]:
        """Forget all documents of a session; return them.  One transaction, whatever their number."""
        with self._writing(connection) as writer:
            rows = writer.execute(
                f"{self._select} WHERE s.id = ? ORDER BY d.n", (session_key(session_id),)
            ).fetchall()
            documents = [document_of(row) for row in rows]
            self._remove(writer, documents)
        return documents

    def close(self) -> None:
        """Close the database's connections; the next use opens them again."""
        self.database.close()

    # ------------------------------------------------------------------ inside
    def _insert(self, writer: sqlite3.Connection, document: Document, *, n: int | None = None) -> Document:
        """Add a document, with the next number of its session or with a given one that is free."""
        p, key = self.prefix, session_key(document.session_id)
        change = self._next_change(writer, documents=1)
        row = writer.execute(f"SELECT key, next_n FROM {p}sessions WHERE id = ?", (key,)).fetchone()
        if row is None:
            session, next_n = change, self._take_counter(writer, key)
            writer.execute(f"INSERT INTO {p}sessions VALUES (?, ?, ?, 0)", (session, key, next_n))
        else:
            session, next_n = row
        n = next_n if n is None else n
        writer.execute(
            f"UPDATE {p}sessions SET next_n = max(next_n, ?), documents = documents + 1 WHERE key = ?",
            (n + 1, session),
        )
        writer.execute(
            f"INSERT INTO {p}documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (change, session, n, *content_columns(document), document.created_at, change),
        )
        return replace(document, n=n, row=change, change=change)

    def _take_counter(self, writer: sqlite3.Connection, key: bytes) -> int:
        """Return where the numbers of a session go on, 0 for one that never was."""
        p, digest = self.prefix, session_hash(key)
        row = writer.execute(f"SELECT next_n FROM {p}counters WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            return 0
        writer.execute(f"DELETE FROM {p}counters WHERE hash = ?", (digest,))
        return int(row[0])

    def _change(self, writer: sqlite3.Connection, old: Document, new: Document) -> Document:
        change = self._next_change(writer)
        self._let_go(writer, [old])
        writer.execute(
            f"UPDATE {self.prefix}documents SET question = ?, answer = ?, messages = ?, text = ?,"
            " metadata = ?, change = ? WHERE row = ?",
            (*content_columns(new), change, old.row),
        )
        return replace(new, change=change)

    def _remove(self, writer: sqlite3.Connection, documents: Sequence[Document]) -> None:
        p = self.prefix
        if not documents:
            return
        self._let_go(writer, documents)
        writer.executemany(f"DELETE FROM {p}documents WHERE row = ?", [(d.row,) for d in documents])
        self._next_change(writer, documents=-len(documents))
        for session_id, removed in Counter(document.session_id for document in documents).items():
            key = session_key(session_id)
            writer.execute(f"UPDATE {p}sessions SET documents = documents - ? WHERE id = ?", (removed, key))
            left, next_n = writer.execute(
                f"SELECT documents, next_n FROM {p}sessions WHERE id = ?", (key,)
            ).fetchone()
            if left == 0:
                writer.execute(f"REPLACE INTO {p}counters VALUES (?, ?)", (session_hash(key), next_n))
                writer.execute(f"DELETE FROM {p}sessions WHERE id = ?", (key,))

    def _let_go(self, writer: sqlite3.Connection, documents: Sequence[Document]) -> None:
        """Take documents out of the queues and the index."""
        p = self.prefix
        keys = [row[0] for row in writer.execute(f"SELECT key FROM {p}consumers")]
        writer.executemany(
            f"DELETE FROM {p}work WHERE consumer = ? AND change = ?",
            [(key, document.change) for key in keys for document in documents],
        )
        if self._index is not None:
            self._index.removed(writer, documents)
