"""One database file and this process's connections to it: opened, migrated, set aside when it is damaged."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from ovos_utils.log import LOG

from ovos_memory.core.errors import IndexDamaged, StoreDamaged, StoreLocked, StoreUnavailable
from ovos_memory.core.files import file_id, folder_lock, make_private_folder, set_aside
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.sqlite_errors import NotOurTables, meaning
from ovos_memory.core.sqlite_open import (
    Connect,
    Connection,
    can_be_written,
    is_only_index,
    prepare_file,
    refuse_newer,
)
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
        self._opening = ProcessLock()
        self._is_paused = False
        self._pool: Pool | None = None

    @property
    def is_read_only(self) -> bool:
        """Whether it could only be opened for reading the last time."""
        return self._pool is not None and self._pool.mode != "rw"

    # ------------------------------------------------------------------ connections
    def reader(self, deadline: float) -> tuple[Pool, Connection]:
        """Return a reading connection to the file that is at the path now, and the pool to give it back to.

        Raises:
            StoreError: It cannot be opened; locked files after ``deadline`` (``time.monotonic``).
        """
        return self._lend(self._current, Pool.borrow, deadline)

    def writer(self, deadline: float) -> tuple[Pool, Connection]:
        """Return the writing connection, likewise.

        Raises:
            StoreError: It cannot be opened for writing.
        """
        return self._lend(self._writable, Pool.borrow_writer, deadline)

    def _lend(
        self,
        choose: Callable[[float], Pool],
        borrow: Callable[[Pool, float], Connection | None],
        deadline: float,
    ) -> tuple[Pool, Connection]:
        while True:
            pool = choose(deadline)
            try:
                connection = borrow(pool, deadline)
            except sqlite3.Error as error:
                self.raise_for(error, pool)
            if connection is not None:  # else it was retired this moment
                return pool, connection

    def _current(self, deadline: float) -> Pool:
        try:
            pool = self._pool
            if pool is not None and self._is_current(pool):
                return pool
            with self._opening_lock(deadline):
                pool = self._pool
                if pool is None or not self._is_current(pool):
                    if pool is not None:
                        pool.retire()
                    pool = self._pool = self._open_anew(deadline)
                return pool
        except OSError as error:
            raise StoreUnavailable(
                f"{self._plugin}: {self._path} cannot be created or opened ({type(error).__name__});"
                " check folder and permissions, or name another path"
            ) from error

    def _is_current(self, pool: Pool) -> bool:
        return not pool.is_retired and pool.identity == file_id(self._path)

    def _writable(self, deadline: float) -> Pool:
        pool = self._current(deadline)
        if pool.mode != "rw" and can_be_written(self._path):  # by now
            pool.retire()
            pool = self._current(deadline)
        if pool.mode != "rw":
            raise StoreUnavailable(
                f"{self._plugin}: {self._path} can only be read; make file and folder writable"
            )
        return pool

    @contextlib.contextmanager
    def _opening_lock(self, deadline: float) -> Iterator[None]:
        if not self._opening.acquire(max(0.0, deadline - time.monotonic())):
            raise StoreLocked(
                f"{self._plugin}: {self._path} is being opened by another thread; it is tried again later"
            )
        try:
            yield
        finally:
            self._opening.release()

    def close(self) -> None:
        """Close every connection; those in use are closed when they come back."""
        with self._opening:
            pool, self._pool = self._pool, None
            if pool is not None:
                pool.retire()

    # ------------------------------------------------------------------ fork
    def pause(self, deadline: float) -> None:
        """Close every connection, and let nobody open one until :meth:`resume`; insists for a while."""
        self._is_paused = self._opening.acquire(max(0.0, deadline - time.monotonic()))
        pool = self._pool
        if pool is not None:
            pool.retire()
            pool.wait_for_users(deadline)

    def resume(self) -> None:
        """End a pause."""
        if self._is_paused:
            self._is_paused = False
            self._opening.release()

    def abandon(self) -> Pool | None:
        """Begin anew without closing anything, in a forked child."""
        pool, self._pool = self._pool, None
        self._is_paused = False
        return pool

    # ------------------------------------------------------------------ opening
    def _open_anew(self, deadline: float) -> Pool:
        """Open the file, with all tables up to date; a damaged one is set aside and a new one begun."""
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
        except (
            UnicodeDecodeError
        ) as error:  # of Python's module, which reads SQLite's message about a damaged name
            self.raise_for(NotOurTables(str(error)), pool)
        except BaseException:
            pool.retire()
            raise
        return pool

    def _migrate(self, pool: Pool) -> None:
        if pool.writer is not None:
            self._schema.run_all(pool.writer)
            self._schema.verify(pool.writer)
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
