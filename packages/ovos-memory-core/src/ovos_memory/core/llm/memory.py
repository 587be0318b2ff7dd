"""The base of the memories that a language model works for: a turn records, the model's work comes later."""

from __future__ import annotations

import abc
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core.exchanges import session_key
from ovos_memory.core.management import ManagedMemory
from ovos_memory.core.paths import default_path, expand_path
from ovos_memory.core.plain import PlainMemory
from ovos_memory.core.shared import acquire, release

if TYPE_CHECKING:
    from ovos_memory.core.consumer import Consumer
    from ovos_memory.core.llm.client import Chat
    from ovos_memory.core.llm.managing import Derived
    from ovos_memory.core.llm.settings import ModelMemorySettings
    from ovos_memory.core.llm.workplace import Workplace
    from ovos_memory.core.management import Keeper


class ModelMemory(ManagedMemory, PlainMemory):
    """A memory that a language model works for in the background.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.
        chat: Answers the model's questions instead of what the settings name: a
            :class:`~ovos_memory.core.llm.client.Chat`, or an instance of a chat plugin.

    Raises:
        ConfigError: A setting is wrong.
    """

    kind: ClassVar[str]
    """What the state is called in its file."""
    file_stem: ClassVar[str]
    """Name of the default file, without its ending."""
    settings: ModelMemorySettings  # type: ignore[assignment]  # the keys of a window are the subclass's own

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        chat: Any = None,
    ) -> None:
        # Imported here and not with the module: OPM imports every plugin of a group to load one of them.
        from ovos_memory.core.journal import Journal
        from ovos_memory.core.llm.client import as_chat, open_chat

        super().__init__(config, clock=clock)
        path = self._path()
        model = open_chat(self.settings) if chat is None else as_chat(chat)
        self._key: tuple[Any, ...] | None = None
        if path is None:
            self.workplace = self._found(path, model)
            weakref.finalize(self, self.workplace.close)  # nobody else would end its thread
        else:
            self._key = (self.plugin_name, str(path), repr(self.settings.model_dump()), id(clock), id(model))
            self.workplace = acquire(self._key, lambda: self._found(path, model), self)
        workplace = self.workplace
        self.journal = Journal(
            workplace.ledger,
            boundary=self.boundary,
            clock=clock,
            on_stored=lambda documents: workplace.worker.wake(),
        )
        workplace.resume()

    # ------------------------------------------------------------------ hooks
    @classmethod
    @abc.abstractmethod
    def settings_model(cls) -> type[Any]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""

    @classmethod
    @abc.abstractmethod
    def _hire(cls, workplace: Workplace, settings: Any) -> Consumer[Any]:
        """Return the consumer that does the model's work; it must not refer to a memory."""

    @staticmethod
    @abc.abstractmethod
    def _convert_1x(found: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
        """Return the sessions of a file that version 1.x wrote; ``None`` when it is no such file."""

    @abc.abstractmethod
    def _derived(self) -> Derived:
        """Return what the model made of exchanges, to be managed."""

    # ------------------------------------------------------------------ management
    def files(self) -> list[Path]:
        """Return the file of the state and that of the exchanges."""
        path = self._path()
        return [] if path is None else [path, path.with_name(f"{path.name}.pending.db")]

    def _keeper(self) -> Keeper:
        from ovos_memory.core.llm.managing import ModelKeeper
        from ovos_memory.core.management_ledger import LedgerKeeper

        exchanges = LedgerKeeper(
            self.journal,
            plugin=self.plugin_name,
            clock=self._clock,
            on_changed=lambda documents: self.workplace.worker.wake(),
        )
        return ModelKeeper(
            exchanges, self._derived(), self.workplace, plugin=self.plugin_name, path=self._path()
        )

    # ------------------------------------------------------------------ contract
    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages; exchanges that are complete are on disk when the call returns.

        The model's work on them comes later and elsewhere; only with ``max_wait_s`` set does the call wait
        for it. The caller's messages are not touched.  It never raises for I/O or for a model that fails.
        """
        session = session_key(session_id)
        documents = self.boundary.call(
            "update_history", lambda: self.journal.record(new_messages, session), list, session_id=session
        )
        if not documents:
            return
        self.boundary.call("bound", self.workplace.bound, lambda: None)
        self.workplace.worker.wake()
        if self.settings.max_wait_s > 0:
            self.boundary.call("wait", lambda: self._wait(session), lambda: None, session_id=session)

    def close(self) -> None:
        """Give pending work up to five seconds, write what is held and let go; it may be used again."""
        self.boundary.call("close", self._close, lambda: None)

    def health(self) -> dict[str, Any]:
        """Return what went wrong since the process began, what waits, and how the model is doing."""
        return {
            **super().health(),
            **self.journal.health(),
            "work": self.workplace.worker.health(),
            "model": self.workplace.chat.health(),
        }

    # ------------------------------------------------------------------ inside
    def _path(self) -> Path | None:
        """Return where the state lives; ``None``: in RAM."""
        settings = self.settings
        if settings.store == "memory":
            return None
        if settings.db_path is None:
            return default_path(f"{self.file_stem}.{'db' if settings.store == 'sqlite' else 'json'}")
        path = expand_path(settings.db_path, plugin=self.plugin_name, key="db_path")
        return path if isinstance(path, Path) else None

    def _found(self, path: Path | None, chat: Chat) -> Workplace:
        from ovos_memory.core.llm.workplace import Workplace, open_store

        settings, hire = self.settings, type(self)._hire
        backend = "memory" if path is None else settings.store
        plugin, kind, convert = self.plugin_name, self.kind, self._convert_1x
        return Workplace(
            plugin,
            path,
            open_store=lambda: open_store(backend, path, kind=kind, plugin=plugin, convert_1x=convert),
            hire=lambda workplace: hire(workplace, settings),
            chat=chat,
            clock=self._clock,
        )

    def _wait(self, session_id: str) -> None:
        place = self.workplace
        place.worker.drain(self.settings.max_wait_s, is_done=lambda: not place.unfinished(session_id, 1))

    def _close(self) -> None:
        from ovos_memory.core.worker import DRAIN_S

        # Each step has its turn even when the one before it failed.
        self.boundary.call("drain", lambda: self.workplace.worker.drain(DRAIN_S), lambda: False)
        self.boundary.call("close", self.journal.close, lambda: None)
        if self._key is None:
            self.workplace.close()
        else:
            release(self._key, self)
