"""The memories that recall: query, search, rendering and injection, and the ledger-backed base of the retrievers.

A retriever subclasses :class:`BaseRetrievalMemory` and fills two hooks; the composite shares
:class:`RecallingMemory`, which stores nothing.
"""

from __future__ import annotations

import abc
import copy
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage

from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import StoreError
from ovos_memory.core.exchanges import conversation, session_key, split_exchanges
from ovos_memory.core.inject import Parts, inject
from ovos_memory.core.managed import LedgerManagedMemory
from ovos_memory.core.query import bounded, search_text
from ovos_memory.core.render import block
from ovos_memory.core.said import INJECTED_CALL_PREFIX
from ovos_memory.core.text import clean, identity
from ovos_memory.core.types import Document, MemoryHit

if TYPE_CHECKING:
    from ovos_memory.core.ledger import SqliteLedger
    from ovos_memory.core.settings import RecallSettings


class RecallingMemory(AgentContextManager):
    """A memory whose context holds recalled hits.

    Subclasses name themselves (:attr:`plugin_name`), their settings, a history and a search.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name: ClassVar[str]
    accepts_scope: ClassVar[bool] = True
    """A composite may hand its own ``scope`` to this class."""
    score_floor: ClassVar[float | None] = None
    """The score of a text of which :meth:`search` finds nothing; ``None``: unknown.  Fusion ``convex`` counts from it."""

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        from ovos_memory.core.settings import load_settings

        self.settings: RecallSettings = load_settings(self.settings_model(), config, plugin=self.plugin_name)
        super().__init__(copy.deepcopy(dict(config or {})))
        self._clock = clock
        self.boundary = Boundary(self.plugin_name, clock=clock)

    @classmethod
    @abc.abstractmethod
    def settings_model(cls) -> type[RecallSettings]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""

    @property
    def system_prompt(self) -> str:
        """The persona's prompt, without surrounding blanks."""
        return clean(self.settings.system_prompt).strip()

    @abc.abstractmethod
    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return the hits for a query, best first.

        Args:
            query: Text to search for.
            session_id: The caller's session; matters under ``scope: session``.
            top_k: How many at most; ``None``: ``retrieval.max_num_results``.
        """

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return the messages for the chat engine: prompt, recall and history as set, the utterance last.

        It never raises: without a store or a hit the conversation goes on without recall.  List and messages are the
        caller's to change.
        """
        session = session_key(session_id)
        spoken = clean(utterance).strip()
        chars = self.settings.max_history_chars
        said: list[AgentMessage] = self.boundary.call(
            "history", lambda: self._window(session, chars), list, session_id=session
        )
        history = conversation(said, chars)
        retrieval = self.settings.retrieval
        query = search_text(
            spoken, said, mode=retrieval.query_mode, history_turns=retrieval.query_history_turns
        )
        hits = self._recall(query, session, history)
        recall = self.boundary.call("render", lambda: block(hits, self.settings.context), lambda: None)
        return inject(
            self.settings.inject_mode,
            Parts(
                system_prompt=self.system_prompt,
                member_blocks=tuple(
                    self.boundary.call("blocks", lambda: self._member_blocks(session, spoken), list)
                ),
                recall=recall,
                history=tuple(history),
                utterance=spoken,
                query=spoken,
                call_id=self._call_id(session, history),
                tool_name=self.settings.context.tool_name,
                system_prompt_template=self.settings.system_prompt_template,
                user_template=self.settings.user_template,
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

    def _member_blocks(self, session_id: str, utterance: str) -> Sequence[AgentMessage]:
        """Return the leading blocks that other memories contribute."""
        return ()

    def _newest_number(self, session_id: str) -> int:
        """Return the number of the session's newest document, 0 when it has none."""
        return 0

    def _recall(self, query: str, session_id: str, history: Sequence[AgentMessage]) -> list[MemoryHit]:
        """Return the hits for a context, those whose exchange stands in the history dropped when so set."""
        if not query:
            return []
        limit = self.settings.retrieval.max_num_results
        if not self.settings.retrieval.exclude_recent:
            return self.search(query, session_id, limit)
        recent = {identity(exchange.content) for exchange in split_exchanges(history)}
        hits = self.search(query, session_id, limit + len(recent))
        return [hit for hit in hits if identity(hit.content) not in recent][:limit]

    def _call_id(self, session_id: str, history: Sequence[AgentMessage]) -> str:
        """Return the id of the injected call: it changes with the conversation, not with the call."""
        if self.settings.inject_mode != "tool":
            return ""
        number = self.boundary.call("number", lambda: self._newest_number(session_id), int)
        call_id = f"{INJECTED_CALL_PREFIX}{session_id}_{number}"
        taken = {call.id for message in history for call in message.tool_calls or ()}
        while call_id in taken:
            call_id += "_"
        return call_id


class BaseRetrievalMemory(LedgerManagedMemory, RecallingMemory):
    """A retriever on a ledger: subclasses open the ledger and fill the two hooks, :meth:`_index` and :meth:`_query`."""

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        from ovos_memory.core.journal import Journal

        super().__init__(config, clock=clock)
        stored = weakref.WeakMethod(self._index_safely)
        self.journal = Journal(
            self._ledger_opener(),
            boundary=self.boundary,
            clock=clock,
            on_stored=lambda documents: (stored() or _nobody)(documents),
        )
        noted = weakref.WeakMethod(self.journal.note_failure)
        self.boundary.sink = lambda *failure: (noted() or _nobody)(*failure)

    # ------------------------------------------------------------------ hooks
    @abc.abstractmethod
    def _ledger_opener(self) -> Callable[[], SqliteLedger]:
        """Return a function that opens the ledger, or raises StoreError while it cannot be opened.

        The function must not refer to the memory: it still writes what is held after the memory is gone.
        """

    @abc.abstractmethod
    def _index(self, documents: list[Document]) -> None:
        """Index documents that were recorded, or leave it to be done later; they are safe in the ledger."""

    @abc.abstractmethod
    def _query(self, text: str, session_id: str | None, top_k: int) -> list[MemoryHit]:
        """Return at most ``top_k`` hits, best first; texts may repeat.

        Args:
            text: What to search for; not blank.
            session_id: Search only this session, inside the store; ``None``: all of them.
            top_k: How many at most.
        """

    # ------------------------------------------------------------------ contract
    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the session's window, oldest first, as copies; ``[]`` for an unknown session."""
        session = session_key(session_id)
        return self.boundary.call("history", lambda: self._window(session), list, session_id=session)

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages; exchanges that are complete are on disk when the call returns.

        The caller's messages are not touched.  It never raises for I/O: what cannot be written is held in memory, and
        written in order once the store recovers.
        """
        session = session_key(session_id)
        documents: list[Document] = self.boundary.call(
            "update_history", lambda: self.journal.record(new_messages, session), list, session_id=session
        )
        self._index_safely(documents)

    def store(
        self, text: str, session_id: str | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> str:
        """Store one text verbatim and return its document id.

        Args:
            text: What to remember.
            session_id: The session it belongs to.
            metadata: JSON-like facts about it; copied.
        """
        document = self.journal.store_text(text, session_key(session_id), metadata)
        self._index_safely([document])
        return document.id

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits with distinct texts, best first.

        Args:
            query: Text to search for; one without a word finds nothing.
            session_id: The caller's session.  Under ``scope: session`` only its documents are searched (without one
                nothing is found); under ``global`` it does not matter.
            top_k: How many at most, without an upper limit; ``None``: ``retrieval.max_num_results``.
        """
        text = bounded(clean(query).strip())
        limit = self.settings.retrieval.max_num_results if top_k is None else top_k
        is_scoped = self.settings.scope == "session"
        if not text or limit <= 0 or (is_scoped and session_id is None):
            return []
        session = session_key(session_id) if is_scoped else None
        return self.boundary.call(
            "search", lambda: self._distinct(text, session, limit), list, session_id=session
        )

    def close(self) -> None:
        """Write what is held in memory and let go of the files; the memory may be used again."""
        self.boundary.call("close", lambda: self.journal.close(), lambda: None)

    def health(self) -> dict[str, Any]:
        """Return what went wrong since the process began, and what waits to be written."""
        return {**super().health(), **self.journal.health()}

    # ------------------------------------------------------------------ inside
    def _window(self, session_id: str, enough_chars: int | None = None) -> list[AgentMessage]:
        count = self.settings.max_history
        try:
            return self.journal.window(session_id, count, enough_chars=enough_chars)
        except StoreError as error:
            self.boundary.failed("history", error, session_id=session_id)
            return self.journal.held_window(session_id, count)

    def _newest_number(self, session_id: str) -> int:
        return self.journal.newest_number(session_id)

    def _index_safely(self, documents: list[Document]) -> None:
        if documents:
            self.boundary.call("index", lambda: self._index(documents), lambda: None)

    def _distinct(self, text: str, session_id: str | None, limit: int) -> list[MemoryHit]:
        """Return ``limit`` distinct texts, asking for more while repeats leave the list short."""
        least, wanted = self.settings.retrieval.min_score, limit
        while True:
            found = self._query(text, session_id, wanted)
            distinct: dict[str, MemoryHit] = {}
            for hit in found:
                if least is None or hit.score >= least:
                    distinct.setdefault(identity(hit.content), hit)
            if len(distinct) >= limit or len(found) < wanted:
                return list(distinct.values())[:limit]
            if least is not None and found[-1].score < least:
                return list(distinct.values())
            wanted *= 4


def _nobody(*told: Any) -> None:
    """Take the place of a memory that was collected while its backlog drained."""
