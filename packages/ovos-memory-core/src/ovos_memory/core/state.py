"""Per-session records for memories that keep a state rather than documents: a window, facts, a summary.

Three backends behind one protocol: ``json`` (a file that a person can read), ``sqlite`` (any number of
sessions) and ``memory``.  :func:`open_state` is the way in; what it returns never raises for I/O.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

from ovos_memory.core.ledger_codec import dump_json
from ovos_memory.core.shared import LruDict, ProcessLock
from ovos_memory.core.sqlite import IN_MEMORY
from ovos_memory.core.state_json import JsonState
from ovos_memory.core.state_resilient import ResilientState
from ovos_memory.core.state_sqlite import SqliteState
from ovos_memory.core.state_types import WAIT_S, Change, Convert1x, DurableState, Record, StateStore

__all__ = [
    "Change",
    "Convert1x",
    "DurableState",
    "JsonState",
    "RamState",
    "Record",
    "ResilientState",
    "SqliteState",
    "StateStore",
    "open_state",
]

Backend = Literal["json", "sqlite", "memory"]
MAX_SESSIONS = 8_000
"""Sessions of a store in memory; the least recently used go."""


class RamState:
    """Records that are gone with the process, in bounded memory; safe from any thread.

    See :class:`~ovos_memory.core.state_types.DurableState`.

    Args:
        max_sessions: Sessions at most; the least recently used go.
    """

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self._records: LruDict[str, str] = LruDict(max_sessions)
        self._lock = ProcessLock()

    def load(self, session_id: str, *, wait_s: float = WAIT_S) -> Record | None:
        """Return a private copy of a session's record; asking for an unknown one leaves nothing behind."""
        stored = self._records.get(session_id)
        return None if stored is None else cast(Record, json.loads(stored))

    def update(self, session_id: str, change: Change) -> Record | None:
        """Replace a session's record by what ``change`` makes of it, and return that."""
        with self._lock:
            record = change(self.load(session_id))
            if record is None:
                self._records.pop(session_id, None)
            else:
                self._records[session_id] = dump_json(record)
            return record

    def apply(self, changes: Sequence[tuple[str, Change]], *, wait_s: float = WAIT_S) -> list[Record | None]:
        """Make many changes, in order."""
        with self._lock:
            return [self.update(session_id, change) for session_id, change in changes]

    def sessions(self) -> list[str]:
        """Return the sessions that have a record."""
        return list(self._records)

    def items(self) -> Iterator[tuple[str, Record]]:
        """Yield every session with a private copy of its record."""
        for session_id in self.sessions():
            record = self.load(session_id)
            if record is not None:
                yield session_id, record

    def scrub(self) -> list[Path]:
        """Do nothing: there is no file."""
        return []

    def close(self) -> None:
        """Keep everything: it is all there is."""


def open_state(
    backend: Backend,
    path: Path | str | None,
    *,
    kind: str,
    plugin: str,
    convert_1x: Convert1x | None = None,
    on_failure: Callable[[str, Exception], None] | None = None,
    on_success: Callable[[str], None] | None = None,
) -> ResilientState:
    """Return a state store that never raises for I/O; its file is opened at the first use.

    Args:
        backend: ``json``, ``sqlite`` or ``memory``.
        path: Its file; ``None`` and ``":memory:"`` mean ``memory`` whatever the backend.
        kind: What the records are: letters, digits and underscores.
        plugin: Who asks, for messages.
        convert_1x: Turns what version 1 left at the path, ``{session: ...}``, into records.
        on_failure: Told of every failure: an operation and the error.
        on_success: Told of operations that work again.
    """

    def open_store() -> DurableState:
        if backend == "memory" or path is None or str(path) == IN_MEMORY:
            return RamState()
        store = JsonState if backend == "json" else SqliteState
        return store(path, kind=kind, plugin=plugin, convert_1x=convert_1x)

    return ResilientState(open_store, on_failure=on_failure, on_success=on_success)
