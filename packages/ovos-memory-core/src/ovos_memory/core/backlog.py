"""Exchanges on their way to a ledger: written at once, or held in memory, in order, until the store can be written.

A locked database, a full disk or a missing folder must neither stop a conversation nor lose what was said in it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ovos_plugin_manager.templates.agents import AgentMessage
from ovos_utils.log import LOG

from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import DocumentGone, StoreError, StoreLocked, StoreUnavailable
from ovos_memory.core.exchanges import make_exchange
from ovos_memory.core.held import Held, exchange_of, longer_by
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.types import Document, Exchange

if TYPE_CHECKING:  # SQLite's modules are slow to load and not needed before the first use
    from ovos_memory.core.ledger import SqliteLedger

R = TypeVar("R")

MAX_HELD = 1_000
"""Exchanges kept in memory while a store cannot be written; beyond it the oldest are lost, and counted."""
_REOPEN_AFTER_S = 1.0
_RETRY_FROM_S, _RETRY_TO_S = 0.25, 30.0


class Backlog:
    """The write path to one ledger; safe from any thread.

    Args:
        open_ledger: Opens the ledger; called at the first use, and again after a failure.  Raises
            :class:`~ovos_memory.core.errors.StoreError`.
        boundary: Counts and logs the failures.
        on_stored: Told of documents that reached the disk after they were held.
    """

    def __init__(
        self,
        open_ledger: Callable[[], SqliteLedger],
        *,
        boundary: Boundary,
        on_stored: Callable[[list[Document]], None] | None = None,
    ) -> None:
        self._open_ledger = open_ledger
        self._boundary = boundary
        self._on_stored = on_stored
        self._renewing = ProcessLock()
        self._reset()

    def _reset(self) -> None:
        self._ledger: SqliteLedger | None = None
        self._open_lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._lock = threading.RLock()  # re-entrant: the collector may close us from within
        self._held: dict[str, Held] = {}
        self._open_error: StoreError | None = None
        self._reopen_at = 0.0
        self._lost = 0
        self._is_flushing = False
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._pid = os.getpid()  # last: from here on the child's other threads use what is above

    def _after_fork(self) -> None:
        """Start afresh in a forked child: what is held belongs to the parent, which will write it."""
        if self._pid != os.getpid():
            with self._renewing:
                if self._pid != os.getpid():
                    self._reset()

    # ------------------------------------------------------------------ the ledger
    @property
    def opened(self) -> SqliteLedger | None:
        """The ledger if it is open."""
        return self._ledger

    def ledger(self) -> SqliteLedger:
        """Return the open ledger.

        Raises:
            StoreError: It cannot be opened.  For a second after a try that waited for a lock in vain the same error
                comes without waiting again.
        """
        self._after_fork()
        opened = self._ledger  # looked at once: another thread may close it at any moment
        if opened is not None:
            return opened
        with self._open_lock:
            opened = self._ledger
            if opened is not None:
                return opened
            if self._open_error is not None and time.monotonic() < self._reopen_at:
                raise self._open_error
            try:
                opened = self._ledger = self._open_ledger()
            except StoreLocked as error:
                self._open_error, self._reopen_at = error, time.monotonic() + _REOPEN_AFTER_S
                raise
            return opened

    # ------------------------------------------------------------------ writing
    def append(self, session_id: str, exchange: Exchange, created_at: float) -> Document:
        """Store a new exchange; on disk when the call returns, or held."""
        document = Document(session_id, 0, exchange.question, exchange.answer, exchange.messages, created_at)
        return self._write(Held(document))

    def append_text(
        self, session_id: str, text: str, created_at: float, metadata: dict[str, Any]
    ) -> Document:
        """Store a verbatim text; on disk when the call returns, or held."""
        return self._write(
            Held(Document(session_id, 0, "", "", (), created_at, text=text, metadata=metadata))
        )

    def extend(self, document: Document, pieces: Sequence[AgentMessage]) -> Document:
        """Add later pieces to a document.

        When it was forgotten meanwhile the pieces become a document of their own: nothing forgotten comes back.
        """
        with self._write_lock:
            with self._lock:
                held = self._held.get(document.id)
                if held is not None:
                    earlier = held.pieces
                    longer = longer_by(held.document, pieces)
                    self._held[document.id] = Held(longer, None if earlier is None else (*earlier, *pieces))
                    return longer
            return self._write(Held(longer_by(document, pieces), tuple(pieces)))

    def _write(self, item: Held) -> Document:
        self._after_fork()
        with self._write_lock:
            if self.flush():
                try:
                    return self._store(item)
                except StoreError as error:
                    self._boundary.failed("write", error, session_id=item.document.session_id)
            return self._hold(item)

    def _store(self, item: Held, wait_s: float = 1.0) -> Document:
        document, ledger = item.document, self.ledger()
        exchange = exchange_of(document)
        if item.pieces is not None:
            while (current := ledger.get(document.id)) is not None:
                try:
                    longer = exchange_of(longer_by(current, item.pieces))
                    return ledger.extend(current, longer, wait_s=wait_s)
                except DocumentGone:
                    LOG.debug("a document changed while it grew; it is read again")
            exchange = make_exchange(item.pieces)
        if document.text is not None:
            return ledger.append_text(
                document.session_id,
                document.text,
                created_at=document.created_at,
                metadata=document.metadata,
                wait_s=wait_s,
            )
        return ledger.append(document.session_id, exchange, created_at=document.created_at, wait_s=wait_s)

    def _hold(self, item: Held) -> Document:
        if item.pieces is None:
            newest = self.newest(item.document.session_id)
            item = Held(replace(item.document, n=newest.n + 1 if newest else 0))
        with self._lock:
            self._held[item.document.id] = item
            dropped = len(self._held) > MAX_HELD
            if dropped:
                self._held.pop(next(iter(self._held)))
                self._lost += 1
        if dropped:
            self._boundary.failed(
                "backlog",
                StoreUnavailable(f"more than {MAX_HELD} exchanges wait for the store; the oldest is lost"),
            )
        self._retry_later()
        return item.document

    # ------------------------------------------------------------------ held documents
    def flush(self, wait_s: float = 0.0) -> bool:
        """Write what is held, in order; True when nothing is left."""
        self._after_fork()
        if not self._held:
            return True
        stored: list[Document] = []
        with self._write_lock:
            if self._is_within_write():
                return False
            self._is_flushing = True
            try:
                self._flush(stored, wait_s)
            finally:
                self._is_flushing = False
        if stored and self._on_stored is not None:
            self._on_stored(stored)
        return not self._held

    def _is_within_write(self) -> bool:
        """Tell whether this thread is writing already: the collector may close a backlog in the middle of that."""
        ledger = self._ledger
        return self._is_flushing or (ledger is not None and ledger.database.is_written_here)

    def _flush(self, stored: list[Document], wait_s: float) -> None:
        while self._held:
            with self._lock:
                key, item = next(iter(self._held.items()))
            try:
                stored.append(self._store(item, wait_s))
            except StoreError:
                return
            except Exception as error:  # one document that no store takes must not stop those behind it
                self._boundary.failed("flush", error, session_id=item.document.session_id)
                self._lost += 1
            with self._lock:
                self._held.pop(key, None)

    def held(self, session_id: str | None = None) -> list[Document]:
        """Return the documents that are not on disk yet, oldest first (``None``: of all sessions)."""
        self._after_fork()
        with self._lock:
            documents = [item.document for item in self._held.values()]
        return [d for d in documents if session_id is None or d.session_id == session_id]

    def quiet(self) -> AbstractContextManager[object]:
        """Return what keeps all others from writing, as a context."""
        self._after_fork()
        return self._write_lock

    def forget_held(self, is_meant: Callable[[Document], bool]) -> list[Document]:
        """Drop the held documents that ``is_meant`` chooses, and return them."""
        with self._write_lock, self._lock:
            gone = [item.document for item in self._held.values() if is_meant(item.document)]
            for document in gone:
                del self._held[document.id]
        return gone

    def newest(self, session_id: str) -> Document | None:
        """Return the session's newest document, held or stored; ``None`` when there is none to be seen."""
        held = self.held(session_id)
        if held:
            return held[-1]
        try:
            return self.ledger().newest(session_id)
        except StoreError:
            return None

    @property
    def lost(self) -> int:
        """Exchanges that never reached the disk and are no longer held."""
        return self._lost

    # ------------------------------------------------------------------ retrying and closing
    def _retry_later(self) -> None:
        with self._lock:
            if self._closing.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(
                target=_retry, args=(weakref.ref(self), self._closing), name="memory-backlog", daemon=True
            )
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is going down: from Python 3.12 on no thread starts then
                self._thread = None

    def _is_flushed(self) -> bool:
        """Write what is held; true when nothing is left, so that the thread that asks may end."""
        self.flush()
        with self._lock:  # what is held from here on finds no thread, and starts one
            if self._held:
                return False
            if self._thread is threading.current_thread():
                self._thread = None
            return True

    def close(self, timeout_s: float = 1.0) -> None:
        """Try once more to write what is held, waiting for a lock at most ``timeout_s``, and let go of the ledger.

        What cannot be written now is tried again in the background, as long as the process and the memory live.
        """
        if self._pid != os.getpid():
            return
        self._closing.set()
        self.flush(timeout_s)
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            ledger.close()
        with self._lock:
            self._closing, self._thread = threading.Event(), None
        if self._held:
            self._retry_later()


def let_go(backlog: Backlog) -> None:
    """Close the backlog of a journal that is gone; runs wherever the collector does, perhaps within a write."""
    backlog.close()
    if backlog.held():
        with contextlib.suppress(RuntimeError):  # the interpreter is going down
            threading.Thread(target=backlog.close, name="memory-backlog", daemon=True).start()


def _retry(backlog: weakref.ref[Backlog], closing: threading.Event) -> None:
    """Write held documents as soon as the store recovers, without a call from outside."""
    delay_s = _RETRY_FROM_S
    while not closing.wait(delay_s):
        target = backlog()
        if target is None or target._is_flushed():
            return
        del target
        delay_s = min(2 * delay_s, _RETRY_TO_S)
