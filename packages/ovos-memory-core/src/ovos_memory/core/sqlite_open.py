"""Opening SQLite files: private, in WAL mode, read-only where it must be, newer ones not at all."""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from ovos_memory.core.errors import StoreDamaged, StoreTooNew, StoreUnavailable
from ovos_memory.core.files import backup_path_1x, create_private_file, sync_folder
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.sqlite_checkpoint import MAX_LOG_PAGES
from ovos_memory.core.sqlite_errors import meaning

FILE_FORMAT = 1
"""``PRAGMA user_version`` of our files; a bigger number means that a newer version wrote it."""
_WAL_LIMIT_BYTES = 8 * 1024 * 1024
_creating = ProcessLock()

Mode = Literal["rw", "ro", "immutable"]
Connect = Callable[[str], "Connection"]


_text = functools.partial(str, encoding="utf-8", errors="replace")


class Connection(sqlite3.Connection):
    """A connection that knows how long it waits for a lock, and whether its commits wait for the disk."""

    wait_ms = -1
    is_synced: bool | None = None

    def wait_for_locks(self, wait_s: float) -> None:
        """Let statements wait at most ``wait_s`` seconds for another process."""
        wait_ms = max(0, int(wait_s * 1000))
        if wait_ms != self.wait_ms:
            self.execute(f"PRAGMA busy_timeout={wait_ms}")
            self.wait_ms = wait_ms

    def sync_commits(self, is_synced: bool) -> None:
        """Let the commits that follow be on disk when they return, or some time later; not within a transaction."""
        if is_synced is not self.is_synced:
            self.execute(f"PRAGMA synchronous={'FULL' if is_synced else 'NORMAL'}")
            self.is_synced = is_synced


def connect(uri: str) -> Connection:
    """Open a connection that any thread may use (one at a time), without implicit transactions."""
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, timeout=0, factory=Connection
    )
    # A damaged page may hold a text that is no UTF-8: one bad character must not hide a whole conversation.
    connection.text_factory = _text
    return connection


def file_uri(path: Path, mode: Mode) -> str:
    """Return the URI of a database file; ``mode`` is ``rw``, ``ro`` or ``immutable``."""
    options = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    return f"file:{quote(os.fsencode(path))}?{options}"


def prepare_file(path: Path) -> bool:
    """Create a file for its owner only, where it is missing.

    Returns:
        Whether the file was created.

    Raises:
        OSError: It cannot be created.
        StoreUnavailable: The path is no plain file.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise StoreUnavailable(f"{path} is not a plain file; name another path")
        return False
    # Closing a file drops the locks that the process holds on it: no database may be opened in between.
    with _creating:
        return create_private_file(path)


def can_be_written(path: Path) -> bool:
    """Tell whether the system lets us write the file and create its log beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)


def refuse_newer(path: Path, plugin: str, open_connection: Connect, wait_s: float) -> None:
    """Raise :class:`StoreTooNew` for a file of a newer version, without changing a byte of it.

    Raises:
        sqlite3.Error: The file is damaged.  (Found here, its log is not folded into it, as a writer's end
        would do.)
            Anything else that is wrong is left to those who open it for writing.
    """
    try:
        with contextlib.closing(open_connection(file_uri(path, "ro"))) as connection:
            connection.wait_for_locks(wait_s)
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.Error as error:
        if isinstance(meaning(error, path, plugin), StoreDamaged):
            raise
        return
    if version > FILE_FORMAT:
        raise StoreTooNew(
            f"{plugin}: {path} was written by a newer version (format {version}, known up to {FILE_FORMAT});"
            " it stays as it is: update the package or name another path"
        )


def open_for_writing(path: Path, open_connection: Connect, deadline: float) -> Connection:
    """Return a connection in WAL mode whose commits survive a power cut and whose deletions leave no trace.

    Raises:
        sqlite3.Error: It cannot be opened; locked ones after ``deadline`` (``time.monotonic``).
    """
    if not can_be_written(path):  # SQLite opens such a file all the same, for reading
        raise sqlite3.OperationalError("attempt to write a readonly database")
    _free_companions(path)
    with _creating:
        connection = open_connection(file_uri(path, "rw"))
    try:
        connection.wait_for_locks(deadline - time.monotonic())
        _switch_to_wal(connection, deadline)
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # opens the log
        connection.sync_commits(True)
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute(f"PRAGMA wal_autocheckpoint={MAX_LOG_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit={_WAL_LIMIT_BYTES}")
    except BaseException:
        connection.close()
        raise
    return connection


def _free_companions(path: Path) -> None:
    """Give the log the mode of its file again: begun while that was read-only, it would stay so for ever."""
    for ending in ("-wal", "-shm"):
        companion = path.with_name(path.name + ending)
        with contextlib.suppress(OSError):
            if not os.access(companion, os.W_OK):
                os.chmod(companion, stat.S_IMODE(os.stat(path).st_mode))


def _switch_to_wal(connection: Connection, deadline: float) -> None:
    """Turn WAL mode on; where the file system has no shared memory the rollback journal stays."""
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # Unlike other statements this one does not wait for readers by itself.
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def open_for_reading(path: Path, mode: Mode, open_connection: Connect, wait_s: float) -> Connection:
    """Return a connection that never writes; ``mode`` as in :func:`file_uri`.

    Raises:
        sqlite3.Error: It cannot be opened or read.
    """
    with _creating:
        connection = open_connection(file_uri(path, mode))
    try:
        connection.wait_for_locks(wait_s)
        connection.execute("PRAGMA query_only=ON")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def is_only_index(path: Path) -> bool:
    """Tell whether the tables of a malformed database are whole, so that a search index is to blame.

    Needed where Python does not pass SQLite's extended codes on.  Cost: reads the whole file.
    """
    try:
        with contextlib.closing(connect(file_uri(path, "ro"))) as connection:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error:
        return False
    return found == "ok" or "fts5 table" in found.lower()


def backup_database_1x(path: Path) -> Path:
    """Copy a database that 1.x left to ``<name>.1x.bak`` (mode 0600), durably, before it is converted.

    Safe while this process or another holds the database open, inside a write transaction that has not
    changed anything yet as well: the copy is what was last committed.

    Raises:
        OSError: The copy cannot be written.
        sqlite3.Error: The database cannot be read.
    """
    target = backup_path_1x(path)
    temporary = target.with_name(target.name + ".tmp")
    temporary.unlink(missing_ok=True)
    create_private_file(temporary)
    try:
        with (
            contextlib.closing(connect(file_uri(path, "ro"))) as source,
            contextlib.closing(connect(file_uri(temporary, "rw"))) as copy,
        ):
            source.wait_for_locks(1.0)
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
        os.replace(temporary, target)
    except BaseException:
        for ending in ("", "-wal", "-shm", "-journal"):
            temporary.with_name(temporary.name + ending).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return target
