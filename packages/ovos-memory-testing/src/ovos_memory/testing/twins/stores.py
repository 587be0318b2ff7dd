"""Twins whose files do not keep what they were given."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core.types import Document
from ovos_memory.testing.eventlog import Event, EventLog, SqliteLog
from ovos_memory.testing.persistence import PersistenceSuite
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.twins.catalogue import twin

RESTARTS = (
    "a_conversation_goes_on_after_a_restart",
    "a_late_piece_after_a_restart_belongs_to_its_answer",
    "a_memory_works_on_after_close",
)
TOGETHER = ("two_instances_on_one_store_see_each_other", "two_processes_on_one_store_see_each_other")


def opened(memory: ReferenceMemory, kind: Callable[..., EventLog]) -> EventLog:
    """Return a log of another kind for a memory."""
    return kind(memory.settings.db_path, plugin=memory.plugin_name, warn=memory._warn)


@twin(
    PersistenceSuite,
    *RESTARTS,
    *TOGETHER,
    "recall_survives_a_restart",
    "numbers_go_on_after_a_restart",
    "what_was_accepted_survives_a_kill",
    "files_are_private",
    "a_path_is_expanded",
    store="lines",
)
class ForgetsWithTheProcess(ReferenceMemory):
    """Has a path and no file."""

    def _open_log(self) -> EventLog:
        return EventLog(None, plugin=self.plugin_name, warn=self._warn)


@twin(PersistenceSuite, "recall_survives_a_restart", "numbers_go_on_after_a_restart", store="lines")
class ForgetsItsIndex(ReferenceMemory):
    """Reloads the history only."""

    def _documents(self, session_id: str | None) -> list[Document]:
        self.__dict__.setdefault("known", [d.id for d in super()._documents(None)] if _is_told(self) else [])
        return [d for d in super()._documents(session_id) if d.id not in self.__dict__["known"]]

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        self._documents(None)
        super().update_history(new_messages, session_id)


def _is_told(memory: ReferenceMemory) -> bool:
    return any(True for _ in memory._log._all())


@twin(PersistenceSuite, "numbers_go_on_after_a_restart", store="lines")
class CountsFromZeroAgain(ReferenceMemory):
    """Has a counter per process."""

    def _documents(self, session_id: str | None) -> list[Document]:
        found = super()._documents(session_id)
        first = self.__dict__.setdefault("first", len(super()._documents(None)) if _is_told(self) else 0)
        return [_renumbered(d, d.n - first) if d.n >= first else d for d in found]

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        self._documents(None)
        super().update_history(new_messages, session_id)


def _renumbered(document: Document, n: int) -> Document:
    return Document(
        document.session_id, n, document.question, document.answer, document.messages, document.created_at
    )


@twin(PersistenceSuite, "a_late_piece_after_a_restart_belongs_to_its_answer", store="lines")
class ForgetsWhatIsOpen(ReferenceMemory):
    """Drops an answer whose question came in another life."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        seen = self.__dict__.setdefault("seen", set())
        if session_id in seen or new_messages[0].role.value == "user":
            seen.add(session_id)
            super().update_history(new_messages, session_id)


@twin(PersistenceSuite, "a_memory_works_on_after_close", store="lines")
class IsClosedForGood(ReferenceMemory):
    """Ignores what comes after ``close``."""

    def close(self) -> None:
        """Close."""
        super().close()
        self.__dict__["is_closed"] = True

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages, while it is open."""
        if not self.__dict__.get("is_closed"):
            super().update_history(new_messages, session_id)


class _CachedLog(EventLog):
    """Reads the file once."""

    cache: list[Event] | None = None

    def _stored(self) -> list[Event]:
        if self.cache is None:
            self.cache = super()._stored()
        return self.cache

    def _store(self, events: Sequence[Event]) -> None:
        super()._store(events)
        self.cache = [*self._stored(), *(e for e in events if e not in self._stored())]


@twin(PersistenceSuite, *TOGETHER, store="lines")
class ReadsItsFileOnce(ReferenceMemory):
    """Answers from what it read a while ago."""

    def _open_log(self) -> EventLog:
        log = opened(self, _CachedLog)
        log._all()
        return log


class _ProcessLog(EventLog):
    """Shares one cache among the memories of a process."""

    caches: ClassVar[dict[Any, list[Event]]] = {}

    def _stored(self) -> list[Event]:
        return self.caches.setdefault(self._path, super()._stored())

    def _store(self, events: Sequence[Event]) -> None:
        cache = self._stored()
        super()._store(events)
        cache.extend(events)


@twin(
    PersistenceSuite,
    "two_processes_on_one_store_see_each_other",
    "numbers_go_on_after_a_restart",
    store="lines",
)
class SharesWithinItsProcess(ReferenceMemory):
    """Believes that nobody else writes the file."""

    def _open_log(self) -> EventLog:
        return opened(self, _ProcessLog)


class _LateLog(EventLog):
    """Writes when the program ends."""

    def _store(self, events: Sequence[Event]) -> None:
        late: list[Event] = self.__dict__.setdefault("late", [])
        if not late:
            atexit.register(lambda: super(_LateLog, self)._store(late))
        if len(events) == 1 and "question" in events[0].line():
            late.extend(events)
        else:
            super()._store(events)


@twin(PersistenceSuite, "what_was_accepted_survives_a_kill", store="lines")
class WritesLate(ReferenceMemory):
    """Keeps writes together to be fast."""

    def _open_log(self) -> EventLog:
        return opened(self, _LateLog)


class _PublicLog(EventLog):
    @contextlib.contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        with super()._locked() as file:
            os.fchmod(file.fileno(), 0o644)
            yield file


@twin(PersistenceSuite, "files_are_private", store="lines")
class WritesForEverybody(ReferenceMemory):
    """Leaves the mode to the umask."""

    def _open_log(self) -> EventLog:
        return opened(self, _PublicLog)


class _OpenFolderLog(EventLog):
    def _make_folders(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)


@twin(PersistenceSuite, "files_are_private", store="lines")
class MakesOpenFolders(ReferenceMemory):
    """Leaves the folder's mode to the umask."""

    def _open_log(self) -> EventLog:
        return opened(self, _OpenFolderLog)


@twin(PersistenceSuite, "nothing_is_left_in_the_working_directory", "a_path_is_expanded", store="lines")
class LeavesTracks(ReferenceMemory):
    """Writes something where the program was started."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        super().update_history(new_messages, session_id)
        Path("storage").mkdir(exist_ok=True)


@twin(PersistenceSuite, "a_path_is_expanded", store="lines")
class TakesPathsLiterally(ReferenceMemory):
    """Makes a folder of the name ``~``."""

    def _open_log(self) -> EventLog:
        log = super()._open_log()
        log._path = Path(os.path.abspath(str(self.settings.db_path)))
        return log


@twin(PersistenceSuite, "a_path_in_memory_is_no_file", store="sqlite")
class MakesAFileOfMemory(ReferenceMemory):
    """Takes ``:memory:`` for a name."""

    def _open_log(self) -> EventLog:
        kind = SqliteLog if str(self.settings.db_path).endswith(".db") else EventLog
        log = opened(self, kind)
        log._path = log._path or Path.home() / str(self.settings.db_path)
        return log
