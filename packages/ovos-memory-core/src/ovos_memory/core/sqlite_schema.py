"""Which schema steps a database file has seen, per component: one file may hold the tables of several."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from ovos_memory.core.errors import StoreTooNew, StoreUnavailable
from ovos_memory.core.sqlite_errors import meaning
from ovos_memory.core.sqlite_open import FILE_FORMAT

_TABLE = "ovos_memory_components"

Migration = Callable[[sqlite3.Connection], None]
"""One step of a schema; runs inside the write transaction that also notes it as done."""
BeforeMigrate = Callable[[sqlite3.Connection, "Path | str"], None]
"""Runs in that transaction before the first outstanding step, with the path: the moment for a backup."""


class Schema:
    """The components of one database and their steps.

    Args:
        path: The database, for messages and backups.
        plugin: Who asks, for messages.
    """

    def __init__(self, path: Path | str, plugin: str) -> None:
        self._path = path
        self._plugin = plugin
        self._components: dict[str, tuple[tuple[Migration, ...], BeforeMigrate | None]] = {}

    def add(self, component: str, migrations: Sequence[Migration], before: BeforeMigrate | None) -> None:
        """Make a component known; a later call for the same name replaces the earlier one."""
        self._components[component] = (tuple(migrations), before)

    def outstanding(self, connection: sqlite3.Connection) -> list[str]:
        """Return the components whose tables are not up to date.

        Raises:
            StoreTooNew: The file knows more steps of one than we do.
        """
        return [name for name in list(self._components) if self._steps_left(connection, name) > 0]

    def run_all(self, connection: sqlite3.Connection) -> None:
        """Run what is outstanding, on a connection that nobody else has seen yet.

        Raises:
            StoreTooNew: See :meth:`outstanding`.
            StoreUnavailable: See :meth:`run`.
        """
        for component in self.outstanding(connection):
            connection.execute("BEGIN IMMEDIATE")
            try:
                self.run(connection, component)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def run(self, connection: sqlite3.Connection, component: str) -> None:
        """Run the outstanding steps of a component; the connection is within a write transaction.

        Raises:
            StoreTooNew: See :meth:`outstanding`.
            StoreUnavailable: Tables of another kind are in the way.
        """
        left = self._steps_left(connection, component)
        if left <= 0:
            return  # another process was faster
        migrations, before = self._components[component]
        if before is not None:
            before(connection, self._path)
        try:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {_TABLE}"
                " (name TEXT PRIMARY KEY, steps INTEGER NOT NULL) WITHOUT ROWID"
            )
            for migration in migrations[len(migrations) - left :]:
                migration(connection)
            connection.execute(
                f"REPLACE INTO {_TABLE} (name, steps) VALUES (?, ?)", (component, len(migrations))
            )
            connection.execute(f"PRAGMA user_version={FILE_FORMAT}")
        except sqlite3.OperationalError as error:
            if meaning(error, self._path, self._plugin) is not None:
                raise
            raise StoreUnavailable(
                f"{self._plugin}: {self._path} holds other tables where those of {component} belong;"
                " name another path"
            ) from error

    def _steps_left(self, connection: sqlite3.Connection, component: str) -> int:
        known, done = len(self._components[component][0]), _steps_done(connection, component)
        if done > known:
            raise StoreTooNew(
                f"{self._plugin}: {self._path} was written by a newer version ({component} {done},"
                f" known up to {known}); it stays as it is: update the package or name another path"
            )
        return known - done


def _steps_done(connection: sqlite3.Connection, component: str) -> int:
    if (
        connection.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (_TABLE,)).fetchone()
        is None
    ):
        return 0
    row = connection.execute(f"SELECT steps FROM {_TABLE} WHERE name=?", (component,)).fetchone()
    return 0 if row is None else int(row[0])
