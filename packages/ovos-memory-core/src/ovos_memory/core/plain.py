"""The base of memories that recall nothing by query: prompt, blocks that they know, history, utterance."""

from __future__ import annotations

import abc
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage

from ovos_memory.core.boundary import Boundary
from ovos_memory.core.exchanges import conversation, session_key
from ovos_memory.core.inject import Parts, inject
from ovos_memory.core.text import clean

if TYPE_CHECKING:
    from ovos_memory.core.settings import MemorySettings


class PlainMemory(AgentContextManager):
    """A memory of turns, or of anything else that fits in a leading block.

    Subclasses name themselves (:attr:`plugin_name`), their settings and a history; they record in
    ``update_history``.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name: ClassVar[str]
    keeps_turns: ClassVar[bool] = True
    """``False``: ``get_history`` is always empty, so a composite does better with another `primary`."""

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        from ovos_memory.core.settings import load_settings

        self.settings: MemorySettings = load_settings(self.settings_model(), config, plugin=self.plugin_name)
        super().__init__(copy.deepcopy(dict(config or {})))
        self._clock = clock
        self.boundary = Boundary(self.plugin_name, clock=clock)

    @classmethod
    @abc.abstractmethod
    def settings_model(cls) -> type[MemorySettings]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""

    @property
    def system_prompt(self) -> str:
        """The persona's prompt, without surrounding blanks."""
        return clean(self.settings.system_prompt).strip()

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the session's window, oldest first, as copies; ``[]`` for an unknown session."""
        session = session_key(session_id)
        return self.boundary.call("history", lambda: self._window(session), list, session_id=session)

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return the messages for the chat engine: prompt, blocks and history, the utterance last.

        It never raises.  List and messages are the caller's to change.
        """
        session, spoken = session_key(session_id), clean(utterance).strip()
        blocks: Sequence[AgentMessage] = self.boundary.call(
            "blocks", lambda: self._blocks(session, spoken), list, session_id=session
        )
        chars = self.settings.max_history_chars
        said: list[AgentMessage] = self.boundary.call(
            "history", lambda: self._window(session, chars), list, session_id=session
        )
        history = conversation(said, chars)
        return inject(
            "system",
            Parts(
                system_prompt=self.system_prompt,
                member_blocks=tuple(blocks),
                history=tuple(history),
                utterance=spoken,
            ),
        )

    def health(self) -> dict[str, Any]:
        """Return what went wrong since the process began, by operation."""
        return {"plugin": self.plugin_name, "operations": self.boundary.counts()}

    @abc.abstractmethod
    def _window(self, session_id: str, enough_chars: int | None = None) -> list[AgentMessage]:
        """Return the history of a session as private copies, oldest first.

        Args:
            session_id: The session.
            enough_chars: Where the window is not bounded, older messages may be left out beyond this many characters.
        """

    def _blocks(self, session_id: str, utterance: str) -> Sequence[AgentMessage]:
        """Return what the memory knows, as leading system messages."""
        return ()
