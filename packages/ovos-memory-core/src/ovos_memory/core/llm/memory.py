"""The base of the memories that a language model works for: the turn records and returns, the model's work comes later."""

from __future__ import annotations

import abc
import copy
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage, MessageRole

from ovos_memory.core.boundary import Boundary
from ovos_memory.core.exchanges import session_key
from ovos_memory.core.journal import Journal
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.paths import IN_MEMORY, default_path, expand_path
from ovos_memory.core.shared import acquire, release
from ovos_memory.core.sqlite import Database, open_database
from ovos_memory.core.state import StateStore, open_state
from ovos_memory.core.text import clean
from ovos_memory.core.types import Document
from ovos_memory.core.worker import DRAIN_S, Consumer, Worker

if TYPE_CHECKING:
    from ovos_memory.core.llm.client import Chat
    from ovos_memory.core.llm.settings import ModelMemorySettings

Convert = Callable[[Any], "dict[str, dict[str, Any]] | None"]


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
        open_store: Callable[[], StateStore],
        hire: Callable[[Workplace], Consumer[Any]],
        chat: Chat,
        clock: Callable[[], float],
    ) -> None:
        self.plugin = plugin
        self.pending_path = None if path is None else path.with_name(f"{path.name}.pending.db")
        self.state = open_store()
        self.chat = chat
        self.clock = clock
        self._ledger: SqliteLedger | None = None
        self._database: Database | None = None
        self._opening = threading.Lock()
        self._pid = os.getpid()
        self.consumer = hire(self)
        self.worker: Worker[Any] = Worker(self.ledger, self.consumer, plugin=plugin, clock=clock)

    def ledger(self) -> SqliteLedger:
        """Return the pending exchanges, opening them when need be.

        Raises:
            StoreError: The file cannot be opened.
        """
        if self._pid != os.getpid():  # the lock may have been held while the process forked
            self._opening, self._pid = threading.Lock(), os.getpid()
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

    def resume(self) -> None:
        """Take up what an earlier process left, if it left anything."""
        if self.pending_path is not None and self.pending_path.exists():
            self.worker.wake()

    def close(self) -> None:
        """Stop the worker after what it is doing and let go of the files; the next use opens them again."""
        self.worker.close()
        self.state.close()
        if self._database is not None and not self._database.is_in_memory:
            self._database.close()


class ModelMemory(AgentContextManager):
    """A memory that a language model works for in the background.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.
        chat: Answers the model's questions instead of what the settings name: a
            :class:`~ovos_memory.core.llm.client.Chat`, or an instance of a chat plugin.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name: ClassVar[str]
    kind: ClassVar[str]
    """What the state is called in its file."""
    file_stem: ClassVar[str]
    """Name of the default file, without its ending."""

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        chat: Any = None,
    ) -> None:
        from ovos_memory.core.llm.client import as_chat, open_chat
        from ovos_memory.core.settings import load_settings

        self.settings: ModelMemorySettings = load_settings(
            self.settings_model(), config, plugin=self.plugin_name
        )
        super().__init__(copy.deepcopy(dict(config or {})))
        self._clock = clock
        self.boundary = Boundary(self.plugin_name, clock=clock)
        path = self._path()
        model = open_chat(self.settings) if chat is None else as_chat(chat)
        self._key: tuple[Any, ...] | None = None
        if path is None:
            self.workplace = self._found(path, model)
        else:
            self._key = (self.plugin_name, str(path), self.settings.model_dump_json(), id(clock), id(model))
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
    def settings_model(cls) -> type[ModelMemorySettings]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""

    @classmethod
    @abc.abstractmethod
    def _hire(cls, workplace: Workplace, settings: Any) -> Consumer[Any]:
        """Return the consumer that does the model's work; it must not refer to a memory."""

    @staticmethod
    @abc.abstractmethod
    def _convert_1x(data: Any) -> dict[str, dict[str, Any]] | None:
        """Return the sessions of a file that version 1.x wrote; ``None`` when it is no such file."""

    @abc.abstractmethod
    def _blocks(self, session_id: str) -> list[str]:
        """Return the leading system blocks of a session."""

    # ------------------------------------------------------------------ contract
    @property
    def system_prompt(self) -> str:
        """The persona's prompt, without surrounding blanks."""
        return clean(self.settings.system_prompt).strip()

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages; exchanges that are complete are on disk when the call returns.

        The model's work on them comes later and elsewhere; only with ``max_wait_s`` set does the call wait for it.
        The caller's messages are not touched.  It never raises for I/O or for a model that fails.
        """
        session = session_key(session_id)
        documents = self.boundary.call(
            "update_history", lambda: self.journal.record(new_messages, session), list, session_id=session
        )
        if not documents:
            return
        self.workplace.worker.wake()
        if self.settings.max_wait_s > 0:
            self.boundary.call("wait", lambda: self._wait(session), lambda: None, session_id=session)

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return the messages for the chat engine: prompt, what is known, history, the utterance last.

        It never raises, and never waits for the model.  List and messages are the caller's to change.
        """
        session = session_key(session_id)
        prompt = self.system_prompt
        blocks = self.boundary.call("context", lambda: self._blocks(session), list, session_id=session)
        history = self.boundary.call("history", lambda: self._conversation(session), list, session_id=session)
        front = [prompt, *blocks] if prompt else blocks
        return [
            *(AgentMessage(role=MessageRole.SYSTEM, content=text) for text in front),
            *history,
            AgentMessage(role=MessageRole.USER, content=clean(utterance).strip()),
        ]

    def close(self) -> None:
        """Give pending work up to five seconds, write what is held and let go; the memory may be used again."""
        self.boundary.call("close", self._close, lambda: None)

    def health(self) -> dict[str, Any]:
        """Return what went wrong since the process began, what waits, and how the model is doing."""
        return {
            "plugin": self.plugin_name,
            "operations": self.boundary.counts(),
            **self.journal.health(),
            "work": self.workplace.worker.health(),
            "model": self.workplace.chat.health(),
        }

    # ------------------------------------------------------------------ inside
    def _conversation(self, session_id: str) -> list[AgentMessage]:
        """Return the history that stands in front of the utterance."""
        return []

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
        settings, hire = self.settings, type(self)._hire
        backend = "memory" if path is None else settings.store
        plugin, kind, convert = self.plugin_name, self.kind, self._convert_1x
        return Workplace(
            plugin,
            path,
            open_store=lambda: open_state(backend, path, kind=kind, plugin=plugin, convert_1x=convert),
            hire=lambda workplace: hire(workplace, settings),
            chat=chat,
            clock=self._clock,
        )

    def _wait(self, session_id: str) -> None:
        place = self.workplace
        place.worker.drain(self.settings.max_wait_s, is_done=lambda: not place.unfinished(session_id, 1))

    def _close(self) -> None:
        # Each step has its turn even when the one before it failed.
        self.boundary.call("drain", lambda: self.workplace.worker.drain(DRAIN_S), lambda: False)
        self.boundary.call("close", self.journal.close, lambda: None)
        if self._key is not None:
            release(self._key, self)
