"""Turns in RAM, by session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ovos_memory.core.exchanges import copy_message
from ovos_memory.core.shared import LruDict, SessionLocks
from ovos_memory.core.turns import Turn, numbered

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Scrubbed


class RamTurns:
    """The turns of many sessions; safe from any thread.

    Args:
        sessions: Where they are; bounded.
        locks: One at a time changes a session.
    """

    def __init__(self, sessions: LruDict[str, tuple[Turn, ...]], locks: SessionLocks) -> None:
        self._sessions = sessions
        self._locks = locks

    def sessions(self) -> list[str]:
        """Return the sessions that have turns."""
        return list(self._sessions)

    def load(self, session_id: str) -> list[Turn]:
        """Return the turns of a session, numbered, as private copies."""
        kept = self._sessions.get(session_id, ())
        return [replace(turn, message=copy_message(turn.message)) for turn in kept]

    def change(self, session_id: str, change: Callable[[list[Turn]], list[Turn]]) -> None:
        """Replace a session's turns; without any the session is gone."""
        with self._locks.of(session_id):
            turns = numbered(change(list(self._sessions.get(session_id, ()))))
            if turns:
                self._sessions[session_id] = tuple(turns)
            else:
                self._sessions.pop(session_id, None)

    def scrub(self) -> Scrubbed:
        """Do nothing: there is no file."""
        from ovos_memory.core.management_types import Scrubbed

        return Scrubbed()

    def stats(self) -> dict[str, Any]:
        """Return that there is no file."""
        return {"path": None, "bytes": 0}
