"""The connections of this process to one database file."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path

from ovos_memory.core.errors import StoreUnavailable
from ovos_memory.core.files import FileId
from ovos_memory.core.sqlite_errors import meaning
from ovos_memory.core.sqlite_open import Connect, Connection, Mode, open_for_reading, open_for_writing

KEPT_READERS = 4
"""Idle reading connections that are kept; more are opened while more threads read, and closed afterwards."""


@dataclass(eq=False)
class Pool:
    """One writing connection and a few reading ones, from opening a file until it is closed, replaced or set aside.

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
    lent: set[Connection] = field(default_factory=set)
    is_retired: bool = False

    @classmethod
    def open(cls, path: Path, identity: FileId | None, open_connection: Connect, *, deadline: float) -> Pool:
        """Open a file for writing, or for reading where it cannot be written.

        Raises:
            sqlite3.Error: Neither is possible; locked files after ``deadline`` (``time.monotonic``).
        """
        try:
            writer = open_for_writing(path, open_connection, deadline)
            return cls(path, identity, "rw", open_connection, writer=writer)
        except sqlite3.Error as error:
            if not isinstance(meaning(error, path, ""), StoreUnavailable):
                raise
            modes: tuple[Mode, Mode] = ("ro", "immutable")
            for mode in modes:
                with contextlib.suppress(sqlite3.Error):
                    reader = open_for_reading(path, mode, open_connection, deadline - time.monotonic())
                    return cls(path, identity, mode, open_connection, idle=[reader])
            raise

    def borrow(self, deadline: float) -> Connection:
        """Return a reading connection for one caller.

        Raises:
            sqlite3.Error: None is idle and none can be opened.
        """
        try:
            reader = self.idle.pop()
        except IndexError:
            reader = open_for_reading(self.path, self.mode, self.open_connection, deadline - time.monotonic())
        self.lent.add(reader)
        return reader

    def give_back(self, reader: Connection, *, is_usable: bool) -> None:
        """Take a reading connection back; ``is_usable`` says that it is in no transaction."""
        # An immutable file is never looked at again by its connection: the next reader needs a fresh one.
        is_kept = (
            is_usable and not self.is_retired and self.mode != "immutable" and len(self.idle) < KEPT_READERS
        )
        if is_kept:
            self.idle.append(reader)
        self.lent.discard(reader)
        if not is_kept:
            _close(reader)
        elif self.is_retired:  # meanwhile
            self.retire()

    def writable(self, deadline: float) -> Connection:
        """Return the writing connection.

        Raises:
            sqlite3.Error: There is none and none can be opened.
        """
        if self.writer is None:
            self.writer = open_for_writing(self.path, self.open_connection, deadline)
        return self.writer

    def roll_back(self) -> None:
        """Undo the writer's transaction; a writer that cannot even do that is closed and opened anew next time."""
        if self.writer is None:
            return
        try:
            if self.writer.in_transaction:
                self.writer.execute("ROLLBACK")
        except sqlite3.Error:
            _close(self.writer)
            self.writer = None

    def retire(self) -> None:
        """Close what is idle; readers under way are closed when they come back."""
        self.is_retired = True
        while self.idle:
            _close(self.idle.pop())
        writer, self.writer = self.writer, None
        if writer is not None:
            _close(writer)


def _close(connection: Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        connection.close()
