"""SQLite with one policy: consistent reads from any thread, one writer, typed errors, damaged files set aside.

A database stays usable whatever happens to its file: replaced, removed, damaged, made writable again, carried
through a fork.  What a call cannot do it says with a :class:`~ovos_memory.core.errors.StoreError`; the next one
tries again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NoReturn

from ovos_utils.log import LOG

from ovos_memory.core.errors import IndexDamaged, StoreDamaged, StoreLocked, StoreUnavailable
from ovos_memory.core.files import FileId, file_id, set_aside
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.sqlite_errors import is_only_index, meaning
from ovos_memory.core.sqlite_open import Connect, Connection, connect, prepare_file, refuse_newer
from ovos_memory.core.sqlite_pool import Pool
from ovos_memory.core.sqlite_schema import BeforeMigrate, Migration, Schema

IN_MEMORY: Literal[":memory:"] = ":memory:"
WAIT_S = 1.0
"""How long a call waits for other processes and threads at most, unless told otherwise."""
_COMPANIONS = ("-wal", "-shm")

_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[object] = []


class Database:
    """A SQLite file, or a database in memory; safe from any thread and across ``fork``.

    Reads see one consistent snapshot and never wait for writers; writes are transactions, one at a time.  Opening
    happens at the first use (:func:`open_database` does it at once).  After :meth:`close` the next use opens it
    again; a database in memory begins empty then, and so does that of a forked child.

    Args:
        path: The file, or ``":memory:"``.
        plugin: Who asks, for messages.
        open_connection: Makes a connection from a URI; for tests.
    """

    def __init__(self, path: Path | str, *, plugin: str, open_connection: Connect = connect) -> None:
        self.is_in_memory = str(path) == IN_MEMORY
        self.path = Path(IN_MEMORY if self.is_in_memory else os.path.realpath(path))
        self.plugin = plugin
        self._open_connection = open_connection
        self._schema = Schema(self.path, plugin)
        self._pool: Pool | None = None
        self._memory_connection: Connection | None = None
        self._opening = ProcessLock()
        self._writing = ProcessLock()
        self._writing_thread: int | None = None
        _databases.add(self)

    @property
    def is_read_only(self) -> bool:
        """Whether the file could only be opened for reading the last time."""
        return self._pool is not None and self._pool.mode != "rw"

    # ------------------------------------------------------------------ reading and writing
    @contextlib.contextmanager
    def read(self, wait_s: float = WAIT_S) -> Iterator[sqlite3.Connection]:
        """Lend a connection whose statements all see the same state of the database.

        Within :meth:`write` of the same thread a file shows the state before it.

        Args:
            wait_s: Seconds to wait at most where waiting is needed: while the file is opened, or recovered.

        Raises:
            StoreError: It cannot be opened or read; sqlite3 errors of the caller's statements are translated too.
        """
        if self.is_in_memory:
            with self._memory(wait_s) as memory:
                yield memory
            return
        pool, reader = self._borrow(time.monotonic() + wait_s)
        is_usable = False
        try:
            reader.wait_for_locks(wait_s)
            reader.execute("BEGIN")
            yield reader
            reader.execute("ROLLBACK")
            is_usable = True
        except sqlite3.Error as error:
            self._raise(error, pool)
        finally:
            pool.give_back(reader, is_usable=is_usable)

    @contextlib.contextmanager
    def write(self, wait_s: float = WAIT_S) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection: one transaction, on disk when the block ends, undone when it raises.

        Args:
            wait_s: Seconds to wait at most, other threads and processes together.

        Raises:
            StoreLocked: Others were writing all the time.
            StoreError: It cannot be written.
            RuntimeError: The thread is within :meth:`write` already; hand that connection on instead.
        """
        deadline = time.monotonic() + wait_s
        with self._write_lock(wait_s):
            if self.is_in_memory:
                with self._memory(wait_s) as memory:
                    yield memory
                return
            pool = self._writable_pool(deadline)
            try:
                writer = pool.writable(deadline)
                writer.wait_for_locks(deadline - time.monotonic())
                writer.execute("BEGIN IMMEDIATE")
                yield writer
                writer.execute("COMMIT")
            except BaseException as error:
                pool.roll_back()
                if isinstance(error, sqlite3.Error):
                    self._raise(error, pool)
                raise

    def migrate(
        self, component: str, migrations: Sequence[Migration], *, before: BeforeMigrate | None = None
    ) -> None:
        """Bring one component's tables up to date; a file may hold the tables of several.

        The number of steps done is kept per component, so steps are only ever appended.  They run again whenever
        the file was set aside or removed and a new one begins.

        Args:
            component: Its name within the file.
            migrations: All its steps, oldest first.
            before: Called in the transaction before the first outstanding step.

        Raises:
            StoreTooNew: The file knows more steps than we do; it stays untouched.
            StoreError: It cannot be opened or written.
        """
        self._schema.add(component, migrations, before)
        with self.read() as connection:
            is_outstanding = component in self._schema.outstanding(connection)
        if is_outstanding:
            with self.write() as connection:
                self._schema.run(connection, component)

    def scrub(self, *, is_thorough: bool = False) -> None:
        """Leave no trace of what was deleted: empty the write-ahead log, and rebuild the file when ``is_thorough``.

        Cost: the size of the log; thorough: the size of the file.

        Raises:
            StoreError: Others are using the file; what they still read cannot be removed.
        """
        if self.is_in_memory:
            return
        with self._write_lock(WAIT_S):
            deadline = time.monotonic() + WAIT_S
            pool = self._writable_pool(deadline)
            try:
                writer = pool.writable(deadline)
                writer.wait_for_locks(deadline - time.monotonic())
                if is_thorough:
                    writer.execute("VACUUM")
                is_busy = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.Error as error:
                self._raise(error, pool)
            if is_busy:
                raise StoreLocked(f"{self.plugin}: {self.path} is in use; its log cannot be emptied just now")

    def close(self) -> None:
        """Close every connection; readers under way finish first."""
        with self._opening:
            pool, self._pool = self._pool, None
            if pool is not None:
                pool.retire()
            memory, self._memory_connection = self._memory_connection, None
            if memory is not None:
                memory.close()

    # ------------------------------------------------------------------ inside
    @contextlib.contextmanager
    def _write_lock(self, wait_s: float) -> Iterator[None]:
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("write() within write() of the same thread: hand the connection on")
        if not self._writing.acquire(max(0.0, wait_s)):
            raise StoreLocked(
                f"{self.plugin}: {self.path} is being written by other threads; it is tried again later"
            )
        self._writing_thread = threading.get_ident()
        try:
            yield
        finally:
            self._writing_thread = None
            self._writing.release()

    @contextlib.contextmanager
    def _memory(self, wait_s: float) -> Iterator[Connection]:
        """Lend the one connection of a database in memory, within a transaction."""
        with self._opening_lock(time.monotonic() + wait_s):
            connection = self._memory_connection
            if connection is None:
                connection = self._memory_connection = self._open_connection("file::memory:")
                self._migrate_new(connection)
            if connection.in_transaction:  # read() within write()
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    self._raise(error, None)
                raise

    @contextlib.contextmanager
    def _opening_lock(self, deadline: float) -> Iterator[None]:
        if not self._opening.acquire(max(0.0, deadline - time.monotonic())):
            raise StoreLocked(
                f"{self.plugin}: {self.path} is in use by another thread; it is tried again later"
            )
        try:
            yield
        finally:
            self._opening.release()

    def _borrow(self, deadline: float) -> tuple[Pool, Connection]:
        pool = self._current_pool(deadline)
        try:
            return pool, pool.borrow(deadline)
        except sqlite3.Error as error:
            self._raise(error, pool)

    def _writable_pool(self, deadline: float) -> Pool:
        pool = self._current_pool(deadline)
        if pool.mode != "rw":
            with self._opening_lock(deadline):  # perhaps it can be written by now
                pool.retire()
                self._pool = None
                pool = self._current_pool(deadline)
        if pool.mode != "rw":
            raise StoreUnavailable(
                f"{self.plugin}: {self.path} can only be read; make file and folder writable"
            )
        return pool

    def _current_pool(self, deadline: float) -> Pool:
        """Return the connections to the file that is at the path now, opening it when there are none."""
        try:
            pool = self._pool
            if pool is not None and pool.identity == file_id(self.path):
                return pool
            with self._opening_lock(deadline):
                pool = self._pool
                if pool is None or pool.identity != file_id(self.path):
                    if pool is not None:
                        pool.retire()
                    pool = self._pool = self._open(deadline)
                return pool
        except OSError as error:
            raise StoreUnavailable(
                f"{self.plugin}: {self.path} cannot be created or opened ({type(error).__name__});"
                " check folder and permissions, or name another path"
            ) from error

    def _open(self, deadline: float) -> Pool:
        """Open the file; a damaged one is set aside and a new one begun."""
        for may_begin_anew in (True, False):
            identity: FileId | None = None
            try:
                if not prepare_file(self.path):
                    refuse_newer(self.path, self.plugin, self._open_connection, deadline - time.monotonic())
                identity = file_id(self.path)
                pool = Pool.open(self.path, identity, self._open_connection, deadline=deadline)
                if pool.mode != "rw":
                    LOG.error(
                        "%s: %s can only be read; make file and folder writable", self.plugin, self.path
                    )
                self._migrate_new(pool.writer or pool.idle[0], is_writable=pool.mode == "rw")
                return pool
            except sqlite3.Error as error:
                try:
                    self._raise(error, Pool(self.path, identity, "rw", self._open_connection))
                except StoreDamaged as damage:
                    if not may_begin_anew or isinstance(damage, IndexDamaged):
                        raise
        raise AssertionError("unreachable")

    def _migrate_new(self, connection: Connection, *, is_writable: bool = True) -> None:
        """Run what is outstanding on a connection that nobody else has seen yet."""
        for component in self._schema.outstanding(connection):
            if not is_writable:
                raise StoreUnavailable(
                    f"{self.plugin}: {self.path} is of an older version and cannot be written"
                )
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._schema.run(connection, component)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _raise(self, error: sqlite3.Error, pool: Pool | None) -> NoReturn:
        """Raise what an error of SQLite means; a damaged file is set aside first, so that the next call works."""
        translated = meaning(error, self.path, self.plugin)
        if translated is None:
            raise error
        if type(translated) is StoreDamaged and pool is not None and pool.mode == "rw":
            if not hasattr(error, "sqlite_errorcode") and is_only_index(self.path):
                raise IndexDamaged(
                    f"{self.plugin}: {self.path}: a search index in it is damaged; rebuild it"
                ) from error
            self._set_aside(pool)
        raise translated from error

    def _set_aside(self, pool: Pool) -> None:
        with self._opening:
            if self._pool is pool:
                self._pool = None
            pool.retire()
            try:
                target = set_aside(self.path, pool.identity, companions=_COMPANIONS)
            except OSError as error:
                raise StoreUnavailable(
                    f"{self.plugin}: {self.path} is damaged and cannot be renamed ({type(error).__name__});"
                    " move it away"
                ) from error
        if target is not None:
            LOG.error(
                "%s: %s is damaged; it was set aside as %s and a new one begins",
                self.plugin,
                self.path,
                target,
            )


