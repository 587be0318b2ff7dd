"""A database that lives in memory: one connection, one thread at a time."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator

from ovos_memory.core.errors import StoreLocked
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.sqlite_open import Connect, Connection
from ovos_memory.core.sqlite_schema import Schema


class MemoryDatabase:
    """The database behind the path ``":memory:"``; created at the first use, again after :meth:`close`.

    Args:
        name: For messages.
        schema: The components that it must hold.
        open_connection: Makes a connection from a URI.
    """

    def __init__(self, name: str, schema: Schema, open_connection: Connect) -> None:
        self._name = name
        self._schema = schema
        self._open_connection = open_connection
        self._lock = ProcessLock()
        self._connection: Connection | None = None
        self._is_paused = False

    @contextlib.contextmanager
    def lend(self, wait_s: float) -> Iterator[Connection]:
        """Lend the connection within a transaction; to a thread that has it already, within the same one.

        Raises:
            StoreLocked: Other threads used it all the time.
        """
        if not self._lock.acquire(max(0.0, wait_s)):
            raise StoreLocked(f"{self._name} is in use by another thread; it is tried again later")
        try:
            connection = self._open()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
        finally:
            self._lock.release()

    def _open(self) -> Connection:
        if self._connection is None:
            connection = self._open_connection("file::memory:")
            self._schema.run_all(connection)
            self._connection = connection
        return self._connection

    def close(self) -> None:
        """Let go of the connection and all that is in it."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def pause(self, deadline: float) -> None:
        """Let no other thread use it until :meth:`resume`; does not insist beyond ``deadline``."""
        self._is_paused = self._lock.acquire(max(0.0, deadline - time.monotonic()))

    def resume(self) -> None:
        """End a pause."""
        if self._is_paused:
            self._is_paused = False
            self._lock.release()

    def abandon(self) -> Connection | None:
        """Begin anew without closing anything, in a forked child."""
        connection, self._connection = self._connection, None
        self._is_paused = False
        return connection
