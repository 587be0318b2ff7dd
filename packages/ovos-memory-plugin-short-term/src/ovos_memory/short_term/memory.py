"""The memory that ends with the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core.exchanges import session_key, window
from ovos_memory.core.management import ManagedMemory
from ovos_memory.core.plain import PlainMemory
from ovos_memory.core.said import really_said
from ovos_memory.core.shared import LruDict, SessionLocks
from ovos_memory.core.turns import with_said
from ovos_memory.short_term.turns import RamTurns

if TYPE_CHECKING:
    from ovos_memory.core.management import Keeper
    from ovos_memory.short_term.settings import ShortTermSettings

MAX_SESSIONS = 8_000
"""Sessions kept; beyond it the least recently used go."""


class BasicShortTermMemory(ManagedMemory, PlainMemory):
    """The last ``max_history`` messages of each session; safe from any thread.

    Args:
        config: ``max_history`` (5), ``max_history_chars``, ``system_prompt``; copied.
        clock: Returns epoch seconds.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name: ClassVar[str] = "ovos-memory-plugin-short-term"

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(config, clock=clock)
        self._turns = RamTurns(LruDict(MAX_SESSIONS), SessionLocks())

    @classmethod
    def settings_model(cls) -> type[ShortTermSettings]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""
        from ovos_memory.short_term.settings import ShortTermSettings

        return ShortTermSettings

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Append copies of messages and keep the last ``max_history``.

        A user message replaces one that got no answer; an answer after an answer is merged into it.
        """
        session = session_key(session_id)
        self.boundary.call(
            "update_history", lambda: self._append(new_messages, session), lambda: None, session_id=session
        )

    def _append(self, new_messages: Sequence[AgentMessage], session_id: str) -> None:
        said = really_said(new_messages)
        if not said:
            return
        now, most = self._clock(), self.settings.max_history
        # [-0:] is everything, as it should be; a torn tool call stays, for its results may be on the way
        self._turns.change(session_id, lambda turns: with_said(turns, said, now=now)[-most:])

    def _window(self, session_id: str, enough_chars: int | None = None) -> list[AgentMessage]:
        return window([turn.message for turn in self._turns.load(session_id)], 0)

    def _keeper(self) -> Keeper:
        from ovos_memory.core.management_turns import TurnKeeper

        return TurnKeeper(self._turns, plugin=self.plugin_name)
