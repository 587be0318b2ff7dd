"""What the reference memory keeps: one line per event in a file that several processes may append to."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.exchanges import append_turns, make_exchange
from ovos_memory.core.paths import expand_path
from ovos_memory.core.types import Document
from ovos_memory.testing.processes import pack, unpack

_HEAD = '{"format": "ovos-memory-testing/events"}\n'
_TROUBLE = (OSError, sqlite3.Error)
MAX_SESSIONS = 8_000
"""A log without a file holds at most this many sessions; the least recently used go."""


@dataclass(frozen=True)
class Event:
    """Messages of one update, or one text stored verbatim."""

    session_id: str
    at: float
    messages: list[AgentMessage]
    text: str | None = None

    def line(self) -> str:
        """Return it as it stands in the file."""
        packed = [pack(m) for m in self.messages]
        return json.dumps({"s": self.session_id, "at": self.at, "m": packed, "t": self.text}) + "\n"

    @classmethod
    def read(cls, line: str) -> Event:
        """Return the event of a line."""
        found = json.loads(line)
        return cls(found["s"], found["at"], [unpack(m) for m in found["m"]], found["t"])


class EventLog:
    """Events by session, oldest first; what the file refuses is held until it takes it.

    Args:
        path: The file as configured; ``None``: none.
        plugin: For log lines.
        warn: Writes a warning.
    """

    lock_wait_s = 0.5

    def __init__(self, path: str | None, *, plugin: str, warn: Callable[..., None]) -> None:
        expanded = None if path is None else expand_path(path, plugin=plugin, key="db_path")
        self._path = expanded if isinstance(expanded, Path) else None
        self._plugin, self._warn = plugin, warn
        self._sessions: OrderedDict[str, list[Event]] = OrderedDict()
        self._held: list[Event] = []
        self._failures: dict[str, dict[str, object]] = {}
        self._warned: set[str] = set()

    def append(self, session_id: str, messages: list[AgentMessage], at: float) -> None:
        """Add messages of a session."""
        self._add(Event(session_id, at, messages))

    def append_text(self, session_id: str, text: str, at: float) -> None:
        """Add a verbatim text."""
        self._add(Event(session_id, at, [], text))

    def events(self, session_id: str) -> list[Event]:
        """Return private copies of the events of a session."""
        if self._path is None:
            found = self._sessions.get(session_id, [])
        else:
            found = [event for event in self._all() if event.session_id == session_id]
        return [Event.read(event.line()) for event in found]

    def documents(self, session_id: str | None) -> list[Document]:
        """Return answered exchanges and texts of a session (``None``: all), in order of their last change."""
        drafts: dict[str, list[Document]] = {}
        for row, event in enumerate(self._all()):
            if session_id is None or event.session_id == session_id:
                _fold(drafts.setdefault(event.session_id, []), event, row)
        found = [d for documents in drafts.values() for d in documents if d.answer or d.text is not None]
        return sorted(found, key=lambda document: document.row)

    def flush(self) -> None:
        """Write what is held, if the file takes it."""
        if self._path is not None and self._held:
            self._write([])

    def failures(self) -> dict[str, dict[str, object]]:
        """Return what failed: operation to count, last error type and time."""
        return {operation: dict(count) for operation, count in self._failures.items()}

    def held(self) -> int:
        """Return how many events wait for the file."""
        return len(self._held)

    # ------------------------------------------------------------------ inside
    def _all(self) -> list[Event]:
        if self._path is None:
            return [event for events in self._sessions.values() for event in events]
        try:
            return [*self._stored(), *self._held]
        except _TROUBLE as error:
            self._failed("read", error)
            return list(self._held)

    def _add(self, event: Event) -> None:
        if self._path is None:
            self._sessions.setdefault(event.session_id, []).append(event)
            self._sessions.move_to_end(event.session_id)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        else:
            self._write([event])

    def _write(self, events: Sequence[Event]) -> None:
        waiting = [*self._held, *events]
        try:
            self._store(waiting)
            self._held = []
        except _TROUBLE as error:
            self._held = waiting
            self._failed("write", error)

    def _stored(self) -> list[Event]:
        with self._locked() as file:
            return _events(file)

    def _store(self, events: Sequence[Event]) -> None:
        with self._locked() as file:
            _append(file, events)

    @contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        assert self._path is not None
        self._make_folders(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "rb+", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            head = os.pread(file.fileno(), len(_HEAD), 0)
            if head and head != _HEAD.encode():
                self._set_aside(self._path)
                raise OSError("the file was no event log")
            yield file

    def _make_folders(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make_folders(folder.parent)
            folder.mkdir(0o700, exist_ok=True)

    def _set_aside(self, path: Path) -> None:
        number = 1
        while (aside := path.with_name(f"{path.name}.corrupt-{number}")).exists():
            number += 1
        path.rename(aside)
        self._warn("%s: %s is no event log; it was moved to %s", self._plugin, path, aside)

    def _failed(self, operation: str, error: Exception) -> None:
        kind = type(error).__name__
        count = self._failures.setdefault(operation, {"failures": 0})
        count.update(failures=int(str(count["failures"])) + 1, last_error=kind, last_at=time.time())
        if operation not in self._warned:
            self._warned.add(operation)
            self._warn("%s: cannot %s %s (%s); kept in memory", self._plugin, operation, self._path, kind)


class SqliteLog(EventLog):
    """The same in an SQLite file, one row per event."""

    def _stored(self) -> list[Event]:
        with self._connection() as connection:
            return [Event.read(line) for (line,) in connection.execute("SELECT line FROM events ORDER BY n")]

    def _store(self, events: Sequence[Event]) -> None:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            for event in events:
                connection.execute("INSERT INTO events (line) VALUES (?)", (event.line(),))
            connection.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        assert self._path is not None
        self._make_folders(self._path.parent)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        head = self._path.read_bytes()[:16]
        if head and head != b"SQLite format 3\0":
            self._set_aside(self._path)
            raise OSError("the file was no database")
        connection = sqlite3.connect(self._path, timeout=self.lock_wait_s, isolation_level=None)
        try:
            if not head:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("CREATE TABLE IF NOT EXISTS events (n INTEGER PRIMARY KEY, line TEXT)")
            connection.execute("SELECT count(*) FROM events")
            yield connection
        except sqlite3.DatabaseError as error:
            if not isinstance(error, sqlite3.OperationalError):
                self._set_aside(self._path)
            raise
        finally:
            connection.close()


def _events(file: IO[bytes]) -> list[Event]:
    file.seek(0)
    lines = file.read().decode().split("\n")[1:-1]  # a torn last line was never acknowledged
    return [Event.read(line) for line in lines]


def _append(file: IO[bytes], events: Sequence[Event]) -> None:
    file.seek(0)
    content = file.read()
    end = content.rfind(b"\n") + 1
    data = ("" if end else _HEAD).encode() + "".join(event.line() for event in events).encode()
    try:
        file.seek(end)
        file.truncate()
        if file.write(data) != len(data):
            raise OSError("no space left")
        os.fsync(file.fileno())
    except OSError:
        file.truncate(end)
        raise


def _fold(documents: list[Document], event: Event, row: int) -> None:
    """Add an event to the documents of its session; the last may be a question that waits for its answer."""
    if event.text is not None:
        number = sum(bool(d.answer) or d.text is not None for d in documents)
        documents.append(Document(event.session_id, number, "", "", (), event.at, event.text, row=row))
        return
    for message in event.messages:
        last = documents[-1] if documents and documents[-1].text is None else None
        if message.role == MessageRole.USER or last is None:
            if last is not None and not last.answer:
                documents.pop()
            number, said, at = len(documents), [message], event.at
        else:
            documents.pop()
            number, said, at = last.n, append_turns(last.messages, [message]), last.created_at
        exchange = make_exchange(said)
        documents.append(
            Document(
                event.session_id, number, exchange.question, exchange.answer, exchange.messages, at, row=row
            )
        )