def open_database(
    path: Path | str,
    *,
    plugin: str,
    migrations: Sequence[Migration] = (),
    component: str | None = None,
    before_migrate: BeforeMigrate | None = None,
    open_connection: Connect = connect,
) -> Database:
    """Open a database and bring its tables up to date.

    Folder and file are created for their owner only.  A damaged file is set aside as ``<name>.corrupt-<n>``, with
    one line in the log, and a new one begun; a file that can only be read is opened for reading.

    Args:
        path: The file, or ``":memory:"``.
        plugin: Who asks; names the log lines and errors.
        migrations: The steps of the caller's own tables, oldest first; those of ledgers and states are their own.
        component: Under which name the steps are counted; default: ``plugin``.
        before_migrate: See :meth:`Database.migrate`.
        open_connection: Makes a connection from a URI; for tests.

    Raises:
        StoreLocked: Another process held it for a second.
        StoreTooNew: A newer version wrote it; not a byte was changed.
        StoreUnavailable: It can be neither created nor read.
    """
    database = Database(path, plugin=plugin, open_connection=open_connection)
    database.migrate(component or plugin, migrations, before=before_migrate)
    return database


def _after_fork_in_child() -> None:
    """Never touch the parent's connections: not even by closing them, which would drop its files' logs."""
    for database in list(_databases):
        _inherited.append((database._pool, database._memory_connection))
        database._pool = database._memory_connection = None
        database._writing_thread = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
