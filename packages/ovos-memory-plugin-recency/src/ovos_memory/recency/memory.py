"""The memory of the last messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core.exchanges import session_key, window
from ovos_memory.core.management import ManagedMemory
from ovos_memory.core.paths import expand_path
from ovos_memory.core.plain import PlainMemory
from ovos_memory.core.said import really_said
from ovos_memory.recency.record import Limits, convert_1x, read_turns, with_turns, within

if TYPE_CHECKING:
    from ovos_memory.core.management import Keeper
    from ovos_memory.core.state import ResilientState
    from ovos_memory.recency.settings import RecencySettings


class RecencyMemory(ManagedMemory, PlainMemory):
    """The last messages of each session, by count and by age; safe from any thread.

    With a `db_path` they outlive the process; what cannot be written is held in RAM until it can.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name: ClassVar[str] = "ovos-memory-plugin-recency"
    settings: RecencySettings

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(config, clock=clock)
        self._limits = Limits(self.settings.max_history, self.settings.max_age)
        self._state = self._open_state()

    @classmethod
    def settings_model(cls) -> type[RecencySettings]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""
        from ovos_memory.recency.settings import RecencySettings

        return RecencySettings

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Append copies of messages and forget what falls out of the window.

        A user message replaces one that got no answer; an answer after an answer is merged into it.  It never
        raises for I/O.
        """
        session = session_key(session_id)
        self.boundary.call(
            "update_history", lambda: self._append(new_messages, session), lambda: None, session_id=session
        )

    def health(self) -> dict[str, Any]:
        """Return what went wrong since the process began, and what waits to be written."""
        return {**super().health(), **self._state.health()}

    def close(self) -> None:
        """Write what is held in RAM and let go of the file; the memory may be used again."""
        self.boundary.call("close", self._state.close, lambda: None)

    def _open_state(self) -> ResilientState:
        from ovos_memory.core.state import open_state  # here, for OPM imports every plugin to load one

        backend, path = self.settings.backend, self._path()
        return open_state(
            backend or ("sqlite" if Path(path or "").suffix == ".db" else "json"),
            path,
            kind="recency",
            plugin=self.plugin_name,
            convert_1x=convert_1x,
            on_failure=self.boundary.failed,
        )

    def _path(self) -> str | Path | None:
        given = self.settings.db_path
        return None if given is None else expand_path(given, plugin=self.plugin_name, key="db_path")

    def files(self) -> list[Path]:
        """Return the file of the messages."""
        path = self._path()
        return [path] if isinstance(path, Path) else []

    def _keeper(self) -> Keeper:
        from ovos_memory.core.management_state import StateTurns
        from ovos_memory.core.management_turns import TurnKeeper

        path = self._path()
        return TurnKeeper(
            StateTurns(self._state, path if isinstance(path, Path) else None), plugin=self.plugin_name
        )

    def _append(self, new_messages: Sequence[AgentMessage], session_id: str) -> None:
        said, now = really_said(new_messages), self._clock()
        if said:
            self._state.update(
                session_id, lambda record: with_turns(record, said, now=now, limits=self._limits)
            )

    def _window(self, session_id: str, enough_chars: int | None = None) -> list[AgentMessage]:
        turns = within(read_turns(self._state.load(session_id)), now=self._clock(), limits=self._limits)
        return window([turn.message for turn in turns], 0)
