"""One open vector store per process and configuration; on this machine's disk, one process per store."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from ovos_memory.core.errors import OvosMemoryError, StoreUnavailable
from ovos_memory.core.shared import ProcessLock
from ovos_memory.local_rag.stores.base import CLOSE_WAIT_S, VectorStore
from ovos_memory.local_rag.stores.opening import StorePlace, open_store

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_RETRY_FROM_S, _RETRY_TO_S = 1.0, 60.0
_LOCK_FILE = ".ovos-memory-writer"


class StoreHandle:
    """Opens a store at the first use, again after it was lost, and not again and again while it fails.

    Stores that live in this machine's files do not expect two processes: chromadb does not show one what the
    other adds, and Qdrant admits only one.  So the first process that uses a store has it, and the others
    answer from the ledger's own vectors; what they record the first one, or the next, hands over to the
    store.

    Args:
        place: Which store.
        plugin: Entry-point name of the memory, for messages.
    """

    def __init__(self, place: StorePlace, *, plugin: str) -> None:
        self._place = place
        self._plugin = plugin
        self._lock = ProcessLock()
        self._pid = os.getpid()
        self._store: VectorStore | None = None
        self._writer: int | None = None
        self._error: OvosMemoryError | None = None
        self._retry_at = 0.0
        self._delay_s = _RETRY_FROM_S

    def store(self, collection: str, dimension: int) -> VectorStore:
        """Return the open store.

        Raises:
            PluginMissing: Its plugin is not installed.
            StoreUnavailable: It cannot be opened just now, or another process has it.
        """
        with self._lock:
            if self._pid != os.getpid():
                self._after_fork()
            if self._store is not None and self._store.is_intact():
                return self._store
            if self._store is not None:
                self._close()
            if self._error is not None and time.monotonic() < self._retry_at:
                raise self._error
            try:
                self._take()
                self._store = open_store(self._place, collection, dimension, plugin=self._plugin)
            except OvosMemoryError as error:
                self._rest(error)
                raise
            self._error = None
            return self._store

    def succeeded(self, store: VectorStore) -> None:
        """Say that ``store`` does its work, so that a later failure is retried soon."""
        if store is self._store:
            self._delay_s = _RETRY_FROM_S

    def failed(self, store: VectorStore, error: OvosMemoryError) -> None:
        """Close ``store`` and let it rest for a while.

        A call may outlast the store that it was made on: what fails on one that was closed since, by another
        memory that shares it perhaps, says nothing about its successor.
        """
        with self._lock:
            if store is self._store:
                self._rest(error)

    def close(self) -> None:
        """Let go of the store; one that is still being opened, and hangs, is left to itself."""
        if self._lock.acquire(CLOSE_WAIT_S):
            try:
                if self._pid == os.getpid():
                    self._close()
            finally:
                self._lock.release()

    def _rest(self, error: OvosMemoryError) -> None:
        self._close()
        self._error = error
        self._retry_at = time.monotonic() + self._delay_s
        self._delay_s = min(2 * self._delay_s, _RETRY_TO_S)

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()
        writer, self._writer = self._writer, None
        if writer is not None:
            os.close(writer)

    def _after_fork(self) -> None:
        # The parent's clients are not ours: their threads did not come along, their files are the parent's.
        self._pid = os.getpid()
        self._store = self._writer = None

    def _take(self) -> None:
        """Make this the process that has the store."""
        folder = self._place.folder
        if folder is None or fcntl is None or self._writer is not None:
            return
        with contextlib.suppress(OSError):  # a folder that cannot be made is told when the store is opened
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_file = folder / _LOCK_FILE if folder.is_dir() else Path(f"{folder}{_LOCK_FILE}")
        try:
            descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreUnavailable(
                f"{self._plugin}: vector store {folder} cannot be used ({type(error).__name__});"
                " check folder and permissions, or name another path"
            ) from error
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise StoreUnavailable(
                f"{self._plugin}: vector store {folder} is used by another process;"
                " answers come from the ledger's own vectors"
            ) from error
        self._writer = descriptor


class GivenStore:
    """A store object that the embedding program made."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store

    def store(self, collection: str, dimension: int) -> VectorStore:
        """Return it."""
        return self._store

    def succeeded(self, store: VectorStore) -> None:
        """Change nothing."""

    def failed(self, store: VectorStore, error: OvosMemoryError) -> None:
        """Change nothing: the next call tries it again."""

    def close(self) -> None:
        """Leave it to its owner."""
