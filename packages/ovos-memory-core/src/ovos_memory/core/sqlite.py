"""SQLite with one policy: reads from any thread, one writer, typed errors, damaged files set aside.

A database stays usable whatever happens to its file: replaced, removed, damaged, made writable again, carried
through a fork.  What a call cannot do it says with a :class:`~ovos_memory.core.errors.StoreError`; the next
one tries again.
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
from typing import Literal

from ovos_memory.core.errors import IndexDamaged, StoreDamaged, StoreLocked
from ovos_memory.core.shared import living
from ovos_memory.core.sqlite_file import DatabaseFile
from ovos_memory.core.sqlite_memory import MemoryDatabase
from ovos_memory.core.sqlite_open import Connect, Connection, connect
from ovos_memory.core.sqlite_pool import WriteTurn
from ovos_memory.core.sqlite_schema import BeforeMigrate, Migration, Schema

IN_MEMORY: Literal[":memory:"] = ":memory:"
WAIT_S = 1.0
"""How long a call waits for other processes and threads at most, unless told otherwise."""

_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[object] = []


class Database:
    """A SQLite file, or a database in memory; safe from any thread and across ``fork``.

    Reads see one consistent snapshot and never wait for writers; writes are transactions, one at a time.
    Opening happens at the first use (:func:`open_database` does it at once).  After :meth:`close` the next
    use opens it again; a database in memory begins empty then, and so does that of a forked child.

    Args:
        path: The file, or ``":memory:"``.
        plugin: Who asks, for messages.
        open_connection: Makes a connection from a URI; for tests.
    """

    def __init__(self, path: Path | str, *, plugin: str, open_connection: Connect = connect) -> None:
        self.is_in_memory = str(path) == IN_MEMORY
        self.path = Path(IN_MEMORY if self.is_in_memory else os.path.realpath(path))
        self.plugin = plugin
        self._schema = Schema(self.path, plugin)
        self._file = DatabaseFile(self.path, plugin, self._schema, open_connection)
        self._memory = MemoryDatabase(f"{plugin}: {self.path}", self._schema, open_connection)
        self._turn = WriteTurn(f"{plugin}: {self.path}")
        _databases.add(self)

    @property
    def is_read_only(self) -> bool:
        """Whether the file could only be opened for reading the last time."""
        return self._file.is_read_only

    @property
    def is_written_here(self) -> bool:
        """Whether this thread is within :meth:`write`."""
        return self._turn.is_mine

    # ------------------------------------------------------------------ reading and writing
    @contextlib.contextmanager
    def read(self, wait_s: float = WAIT_S) -> Iterator[sqlite3.Connection]:
        """Lend a connection whose statements all see the same state of the database.

        Within :meth:`write` of the same thread a file shows the state before it.

        Args:
            wait_s: Seconds to wait at most where waiting is needed: while the file is opened, or recovered.

        Raises:
            StoreError: It cannot be opened or read; sqlite3 errors of the caller's statements are translated
                too.
        """
        if self.is_in_memory:
            with self._in_memory(wait_s) as memory:
                yield memory
            return
        pool, reader = self._file.reader(time.monotonic() + wait_s)
        is_usable = False
        try:
            reader.wait_for_locks(wait_s)
            reader.execute("BEGIN")
            yield reader
            reader.execute("ROLLBACK")
            is_usable = True
        except sqlite3.Error as error:
            self._file.raise_for(error, pool)
        finally:
            pool.give_back(reader, is_usable=is_usable)

    @contextlib.contextmanager
    def write(self, wait_s: float = WAIT_S, *, is_synced: bool = True) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection: one transaction, on disk when the block ends, undone when it raises.

        Args:
            wait_s: Seconds to wait at most, other threads and processes together.
            is_synced: ``False``: for notes that may be made again.  Nobody waits for the disk; a power cut may undo
                it, with all that was written later and not synced, the end of the process does not.

        Raises:
            StoreLocked: Others were writing all the time.
            StoreError: It cannot be written.
            RuntimeError: The thread is within :meth:`write` already; hand that connection on instead.
        """
        deadline = time.monotonic() + wait_s
        with self._turn.take(wait_s):
            if self.is_in_memory:
                with self._in_memory(wait_s) as memory:
                    yield memory
                return
            with self._writer(deadline) as writer:
                writer.sync_commits(is_synced)
                writer.execute("BEGIN IMMEDIATE")
                yield writer
                writer.execute("COMMIT")

    def migrate(
        self,
        component: str,
        migrations: Sequence[Migration],
        *,
        before: BeforeMigrate | None = None,
        probes: Sequence[str] = (),
    ) -> None:
        """Bring one component's tables up to date; a file may hold the tables of several.

        The number of steps done is kept per component, so steps are only ever appended.  They run again
        whenever the file was set aside or removed and a new one begins.

        Args:
            component: Its name within the file.
            migrations: All its steps, oldest first.
            before: Called in the transaction before the first outstanding step.
            probes: Statements that cost nothing and only work on the tables that the last step leaves: a file
                whose schema is damaged is found, and set aside, before anything is written to it.

        Raises:
            StoreTooNew: The file knows more steps than we do; it stays untouched.
            StoreError: It cannot be opened or written.
        """
        self._schema.add(component, migrations, before, probes)
        try:
            self._bring_up(component)
        except IndexDamaged:
            raise
        except StoreDamaged:  # it has been set aside
            self._bring_up(component)

    def _bring_up(self, component: str) -> None:
        with self.read() as connection:
            is_outstanding = component in self._schema.outstanding(connection)
            self._schema.verify(connection)
        if is_outstanding:
            with self.write() as connection:
                self._schema.run(connection, component)

    def scrub(self, *, is_thorough: bool = False) -> None:
        """Leave no trace of what was deleted: empty the write-ahead log; rebuild the file when thorough.

        Cost: the size of the log; thorough: of the file.

        Raises:
            StoreError: Others are using the file; what they still read cannot be removed.
        """
        if self.is_in_memory:
            return
        with self._turn.take(WAIT_S):
            with self._writer(time.monotonic() + WAIT_S) as writer:
                if is_thorough:
                    writer.execute("VACUUM")
                is_busy = _empty_log(writer, time.monotonic() + WAIT_S)
            if is_busy:
                raise StoreLocked(f"{self.plugin}: {self.path} is in use; its log cannot be emptied just now")

    def close(self) -> None:
        """Close every connection; those in use are closed when they come back."""
        self._file.close()
        self._memory.close()

    # ------------------------------------------------------------------ inside
    @contextlib.contextmanager
    def _in_memory(self, wait_s: float) -> Iterator[Connection]:
        try:
            with self._memory.lend(wait_s) as connection:
                yield connection
        except sqlite3.Error as error:
            self._file.raise_for(error, None)

    @contextlib.contextmanager
    def _writer(self, deadline: float) -> Iterator[Connection]:
        """Lend the writing connection; whatever is uncommitted in the end is undone."""
        pool, lent = self._file.writer(deadline)
        writer: Connection | None = lent
        try:
            lent.wait_for_locks(deadline - time.monotonic())
            yield lent
        except sqlite3.Error as error:
            pool.give_back_writer(lent)
            writer = None
            self._file.raise_for(error, pool)
        finally:
            if writer is not None:
                pool.give_back_writer(writer)


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

    Folder and file are created for their owner only.  A damaged file is set aside as ``<name>.corrupt-<n>``,
    with one line in the log, and a new one begun; a file that can only be read is opened for reading.

    Args:
        path: The file, or ``":memory:"``.
        plugin: Who asks; names the log lines and errors.
        migrations: The steps of the caller's own tables, oldest first; those of ledgers and states are their
            own.
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


