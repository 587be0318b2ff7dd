"""What was said, recorded once and for all: pairs messages across calls, writes exchanges, shows the window.

Every memory on a ledger records through a journal.  It never raises for I/O: what cannot be written is held
(:mod:`ovos_memory.core.backlog`) and visible all the same.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.backlog import Backlog, let_go
from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import StoreError
from ovos_memory.core.exchanges import (
    append_turns,
    copy_message,
    is_answered,
    make_exchange,
    whole_tool_turns,
    window,
)
from ovos_memory.core.said import really_said
from ovos_memory.core.shared import LruDict, ProcessLock
from ovos_memory.core.text import clean
from ovos_memory.core.types import Document, Exchange

if TYPE_CHECKING:  # SQLite's modules are slow to load and not needed before the first use
    from ovos_memory.core.ledger import SqliteLedger

MAX_OPEN_SESSIONS = 8_000
"""Sessions whose unanswered question is remembered; beyond it the least recently used go."""
_LONGEST_ANSWER = 65_536
"""Characters; later pieces of an answer that is longer begin a new document, so that none grows without end."""
_PAGE, _MAX_PAGE = 64, 256


class Journal:
    """Records the exchanges of many sessions; safe from any thread.

    Args:
        open_ledger: Opens the ledger, at the first use.
        boundary: Counts and logs what fails.
        clock: Returns epoch seconds.
        on_stored: Told of documents that reached the disk only after a delay.
    """

    def __init__(
        self,
        open_ledger: Callable[[], SqliteLedger],
        *,
        boundary: Boundary,
        clock: Callable[[], float] = time.time,
        on_stored: Callable[[list[Document]], None] | None = None,
    ) -> None:
        self._clock = clock
        self._boundary = boundary
        self._backlog = Backlog(open_ledger, boundary=boundary, on_stored=on_stored)
        self._open: LruDict[str, list[AgentMessage]] = LruDict(MAX_OPEN_SESSIONS)
        # Held while an exchange goes to the disk: a child that is forked just then must not find one taken.
        self._locks = [ProcessLock() for _ in range(64)]
        self._finalizer = weakref.finalize(self, let_go, self._backlog)

    @property
    def ledger(self) -> SqliteLedger:
        """The ledger.

        Raises:
            StoreError: It cannot be opened just now.
        """
        return self._backlog.ledger()

    # ------------------------------------------------------------------ recording
    def record(self, messages: Iterable[AgentMessage] | None, session_id: str) -> list[Document]:
        """Record messages and return the documents that came of them, new or longer ones.

        A question waits in memory for its answer, which may come in a later call and in several pieces; pieces that
        follow an answered question make its document longer.  A question that another one follows got no answer and
        is dropped.
        """
        pieces = really_said(messages)
        if not pieces:
            return []
        with self._locks[hash(session_id) % len(self._locks)]:
            draft = self._open.pop(session_id, [])
            written: list[Document] = []
            for piece in pieces:
                if piece.role is MessageRole.USER:
                    if any(m.role is not MessageRole.USER for m in draft):
                        written += self._commit(session_id, draft)
                    draft = [piece]
                elif piece.role is not MessageRole.TOOL or any(m.tool_calls for m in draft):
                    draft = append_turns(draft, [piece])
            if is_answered(draft):
                written += self._commit(session_id, draft)
            elif draft:
                self._open[session_id] = draft
            return written

    def _commit(self, session_id: str, draft: list[AgentMessage]) -> list[Document]:
        if draft[0].role is not MessageRole.USER:
            newest = self._backlog.newest(session_id)
            if newest is not None and newest.messages and len(newest.answer) < _LONGEST_ANSWER:
                return [self._backlog.extend(newest, draft)]
        exchange = make_exchange(draft)
        if _is_silent(exchange):
            return []
        return [self._backlog.append(session_id, exchange, self._clock())]

    def store_text(self, text: str, session_id: str, metadata: Mapping[str, Any] | None = None) -> Document:
        """Store one text verbatim as a document of its own."""
        facts = dict(metadata) if isinstance(metadata, Mapping) else {}
        return self._backlog.append_text(session_id, clean(text), self._clock(), facts)

    # ------------------------------------------------------------------ looking back
    def window(
        self, session_id: str, max_messages: int, *, enough_chars: int | None = None
    ) -> list[AgentMessage]:
        """Return the session's last messages, oldest first, as private copies.

        Args:
            session_id: The session.
            max_messages: How many at most; 0: all.
            enough_chars: With ``max_messages`` 0: stop once the messages hold this many characters, for a caller
                that would cut the rest anyway.

        Raises:
            StoreError: The ledger cannot be read; :meth:`held_window` is what is left then.
        """
        ledger, page, chars = self.ledger, max_messages or _PAGE, 0
        # Before the ledger is read: what reaches the disk in between is in one of them at least, and counts once.
        held = self._backlog.held(session_id)
        older = documents = ledger.tail(session_id, page)
        while len(older) == page:
            if max_messages:
                if len(self._messages(session_id, documents, held)) >= max_messages:
                    break
            else:
                chars += sum(len(m.content) for document in older for m in document.messages)
                if enough_chars is not None and chars > enough_chars:
                    break
            page = min(4 * page, _MAX_PAGE)
            older = ledger.tail(session_id, page, before_n=documents[0].n)
            documents = [*older, *documents]
        messages = self._messages(session_id, documents, held)
        return window(messages, max_messages) if max_messages else messages

    def held_window(self, session_id: str, max_messages: int) -> list[AgentMessage]:
        """Return the window of what is only in memory, for when the ledger cannot be read."""
        return window(self._messages(session_id, [], self._backlog.held(session_id)), max_messages)

    def _messages(
        self, session_id: str, documents: list[Document], in_memory: list[Document]
    ) -> list[AgentMessage]:
        """Return what these documents, just read, and those in memory say; none of it is anybody else's."""
        held = {d.id: d for d in in_memory}
        said: list[AgentMessage] = []
        for document in documents:
            longer = held.pop(document.id, None) if held else None
            said += document.messages if longer is None else map(copy_message, longer.messages)
        said += [copy_message(m) for d in held.values() for m in d.messages]
        said += [copy_message(m) for m in self._open.get(session_id) or ()]
        return whole_tool_turns(append_turns([], said))

    def documents(self, session_id: str | None = None) -> Iterator[Document]:
        """Yield every accepted document, oldest first, those that are not on disk yet last.

        While the ledger cannot be read only the latter come, and the failure is counted.

        Args:
            session_id: Only this session's; ``None``: all.
        """
        held = {document.id: document for document in self._backlog.held(session_id)}
        try:
            for document in self.ledger.documents(session_id=session_id):
                yield held.pop(document.id, document)
        except StoreError as error:
            self._boundary.failed("search", error, session_id=session_id)
        yield from held.values()

    def held(self, session_id: str | None = None) -> list[Document]:
        """Return accepted documents that are not on disk yet (ids may still change)."""
        return self._backlog.held(session_id)

    def newest_number(self, session_id: str) -> int:
        """Return the number of the session's newest document, 0 when it has none."""
        newest = self._backlog.newest(session_id)
        return 0 if newest is None else newest.n

    # ------------------------------------------------------------------ forgetting
    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Let nobody record while something is forgotten: nothing may slip from memory to disk in between."""
        with contextlib.ExitStack() as stack:
            for lock in self._locks:
                stack.enter_context(lock)
            stack.enter_context(self._backlog.quiet())
            yield

    def flush(self) -> bool:
        """Write what is held, in order; True when nothing is left."""
        return self._backlog.flush()

    def forget_held(self, is_meant: Callable[[Document], bool]) -> list[Document]:
        """Drop the documents that are not on disk yet and that ``is_meant`` chooses; return them."""
        return self._backlog.forget_held(is_meant)

    def open_questions(self, session_id: str | None = None) -> dict[str, list[AgentMessage]]:
        """Return copies of what waits in memory for its answer, by session."""
        names = list(self._open) if session_id is None else [session_id]
        found = {name: draft for name in names if (draft := self._open.get(name))}
        return {name: [copy_message(message) for message in draft] for name, draft in found.items()}

    def forget_open(self, session_id: str) -> None:
        """Drop the question that waits for its answer; the caller keeps others :meth:`quiet`."""
        self._open.pop(session_id, None)

    # ------------------------------------------------------------------ state
    def health(self) -> dict[str, Any]:
        """Return how much waits in memory and how much was lost."""
        try:
            self._backlog.ledger()
            trouble = None
        except StoreError as error:
            trouble = str(error)
        return {"held": len(self._backlog.held()), "lost": self._backlog.lost, "store_error": trouble}

    def note_failure(self, operation: str, type_name: str, at: float) -> None:
        """Note in the ledger what failed, for other processes to see; not while the ledger cannot be opened."""
        ledger = self._backlog.opened
        if ledger is not None:
            ledger.note_failure(operation, type_name, at)

    def close(self, timeout_s: float = 1.0) -> None:
        """Write what is held, waiting for a lock at most ``timeout_s``; the journal may be used again."""
        self._backlog.close(timeout_s)


def _is_silent(exchange: Exchange) -> bool:
    return not (exchange.question or exchange.answer or any(m.tool_calls for m in exchange.messages))
