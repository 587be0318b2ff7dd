"""Twins that lose, tear or mix what many threads, processes or users say."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core.exchanges import session_key
from ovos_memory.core.types import Document, MemoryHit
from ovos_memory.testing.concurrency import ConcurrencySuite
from ovos_memory.testing.eventlog import Event, EventLog
from ovos_memory.testing.load import LoadSuite
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.twins.catalogue import twin
from ovos_memory.testing.twins.stores import opened

_PAUSE_S = 0.0005


@twin(
    ConcurrencySuite,
    "eight_threads_on_one_session_lose_nothing",
    "readers_see_whole_exchanges",
    "sixteen_threads_store_every_exchange_once",
)
class TearsExchanges(ReferenceMemory):
    """Records message by message, and others come in between."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages one by one."""
        for message in new_messages:
            super().update_history([message], session_id)
            time.sleep(_PAUSE_S)


@twin(ConcurrencySuite, "eight_threads_on_one_session_lose_nothing")
class ReadsThenWrites(ReferenceMemory):
    """Replaces a session by what it was a moment ago and one exchange more."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages, if nobody else does."""
        session = session_key(session_id)
        before = len(self._log.events(session))
        if session == "s" and before:
            time.sleep(_PAUSE_S)
            if len(self._log.events(session)) != before and threading.active_count() > 6:
                return
        super().update_history(new_messages, session_id)


@twin(ConcurrencySuite, "sixteen_threads_on_sixteen_sessions_mix_nothing")
class RemembersWhoIsSpeaking(ReferenceMemory):
    """Keeps the session of a call in an attribute."""

    speaker: str | None = None

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages for whoever spoke last."""
        self.__dict__["speaker"] = session_id
        if len(new_messages) == 1:
            time.sleep(_PAUSE_S)
        super().update_history(
            new_messages, self.__dict__["speaker"] if len(new_messages) == 1 else session_id
        )


@twin(ConcurrencySuite, "sixteen_threads_store_every_exchange_once")
class ChangesWhileItIsSearched(ReferenceMemory):
    """Raises what Python raises when a dict grows under an iterator."""

    searching = 0

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits, alone."""
        self.searching += 1
        try:
            time.sleep(_PAUSE_S)
            return super().search(query, session_id, top_k)
        finally:
            self.searching -= 1

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages, alone."""
        if self.searching and new_messages[-1].content == "noted":
            raise RuntimeError("dictionary changed size during iteration")
        super().update_history(new_messages, session_id)


@twin(ConcurrencySuite, "sixteen_threads_store_every_exchange_once")
class CountsWithoutALock(ReferenceMemory):
    """Gives the same number to two documents."""

    def _documents(self, session_id: str | None) -> list[Document]:
        found = super()._documents(session_id)
        if len(found) < 32:
            return found
        return [*found[:-1], Document(found[-1].session_id, 0, "tea", "noted", (), 0.0, row=found[-1].row)]


class _RewrittenLog(EventLog):
    """Writes the whole file from what it read before."""

    def _store(self, events: Sequence[Event]) -> None:
        assert self._path is not None
        before = self._stored()
        time.sleep(_PAUSE_S)
        with self._locked() as file:
            file.truncate(0)
        super()._store([*before, *events])


@twin(
    ConcurrencySuite,
    "two_processes_lose_nothing",
    "two_processes_keep_each_others_sessions",
    store="lines",
)
class RewritesFromAStaleRead(ReferenceMemory):
    """Locks its threads, not the file."""

    def _open_log(self) -> EventLog:
        return opened(self, _RewrittenLog)


# ---------------------------------------------------------------------- load


@twin(LoadSuite, "looking_at_unknown_sessions_allocates_nothing")
class RemembersWhoLooked(ReferenceMemory):
    """Makes an entry for every session that it hears of."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return a history."""
        self.__dict__.setdefault("sessions", {}).setdefault(session_id, [])
        return super().get_history(session_id)


@twin(LoadSuite, "memory_holds_a_bounded_number_of_sessions", ram_sessions=1_000)
class KeepsEverySession(ReferenceMemory):
    """Never lets a session go."""


@twin(LoadSuite, "sessions_stay_intact_among_many", store="lines")
class EvictsForGood(ReferenceMemory):
    """Lets a session go that is only in its cache, it thinks."""

    def _turns(self, session_id: str) -> list[AgentMessage]:
        recent = [event.session_id for event in self._log._all()][-200:]
        return super()._turns(session_id) if session_id in recent else []