def _empty_log(writer: sqlite3.Connection, deadline: float) -> bool:
    """Empty the write-ahead log; return whether others kept that from happening."""
    while writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() >= deadline:
            return True
        time.sleep(0.01)  # it waits for readers, but not for somebody else's checkpoint
    return False


# ---------------------------------------------------------------------- fork
# SQLite keeps what it knows of locks in the process's memory: a child would believe in locks that it does not
# have, for each connection that is open at the fork.  So all are closed before, and opened by the next use.
_FORK_WAIT_S = 1.0
"""How long a fork waits for other threads' reads and writes; one that takes longer is not protected."""


_forking = threading.Lock()
"""One fork at a time: another one would take the pauses of the first for its own and end none of them."""
_paused: list[Database] = []
"""What the fork under way has paused, and has to wake; other threads may open databases meanwhile."""


def _before_fork() -> None:
    _forking.acquire()
    deadline = time.monotonic() + _FORK_WAIT_S
    _paused[:] = living(_databases)
    for database in _paused:
        database._turn.pause(deadline)
        database._memory.pause(deadline)
        database._file.pause(deadline)


def _after_fork_in_parent() -> None:
    for database in _paused:
        database._file.resume()
        database._memory.resume()
        database._turn.resume()
    _paused.clear()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking
    for database in living(_databases):
        _inherited.append((database._file.abandon(), database._memory.abandon()))
        database._turn.renew()
    _paused.clear()
    _forking = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
