"""What a ledger holds beside documents: failures that other processes should see, and notes."""

from __future__ import annotations

import sqlite3
from typing import Any

from ovos_memory.core.ledger_codec import storable
from ovos_memory.core.ledger_tables import LedgerTables


class LedgerNotes(LedgerTables):
    """The notes of a ledger; methods raise :class:`~ovos_memory.core.errors.StoreError` on I/O trouble."""

    def note_failure(self, operation: str, type_name: str, at: float) -> None:
        """Count a failure where other processes see it.

        Args:
            operation: What failed.
            type_name: The exception's type; never its text, which may quote what somebody said.
            at: Epoch seconds.
        """
        with self.database.write(0.0) as writer:
            writer.execute(
                f"INSERT INTO {self.prefix}failures VALUES (?, 1, ?, ?) ON CONFLICT (operation) DO UPDATE SET"
                " failures = failures + 1, last_error = excluded.last_error, last_at = excluded.last_at",
                (operation, type_name, at),
            )

    def failures(self) -> dict[str, dict[str, Any]]:
        """Return the counted failures: operation -> ``failures``, ``last_error`` (a type), ``last_at``."""
        with self.database.read() as reader:
            rows = reader.execute(
                f"SELECT operation, failures, last_error, last_at FROM {self.prefix}failures"
            )
            return {row[0]: {"failures": row[1], "last_error": row[2], "last_at": row[3]} for row in rows}

    def meta_get(self, key: str, *, connection: sqlite3.Connection | None = None) -> str | None:
        """Return a note of the ledger's user, ``None`` when there is none."""
        with self._reading(connection) as reader:
            row = reader.execute(f"SELECT value FROM {self.prefix}meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def meta_set(self, key: str, value: str, *, connection: sqlite3.Connection | None = None) -> None:
        """Keep a note."""
        with self._writing(connection) as writer:
            writer.execute(
                f"REPLACE INTO {self.prefix}meta (key, value) VALUES (?, ?)", (key, storable(value))
            )
