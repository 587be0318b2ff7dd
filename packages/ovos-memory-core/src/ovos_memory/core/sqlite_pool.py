"""The connections of this process to one database file."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ovos_memory.core.errors import StoreLocked, StoreUnavailable
from ovos_memory.core.files import FileId, folder_lock
from ovos_memory.core.sqlite_checkpoint import Checkpoints
from ovos_memory.core.sqlite_errors import meaning
from ovos_memory.core.sqlite_open import Connect, Connection, Mode, open_for_reading, open_for_writing

KEPT_READERS = 4
"""Idle reading connections that are kept; more are opened while more threads read, and closed afterwards."""


@dataclass(eq=False)
class Pool:
    """One writing connection and a few reading ones, to one file while it is at its path.

    Attributes:
        path: The file.
        identity: What the file was when it was opened; another one may have taken its name since.
        mode: How it could be opened; only ``rw`` has a writer.
        open_connection: Makes a connection from a URI.
    """

    path: Path
    identity: FileId | None
    mode: Mode
    open_connection: Connect
    writer: Connection | None = None
    idle: list[Connection] = field(default_factory=list)
    lent: dict[Connection, int] = field(default_factory=dict)
    is_retired: bool = False
    _users: list[int] = field(default_factory=list)
    """The threads that have a connection, or are about to get one."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._checkpoints = Checkpoints(self)

    def open(self, deadline: float) -> None:
        """Open the file for writing, or for reading where it cannot be written; sets ``mode``.

        Raises:
            sqlite3.Error: Neither is possible; locked files after ``deadline`` (``time.monotonic``).
        """
        try:
            self.writer = open_for_writing(self.path, self.open_connection, deadline)
        except sqlite3.Error as error:
            if not isinstance(meaning(error, self.path, ""), StoreUnavailable):
                raise
            modes: tuple[Mode, Mode] = ("ro", "immutable")
            for mode in modes:
                with contextlib.suppress(sqlite3.Error):
                    wait_s = deadline - time.monotonic()
                    self.idle = [open_for_reading(self.path, mode, self.open_connection, wait_s)]
                    self.mode = mode
                    return
            raise

    def borrow(self, deadline: float) -> Connection | None:
        """Return a reading connection for one caller, ``None`` when the pool is retired.

        Raises:
            sqlite3.Error: None is idle and none can be opened.
        """
        with self._lock:
            if self.is_retired:
                return None
            self._users.append(threading.get_ident())
            reader = self.idle.pop() if self.idle else None
        return self._lend(reader, lambda: self._open_reader(deadline))

    def borrow_writer(self, deadline: float) -> Connection | None:
        """Return the writing connection, to a caller that has the process's turn to write.

        Raises:
            sqlite3.Error: There is none and none can be opened.
        """
        with self._lock:
            if self.is_retired:
                return None
            self._users.append(threading.get_ident())
            writer, self.writer = self.writer, None
        return self._lend(writer, lambda: open_for_writing(self.path, self.open_connection, deadline))

    def _open_reader(self, deadline: float) -> Connection:
        wait_s = deadline - time.monotonic()
        return open_for_reading(self.path, self.mode, self.open_connection, wait_s)

    def _lend(self, connection: Connection | None, make: Callable[[], Connection]) -> Connection:
        user = threading.get_ident()
        try:
            if connection is None:
                with folder_lock(self.path.parent, is_shared=True):
                    connection = make()
        except BaseException:
            self._users.remove(user)
            raise
        self.lent[connection] = user
        return connection

    def give_back(self, reader: Connection, *, is_usable: bool) -> None:
        """Take a reading connection back; ``is_usable`` says that it is in no transaction."""
        # An immutable file is never looked at again by its connection: the next reader needs a fresh one.
        is_usable = is_usable and self.mode != "immutable"
        user = self.lent.pop(reader)  # before it is idle: then it may be lent again at once
        with self._lock:
            is_kept = is_usable and not self.is_retired and len(self.idle) < KEPT_READERS
            if is_kept:
                self.idle.append(reader)
        self._end(reader, user, is_kept=is_kept)

    def give_back_writer(self, writer: Connection) -> None:
        """Take the writing connection back, undoing a transaction that is still open."""
        is_usable = True
        try:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
        except sqlite3.Error:
            is_usable = False
        user = self.lent.pop(writer)
        with self._lock:
            is_kept = is_usable and not self.is_retired
            if is_kept:
                self.writer = writer
        self._end(writer, user, is_kept=is_kept)
        self._checkpoints.committed()

    def checkpoint(self) -> None:
        """Fold the log into the file as far as that goes while others read and write; they do not wait."""
        reader, is_usable = None, False
        with contextlib.suppress(sqlite3.Error, OSError):  # whoever commits next hears of it
            reader = self.borrow(time.monotonic())
            if reader is not None:
                reader.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                is_usable = True
        if reader is not None:
            self.give_back(reader, is_usable=is_usable)

    def _end(self, connection: Connection, user: int, *, is_kept: bool) -> None:
        if not is_kept:
            _close(connection)
        self._users.remove(user)

    def wait_for_users(self, deadline: float) -> None:
        """Wait until other threads have given everything back, at most until ``deadline``."""
        me = threading.get_ident()
        while any(user != me for user in list(self._users)) and time.monotonic() < deadline:
            time.sleep(0.001)

    def retire(self) -> None:
        """Close what is idle; connections that are lent are closed when they come back."""
        with self._lock:
            self.is_retired = True
            idle, self.idle = self.idle, []
            writer, self.writer = self.writer, None
        for connection in (*idle, writer):
            if connection is not None:
                _close(connection)


class WriteTurn:
    """Lets one thread of the process write at a time.

    Args:
        name: Of what is written, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.renew()

    def renew(self) -> None:
        """Begin anew, in a forked child."""
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._is_paused = False

    @property
    def is_mine(self) -> bool:
        """Whether this thread has the turn."""
        return self._thread == threading.get_ident()

    def pause(self, deadline: float) -> None:
        """Let nobody else write until :meth:`resume`; does not insist beyond ``deadline``."""
        self._is_paused = not self.is_mine and self._lock.acquire(
            timeout=max(0.0, deadline - time.monotonic())
        )

    def resume(self) -> None:
        """End a pause."""
        if self._is_paused:
            self._is_paused = False
            self._lock.release()

    @contextlib.contextmanager
    def take(self, wait_s: float) -> Iterator[None]:
        """Hold the turn.

        Raises:
            StoreLocked: Other threads were writing all the time.
            RuntimeError: The thread has it already.
        """
        if self.is_mine:
            raise RuntimeError("write() within write() of the same thread: hand the connection on")
        if not self._lock.acquire(timeout=max(0.0, wait_s)):
            raise StoreLocked(f"{self._name} is being written by other threads; it is tried again later")
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            self._thread = None
            self._lock.release()


def _close(connection: Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        connection.close()
