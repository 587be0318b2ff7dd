"""The tables of a ledger, and the statements on them, under one prefix of one database."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from ovos_memory.core.sqlite import WAIT_S, Database

COLUMNS = "d.row, s.id, d.n, d.question, d.answer, d.messages, d.text, d.metadata, d.created_at, d.change"
"""What makes a document, of a document ``d`` and its session ``s``."""

_TABLES = """
CREATE TABLE {p}clock (
  one INTEGER PRIMARY KEY CHECK (one = 1), change INTEGER NOT NULL, documents INTEGER NOT NULL);
INSERT INTO {p}clock VALUES (1, 0, 0);
CREATE TABLE {p}sessions (
  key INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, next_n INTEGER NOT NULL, documents INTEGER NOT NULL);
CREATE TABLE {p}counters (hash BLOB PRIMARY KEY, next_n INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE {p}documents (
  row INTEGER PRIMARY KEY, session INTEGER NOT NULL, n INTEGER NOT NULL,
  question TEXT NOT NULL, answer TEXT NOT NULL, messages TEXT, text TEXT, metadata TEXT,
  created_at REAL NOT NULL, change INTEGER NOT NULL UNIQUE, UNIQUE (session, n));
CREATE TABLE {p}consumers (
  key INTEGER PRIMARY KEY, consumer TEXT NOT NULL, fingerprint TEXT NOT NULL, frontier INTEGER NOT NULL,
  UNIQUE (consumer, fingerprint));
CREATE TABLE {p}work (
  consumer INTEGER NOT NULL, change INTEGER NOT NULL, state INTEGER NOT NULL, failures INTEGER NOT NULL,
  losses INTEGER NOT NULL, owner TEXT, leased_at REAL NOT NULL, lease_s REAL NOT NULL,
  PRIMARY KEY (consumer, change)) WITHOUT ROWID;
CREATE INDEX {p}work_by_state ON {p}work (consumer, state, change);
CREATE TABLE {p}failures (
  operation TEXT PRIMARY KEY, failures INTEGER NOT NULL, last_error TEXT NOT NULL, last_at REAL NOT NULL)
  WITHOUT ROWID;
CREATE TABLE {p}meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID
"""

_PROBES = (
    "SELECT one, change, documents FROM {p}clock LIMIT 0",
    "SELECT key, id, next_n, documents FROM {p}sessions LIMIT 0",
    "SELECT hash, next_n FROM {p}counters LIMIT 0",
    "SELECT row, session, n, question, answer, messages, text, metadata, created_at, change FROM {p}documents LIMIT 0",
    "SELECT key, consumer, fingerprint, frontier FROM {p}consumers LIMIT 0",
    "SELECT consumer, change, state, failures, losses, owner, leased_at, lease_s FROM {p}work LIMIT 0",
    "SELECT operation, failures, last_error, last_at FROM {p}failures LIMIT 0",
    "SELECT key, value FROM {p}meta LIMIT 0",
)


class LedgerTables:
    """Creates the tables and lends connections; the base of the ledger's parts.

    ``clock.change`` numbers every change of the ledger, and never one number twice: a document's ``row`` and
    a session's ``key`` are the number of the change that created them.

    Args:
        database: Where they live; several ledgers may share it.
        prefix: Of every table name; letters, digits and underscores.

    Raises:
        ValueError: The prefix cannot be part of a name.
        StoreError: The database cannot be opened, or the tables not be created.
    """

    def __init__(self, database: Database, *, prefix: str = "") -> None:
        if not re.fullmatch(r"(?:[A-Za-z_][A-Za-z0-9_]*)?", prefix, re.ASCII):
            raise ValueError(f"prefix must hold letters, digits and underscores only, got {prefix!r}")
        self.database = database
        self.prefix = prefix
        self.documents_table = f"{prefix}documents"
        self.sessions_table = f"{prefix}sessions"
        self._select = (
            f"SELECT {COLUMNS} FROM {prefix}documents d JOIN {prefix}sessions s ON s.key = d.session"
        )
        probes = [probe.format(p=prefix) for probe in _PROBES]
        database.migrate(f"ledger:{prefix}", [self._create], probes=probes)

    def _create(self, connection: sqlite3.Connection) -> None:
        for statement in _TABLES.format(p=self.prefix).split(";\n"):
            connection.execute(statement)

    @contextmanager
    def _reading(self, connection: sqlite3.Connection | None) -> Iterator[sqlite3.Connection]:
        """Lend the caller's connection, or one with a snapshot of its own."""
        if connection is not None:
            yield connection
            return
        with self.database.read() as own:
            yield own

    @contextmanager
    def _writing(
        self, connection: sqlite3.Connection | None, wait_s: float = WAIT_S, *, is_synced: bool = True
    ) -> Iterator[sqlite3.Connection]:
        """Lend the caller's connection, which is within a write transaction, or one with its own."""
        if connection is not None:
            yield connection
            return
        with self.database.write(wait_s, is_synced=is_synced) as own:
            yield own

    def _next_change(self, connection: sqlite3.Connection, documents: int = 0) -> int:
        """Draw the next number of the ledger's clock, and count ``documents`` more or fewer."""
        p = self.prefix
        connection.execute(
            f"UPDATE {p}clock SET change = change + 1, documents = documents + ?", (documents,)
        )
        return int(connection.execute(f"SELECT change FROM {p}clock").fetchone()[0])
