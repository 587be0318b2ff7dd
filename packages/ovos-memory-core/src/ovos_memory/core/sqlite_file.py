"""One database file: opened, migrated, set aside when it is damaged."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import NoReturn

from ovos_utils.log import LOG

from ovos_memory.core.errors import IndexDamaged, StoreDamaged, StoreUnavailable
from ovos_memory.core.files import file_id, folder_lock, make_private_folder, set_aside
from ovos_memory.core.sqlite_errors import is_only_index, meaning
from ovos_memory.core.sqlite_open import Connect, prepare_file, refuse_newer
from ovos_memory.core.sqlite_pool import Pool
from ovos_memory.core.sqlite_schema import Schema

_COMPANIONS = ("-wal", "-shm")


class DatabaseFile:
    """A path at which a database is, or shall be.

    Args:
        path: The file.
        plugin: Who asks, for messages.
        schema: The components that it must hold.
        open_connection: Makes a connection from a URI.
    """

    def __init__(self, path: Path, plugin: str, schema: Schema, open_connection: Connect) -> None:
        self._path = path
        self._plugin = plugin
        self._schema = schema
        self._open_connection = open_connection
        self._is_reported = False

    def open(self, deadline: float) -> Pool:
        """Open the file, with all tables up to date; a damaged one is set aside and a new one begun.

        Raises:
            StoreError: It cannot be opened, migrated or set aside; locked files after ``deadline``
                (``time.monotonic``).
            OSError: Folder or file cannot be created.
        """
        try:
            pool = self._open(deadline)
        except IndexDamaged:
            raise
        except StoreDamaged:  # it has been set aside, by us or by somebody faster
            pool = self._open(deadline)
        if pool.mode == "rw":
            self._is_reported = False
        elif not self._is_reported:
            self._is_reported = True
            LOG.error("%s: %s can only be read; make file and folder writable", self._plugin, self._path)
        return pool

    def _open(self, deadline: float) -> Pool:
        make_private_folder(self._path.parent)
        pool = Pool(self._path, None, "rw", self._open_connection)
        try:
            with folder_lock(self._path.parent, is_shared=True):
                is_new = prepare_file(self._path)
                pool.identity = file_id(self._path)
                if not is_new:
                    refuse_newer(self._path, self._plugin, self._open_connection, deadline - time.monotonic())
                pool.open(deadline)
            self._migrate(pool)
        except sqlite3.Error as error:
            self.raise_for(error, pool)
        except BaseException:
            pool.retire()
            raise
        return pool

    def _migrate(self, pool: Pool) -> None:
        if pool.writer is not None:
            self._schema.run_all(pool.writer)
        elif self._schema.outstanding(pool.idle[0]):
            raise StoreUnavailable(
                f"{self._plugin}: {self._path} is of an older version and cannot be written;"
                " make file and folder writable"
            )

    def raise_for(self, error: sqlite3.Error, pool: Pool | None) -> NoReturn:
        """Raise what an error of SQLite means; a damaged file is set aside first, for the next call.

        Args:
            error: What SQLite said.
            pool: Whose connection it was; ``None`` for a database in memory.

        Raises:
            StoreError: Always, except for faults in a statement: those stay what they are.
        """
        translated = meaning(error, self._path, self._plugin)
        if translated is None:
            raise error
        if type(translated) is StoreDamaged and pool is not None and pool.mode == "rw":
            if not hasattr(error, "sqlite_errorcode") and is_only_index(self._path):
                translated = IndexDamaged(f"{self._plugin}: {self._path}: a search index in it is damaged")
            else:
                self._set_aside(pool)
        raise translated from error

    def _set_aside(self, pool: Pool) -> None:
        if os.name == "nt":  # open files cannot be renamed there
            pool.retire()
        try:
            target = set_aside(self._path, pool.identity, companions=_COMPANIONS)
            # Only now: a connection that ends folds the log into the file, which shall stay as it was found.
            pool.retire()
        except OSError as error:
            raise StoreUnavailable(
                f"{self._plugin}: {self._path} is damaged and cannot be renamed ({type(error).__name__});"
                " move it away"
            ) from error
        if target is not None:
            LOG.error(
                "%s: %s is damaged; it was set aside as %s and a new one begins",
                self._plugin,
                self._path,
                target,
            )
