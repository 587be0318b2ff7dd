"""Which schema steps a database file has seen, per component: one file may hold the tables of several."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ovos_memory.core.errors import StoreTooNew, StoreUnavailable
from ovos_memory.core.sqlite_errors import NotOurTables, meaning
from ovos_memory.core.sqlite_open import FILE_FORMAT

_TABLE = "ovos_memory_components"

Migration = Callable[[sqlite3.Connection], None]
"""One step of a schema; runs inside the write transaction that also notes it as done."""
BeforeMigrate = Callable[[sqlite3.Connection, "Path | str"], None]
"""Runs in that transaction before the first outstanding step, with the path: the moment for a backup."""


class _Component(NamedTuple):
    migrations: tuple[Migration, ...]
    before: BeforeMigrate | None
    probes: tuple[str, ...]


class Schema:
    """The components of one database and their steps.

    Args:
        path: The database, for messages and backups.
        plugin: Who asks, for messages.
    """

    def __init__(self, path: Path | str, plugin: str) -> None:
        self._path = path
        self._plugin = plugin
        self._components: dict[str, _Component] = {}

    def add(
        self,
        component: str,
        migrations: Sequence[Migration],
        before: BeforeMigrate | None = None,
        probes: Sequence[str] = (),
    ) -> None:
        """Make a component known; a later call for the same name replaces the earlier one.

        Args:
            component: Its name within the file.
            migrations: All its steps, oldest first.
            before: Called before the first outstanding step.
            probes: Statements that work when the tables are what the last step leaves, and cost nothing.
        """
        self._components[component] = _Component(tuple(migrations), before, tuple(probes))

    def outstanding(self, connection: sqlite3.Connection) -> list[str]:
        """Return the components whose tables are not up to date.

        Raises:
            StoreTooNew: The file knows more steps of one than we do.
        """
        return [name for name in list(self._components) if self._steps_left(connection, name) > 0]

    def verify(self, connection: sqlite3.Connection) -> None:
        """Look whether the tables that are noted as made are there, with the columns that they were made with.

        Damage within the schema's own text may leave a database that SQLite finds faultless.

        Raises:
            NotOurTables: They are not.
        """
        for name, component in list(self._components.items()):
            if self._steps_left(connection, name) <= 0 and not self._fits(connection, component):
                raise NotOurTables(f"the tables of {name} are not what they were made as")

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
        migrations, before, probes = self._components[component]
        if probes and self._fits(connection, self._components[component]):
            left = 0  # only the note is lost: what the steps would make is there
        elif before is not None:
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

    def _fits(self, connection: sqlite3.Connection, component: _Component) -> bool:
        try:
            for probe in component.probes:
                connection.execute(probe).fetchone()
        except sqlite3.OperationalError as error:
            if meaning(error, self._path, self._plugin) is not None:
                raise
            return False
        return True

    def _steps_left(self, connection: sqlite3.Connection, component: str) -> int:
        known, done = len(self._components[component].migrations), _steps_done(connection, component)
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
    try:
        row = connection.execute(f"SELECT steps FROM {_TABLE} WHERE name=?", (component,)).fetchone()
        return 0 if row is None else int(row[0])
    except sqlite3.OperationalError as error:
        if "no such column" not in str(error):
            raise
        raise NotOurTables(f"{_TABLE} has other columns") from error
    except (ValueError, TypeError) as error:
        raise NotOurTables(f"{_TABLE} holds no number of steps") from error
