"""What the memories on one store share: pending exchanges, state, the model, the worker."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_utils.log import LOG

from ovos_memory.core.consumer import Consumer
from ovos_memory.core.files import remove_copies
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.paths import IN_MEMORY
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.sqlite import Database, open_database
from ovos_memory.core.types import Document
from ovos_memory.core.worker import Worker

if TYPE_CHECKING:
    from ovos_memory.core.llm.client import Chat
    from ovos_memory.core.state_types import AtomicState, Change, Convert1x

MAX_SESSIONS_IN_RAM = 8_000
"""Sessions kept without a file; beyond it the least recently used go."""
MAX_PENDING_IN_RAM = 8_000
"""Exchanges that wait for the model without a file; beyond it the oldest go, for a model may be away for weeks."""


class _Ledger(SqliteLedger):
    """A ledger whose database is closed by whoever opened it, for several memories may be using it."""

    def close(self) -> None:
        """Leave the database open."""


class Workplace:
    """What the memories on one store share: pending exchanges, state, the model, the worker.

    Args:
        plugin: Entry-point name, for messages.
        path: Of the state; ``None``: everything lives in RAM.
        open_store: Opens the state.
        hire: Makes the consumer for this place.
        chat: Answers the questions.
        clock: Returns epoch seconds.
    """

    def __init__(
        self,
        plugin: str,
        path: Path | None,
        *,
        open_store: Callable[[], AtomicState],
        hire: Callable[[Workplace], Consumer[Any]],
        chat: Chat,
        clock: Callable[[], float],
    ) -> None:
        self.plugin = plugin
        self.pending_path = None if path is None else path.with_name(f"{path.name}.pending.db")
        self.state: AtomicState = _LateState(open_store, path)
        self.chat = chat
        self.clock = clock
        self._ledger: SqliteLedger | None = None
        self._database: Database | None = None
        self._opening = ProcessLock()
        self._bounding = ProcessLock()
        self._is_loss_told = False
        self.consumer = hire(self)
        self.worker: Worker[Any] = Worker(self.ledger, self.consumer, plugin=plugin, clock=clock)

    def ledger(self) -> SqliteLedger:
        """Return the pending exchanges, opening them when need be.

        Raises:
            StoreError: The file cannot be opened.
        """
        if self._ledger is None:
            with self._opening:
                if self._ledger is None:
                    self._database = open_database(self.pending_path or IN_MEMORY, plugin=self.plugin)
                    self._ledger = _Ledger(self._database)
        return self._ledger

    def unfinished(self, session_id: str, limit: int) -> list[Document]:
        """Return a session's newest documents that the model has not dealt with, oldest first."""
        return self.ledger().unfinished(
            self.consumer.name, self.consumer.fingerprint, session_id=session_id, limit=limit
        )

    def bound(self) -> None:
        """Let go of the oldest exchanges where they live in RAM and the model does not keep up; a file keeps all."""
        if self.pending_path is not None:
            return
        with self._bounding:  # two that count the same surplus would let go of it twice
            ledger = self.ledger()
            surplus = ledger.count() - MAX_PENDING_IN_RAM
            if surplus > 0:
                oldest = ledger.documents(limit=surplus + MAX_PENDING_IN_RAM // 16)
                ledger.delete([document.id for document in oldest])
                self._warn_of_loss()

    def _warn_of_loss(self) -> None:
        if not self._is_loss_told:
            self._is_loss_told = True
            LOG.warning(
                "%s: the model does not keep up; without a file the oldest of more than %d waiting exchanges go",
                self.plugin,
                MAX_PENDING_IN_RAM,
            )

    def resume(self) -> None:
        """Take up what an earlier process left, if it left anything."""
        with contextlib.suppress(OSError):  # a path that cannot even be looked at
            if self.pending_path is not None and self.pending_path.exists():
                self.worker.wake()

    def close(self) -> None:
        """Stop the worker after what it is doing and let go of the files; the next use opens them again."""
        self.worker.close()
        self.state.close()
        if self._database is not None and not self._database.is_in_memory:
            self._database.close()


class _LateState:
    """A state that is opened at its first use, and again when that failed: no constructor waits for a disk.

    It has no safety net in RAM: what cannot be stored now stays pending in the ledger.
    """

    def __init__(self, open_store: Callable[[], AtomicState], path: Path | None) -> None:
        self._open_store = open_store
        self._path = path
        self._store: AtomicState | None = None
        self._opening = ProcessLock()

    def _opened(self) -> AtomicState:
        if self._store is None:
            with self._opening:
                if self._store is None:
                    self._store = self._open_store()
        return self._store

    def _is_absent(self) -> bool:
        """Tell whether there is nothing to read: reading must leave no file behind."""
        return self._store is None and self._path is not None and not os.path.lexists(self._path)

    def load(self, session_id: str) -> dict[str, Any] | None:
        return None if self._is_absent() else self._opened().load(session_id)

    def update(
        self, session_id: str, change: Callable[[dict[str, Any] | None], dict[str, Any] | None]
    ) -> dict[str, Any] | None:
        return self._opened().update(session_id, change)

    def apply(self, changes: Sequence[tuple[str, Change]]) -> list[dict[str, Any] | None]:
        return self._opened().apply(changes)

    def sessions(self) -> list[str]:
        return [] if self._is_absent() else self._opened().sessions()

    def items(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return iter(()) if self._is_absent() else self._opened().items()

    def scrub(self) -> list[Path]:
        if self._is_absent():  # what was set aside may be there all the same
            assert self._path is not None
            return remove_copies(self._path)
        return self._opened().scrub()

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def open_store(
    backend: str, path: Path | None, *, kind: str, plugin: str, convert_1x: Convert1x
) -> AtomicState:
    """Return the state of a memory; nothing is opened yet unless it is SQLite."""
    from ovos_memory.core.state import JsonState, RamState, SqliteState

    if path is None:
        return RamState(MAX_SESSIONS_IN_RAM)
    if backend == "sqlite":
        return SqliteState(path, kind=kind, plugin=plugin, convert_1x=convert_1x)
    return JsonState(path, kind=kind, plugin=plugin, convert_1x=convert_1x)
