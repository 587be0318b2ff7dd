"""Records in SQLite, a row per session: any number of sessions, the same cost for each."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ovos_utils.log import LOG

from ovos_memory.core.files import remove_copies
from ovos_memory.core.ledger_codec import dump_json, session_id_of, session_key
from ovos_memory.core.sqlite import Database
from ovos_memory.core.sqlite_open import backup_database_1x
from ovos_memory.core.state_types import WAIT_S, Change, Convert1x, Record

_PAGE = 256
_OLD_TABLE = "sessions"


class SqliteState:
    """See :class:`~ovos_memory.core.state_types.DurableState`; safe from any thread and any process.

    A table ``sessions`` that 1.x left in the file is copied (the whole file, ``<name>.1x.bak``), converted
    and dropped when the store is opened.

    Args:
        path: The file, or a database that is used for other things as well.
        kind: What the records are; names the table.
        plugin: Who asks, for messages.
        convert_1x: Converts what 1.x left; columns that hold JSON are given as what they say.

    Raises:
        StoreError: The database cannot be opened, or the table not be created.
        ValueError: The kind cannot be part of a name.
    """

    def __init__(
        self, path: Path | str | Database, *, kind: str, plugin: str, convert_1x: Convert1x | None = None
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_]+", kind, re.ASCII):
            raise ValueError(f"kind must hold letters, digits and underscores only, got {kind!r}")
        self.database = path if isinstance(path, Database) else Database(path, plugin=plugin)
        self._table = f"state_{kind}"
        self._plugin = plugin
        self._convert_1x = convert_1x
        self._is_told = False
        probes = [f"SELECT session, record FROM {self._table} LIMIT 0"]
        self.database.migrate(self._table, [self._create], before=self._keep_copy, probes=probes)

    # ------------------------------------------------------------------ the store
    def load(self, session_id: str, *, wait_s: float = WAIT_S) -> Record | None:
        """Return a private copy of a session's record.  Flat cost."""
        with self.database.read(wait_s) as reader:
            return self._load(reader, session_key(session_id))

    def update(self, session_id: str, change: Change) -> Record | None:
        """Replace a session's record by what ``change`` makes of it, durably.  Flat cost."""
        return self.apply([(session_id, change)])[0]

    def apply(self, changes: Sequence[tuple[str, Change]], *, wait_s: float = WAIT_S) -> list[Record | None]:
        """Make many changes, in order, in one transaction: all or none.

        Raises:
            StoreError: The database cannot be written; nothing has changed.
        """
        with self.database.write(wait_s) as writer:
            return [self._change(writer, session_key(session_id), change) for session_id, change in changes]

    def sessions(self) -> list[str]:
        """Return the sessions that have a record."""
        with self.database.read() as reader:
            rows = reader.execute(f"SELECT session FROM {self._table} ORDER BY rowid").fetchall()
        return [session_id_of(row[0]) for row in rows]

    def items(self) -> Iterator[tuple[str, Record]]:
        """Yield every session with a private copy of its record; others may write meanwhile."""
        last = -1
        while True:
            with self.database.read() as reader:
                rows = reader.execute(
                    f"SELECT rowid, session, record FROM {self._table}"
                    f" WHERE rowid > ? ORDER BY rowid LIMIT {_PAGE}",
                    (last,),
                ).fetchall()
            for _, session, record in rows:
                found = self._read(record)
                if found is not None:
                    yield session_id_of(session), found
            if len(rows) < _PAGE:
                return
            last = rows[-1][0]

    def scrub(self) -> list[Path]:
        """Rebuild the file without what was removed, empty its log, remove set-aside files and copies.

        Raises:
            StoreError: Others are reading the file just now.
        """
        if self.database.is_in_memory:
            return []
        self.database.scrub(is_thorough=True)
        return remove_copies(self.database.path)

    def close(self) -> None:
        """Close the database's connections; the next use opens them again."""
        self.database.close()

    # ------------------------------------------------------------------ inside
    def _load(self, reader: sqlite3.Connection, key: bytes) -> Record | None:
        row = reader.execute(f"SELECT record FROM {self._table} WHERE session = ?", (key,)).fetchone()
        return None if row is None else self._read(row[0])

    def _read(self, stored: str | bytes) -> Record | None:
        """Return a record; one that is damaged counts as absent, or its session could never be written again."""
        try:
            found = json.loads(stored)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return cast(Record, found)
        if not self._is_told:
            self._is_told = True
            LOG.error(
                "%s: a record in %s is damaged and left out; its session begins anew",
                self._plugin,
                self.database.path,
            )
        return None

    def _change(self, writer: sqlite3.Connection, key: bytes, change: Change) -> Record | None:
        record = change(self._load(writer, key))
        if record is None:
            writer.execute(f"DELETE FROM {self._table} WHERE session = ?", (key,))
        else:
            self._store(writer, key, record)
        return record

    def _store(self, writer: sqlite3.Connection, key: bytes, record: Record) -> None:
        writer.execute(
            f"INSERT INTO {self._table} (session, record) VALUES (?, ?)"
            " ON CONFLICT (session) DO UPDATE SET record = excluded.record WHERE record <> excluded.record",
            (key, dump_json(record)),
        )

    # ------------------------------------------------------------------ what 1.x left
    def _create(self, writer: sqlite3.Connection) -> None:
        writer.execute(f"CREATE TABLE {self._table} (session BLOB NOT NULL UNIQUE, record TEXT NOT NULL)")
        records = self._left_by_1x(writer)
        if records is not None:
            for session_id, record in records.items():
                self._store(writer, session_key(session_id), record)
            writer.execute(f"DROP TABLE {_OLD_TABLE}")

    def _keep_copy(self, writer: sqlite3.Connection, path: Path | str) -> None:
        if self._left_by_1x(writer) is not None and not self.database.is_in_memory:
            copy = backup_database_1x(Path(path))
            LOG.info("%s: %s is taken over from version 1; a copy is %s", self._plugin, path, copy)

    def _left_by_1x(self, reader: sqlite3.Connection) -> Mapping[str, Record] | None:
        columns = [row[1] for row in reader.execute(f"PRAGMA table_info({_OLD_TABLE})")]
        if self._convert_1x is None or "session_id" not in columns:
            return None
        raw = {}
        for row in reader.execute(f"SELECT * FROM {_OLD_TABLE}"):
            values = dict(zip(columns, row, strict=True))
            raw[str(values.pop("session_id"))] = {name: _parsed(value) for name, value in values.items()}
        return self._convert_1x(raw)


def _parsed(value: Any) -> Any:
    """Return what a column says: 1.x kept lists as JSON texts."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
