"""Turns in a state store: how the memories of a window on disk are managed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_memory.core.errors import StoreError, StoreLocked
from ovos_memory.core.files import bytes_of
from ovos_memory.core.management_turns import ChangeTurns
from ovos_memory.core.management_types import Scrubbed
from ovos_memory.core.turns import Turn, as_stored, read_turns, stored_items

if TYPE_CHECKING:
    from ovos_memory.core.state import ResilientState
    from ovos_memory.core.state_types import DurableState, Record

SCRUB_WAIT_S = 5.0


class StateTurns:
    """The turns in a state of ``{"messages": [...]}`` records.

    Args:
        state: Where they are.
        path: Its file; ``None``: in memory.
    """

    def __init__(self, state: ResilientState, path: Path | None) -> None:
        self._state = state
        self._path = path

    def sessions(self) -> list[str]:
        """Return the sessions that have turns."""
        return self._state.sessions()

    def load(self, session_id: str) -> list[Turn]:
        """Return the turns of a session, numbered, as private copies."""
        return read_turns(stored_items(self._state.load(session_id)))

    def change(self, session_id: str, change: ChangeTurns) -> None:
        """Replace a session's turns; without any the session is gone."""

        def changed(record: Record | None) -> Record | None:
            turns = change(read_turns(stored_items(record)))
            return {"messages": as_stored(turns)} if turns else None

        self._state.update(session_id, changed)

    def scrub(self) -> Scrubbed:
        """Leave no trace of what is gone in any file."""
        return scrub_state(self._state)

    def stats(self) -> dict[str, Any]:
        """Return path and size."""
        if self._path is None:
            return {"path": None, "bytes": 0}
        return {"path": str(self._path), "bytes": bytes_of(self._path)}


def scrub_state(state: ResilientState | DurableState, *, wait_s: float = SCRUB_WAIT_S) -> Scrubbed:
    """Clean a state's files, waiting for others who are using them."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return Scrubbed(tuple(str(path) for path in state.scrub()))
        except StoreLocked as error:
            if time.monotonic() >= deadline:
                return Scrubbed((), (f"{error}; repeat the call when nobody uses it",))
        except StoreError as error:
            return Scrubbed((), (f"{error}; repeat the call when it can be written",))
        time.sleep(0.05)
