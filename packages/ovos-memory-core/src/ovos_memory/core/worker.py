"""The background worker over a ledger's pending documents: facts, summaries, vectors.

The ledger is the queue.  One worker per ledger and consumer serves all memories of a process; it claims
documents with a lease, so that several processes share the work and none of it is done twice, and what a
killed process had claimed comes up again when its lease runs out.  The thread starts with the first work, is
a daemon, ends when nothing is left to do, and knows nothing of the memories that use it.
"""

from __future__ import annotations

import atexit
import itertools
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ovos_memory.core.boundary import Boundary
from ovos_memory.core.consumer import Consumer
from ovos_memory.core.errors import DocumentGone, ModelUnavailable, StoreError
from ovos_memory.core.ledger_queue import LedgerQueue
from ovos_memory.core.shared import ProcessLock, living
from ovos_memory.core.types import Document

R = TypeVar("R")

DRAIN_S = 5.0
"""Seconds that closing a memory waits for pending work."""
EXIT_S = 2.0
"""Seconds that the end of the process waits for all workers together."""
_POLL_S = 2.0
"""How soon to look again at documents that another process has claimed."""
_RETRY_PARKED_S = 3_600.0
"""How often at most what was given up while a model was in trouble is tried again."""
_STORE_PAUSE_S, _IDLE_S = 1.0, 20.0  # a thread without work for so long ends; the next work starts another
SETTLE_S = 0.1
"""How long new work lies before it begins: the turn that brought it shall not share Python's lock with it, and what
comes with it is handled together.  Who waits for it (:meth:`Worker.drain`) does not wait for this."""
_numbers = itertools.count()
_workers: weakref.WeakSet[Worker[Any]] = weakref.WeakSet()


class Worker(Generic[R]):
    """Works through what is pending for one consumer; safe from any thread.

    Args:
        open_ledger: Returns the ledger; called on the worker's thread, and again after a failure.
        consumer: Does the work.
        plugin: Entry-point name, for messages.
        most: Documents that are handled together at most.
        clock: Returns epoch seconds, for leases.
    """

    def __init__(
        self,
        open_ledger: Callable[[], LedgerQueue],
        consumer: Consumer[R],
        *,
        plugin: str,
        most: int = 8,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._open_ledger = open_ledger
        self._consumer = consumer
        self._most = most
        self._clock = clock
        self.boundary = Boundary(plugin, clock=clock, sink=self._note_failure)
        self._guard = ProcessLock()
        self._pid = -1
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        """Begin afresh, at first and in a forked child, where the parent's thread does not exist."""
        pid = os.getpid()
        self._owner = f"{socket.gethostname()}:{pid}:{next(_numbers)}"
        self._changed = threading.Condition()  # re-entrant: the collector may close it from within
        self._thread: threading.Thread | None = None
        self._has_work = self._is_stopping = self._is_busy = self._may_cut_pause = False
        self._portion = self._most
        self._rounds = self._draining = 0
        self._begins_at = 0.0
        self._was_in_trouble = False
        self._retried_parked_at: float | None = None
        self._pid = pid  # last: from here on the child's other threads use what is above

    def _after_fork(self) -> None:
        with self._guard:
            if self._pid != os.getpid():
                self._reset()

    # ------------------------------------------------------------------ for the memories
    def wake(self) -> None:
        """Say that there may be work; returns at once.  A worker that was stopped begins again."""
        with self._guard:
            self._after_fork()
            with self._changed:
                if not self._has_work and not self._is_busy:
                    self._begins_at = time.monotonic() + SETTLE_S
                self._has_work, self._is_stopping = True, False
                self._changed.notify_all()
                if self._thread is None or not self._thread.is_alive():
                    name = f"memory-{self._consumer.name}"
                    self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                    try:
                        self._thread.start()
                    except RuntimeError:  # the interpreter is going down; what is pending is on disk
                        self._thread = None

    def drain(self, timeout_s: float, *, is_done: Callable[[], bool] | None = None) -> bool:
        """Wait until nothing is left to do, or nothing can be done now, at most ``timeout_s`` seconds.

        Args:
            timeout_s: Seconds to wait at most.
            is_done: Tells that enough is done; default: nothing is pending any more.

        Returns:
            Whether it is done.
        """
        finished = is_done or (lambda: self.pending() == 0)
        self._after_fork()
        with self._changed:  # two that add one at once would add one together
            self._draining += 1
        try:
            return self._drain(finished, time.monotonic() + timeout_s)
        finally:
            with self._changed:
                self._draining -= 1

    def _drain(self, finished: Callable[[], bool], ends_at: float) -> bool:
        while True:
            if finished():
                return True
            left_s = ends_at - time.monotonic()
            if left_s <= 0 or (not self._is_busy and self._consumer.ready_in_s() > left_s):
                return False
            self.wake()
            with self._changed:
                seen = self._rounds
                self._changed.wait_for(lambda seen=seen: self._rounds != seen, min(left_s, 0.25))  # type: ignore[misc]

    def pending(self) -> int:
        """Return how many documents wait for their turn, those that are being handled included."""
        return self._open_ledger().pending_count(self._consumer.name, self._consumer.fingerprint)

    def health(self) -> dict[str, Any]:
        """Return how much waits, how much was given up, and what failed."""
        try:
            ledger = self._open_ledger()
            waiting = ledger.pending_count(self._consumer.name, self._consumer.fingerprint)
            parked = ledger.parked(self._consumer.name)
        except StoreError:
            waiting = parked = None  # type: ignore[assignment]
        return {
            "pending": waiting,
            "parked": parked,
            "busy": self._is_busy,
            "operations": self.boundary.counts(),
        }

    def close(self) -> None:
        """Tell the thread to end after what it is doing; returns at once."""
        if self._pid != os.getpid():
            return
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end."""
        thread = self._thread
        if thread is not None and self._pid == os.getpid() and thread is not threading.current_thread():
            thread.join(timeout_s)

    # ------------------------------------------------------------------ the thread
    def _run(self) -> None:
        pause_s = 0.0
        while self._may_go_on(pause_s):
            pause_s = self.boundary.call("background work", self._round, lambda: _STORE_PAUSE_S)
            with self._changed:
                self._is_busy = False
                self._rounds += 1
                self._changed.notify_all()

    def _may_go_on(self, pause_s: float) -> bool:
        """Wait out a pause, then for work; False when the thread shall end."""
        with self._changed:
            if pause_s > 0:
                self._changed.wait_for(
                    lambda: self._is_stopping or (self._may_cut_pause and self._has_work), pause_s
                )
            elif not self._has_work and not self._is_stopping:
                self._changed.wait_for(lambda: self._has_work or self._is_stopping, _IDLE_S)
            settled_in_s = self._begins_at - time.monotonic()
            self._changed.wait_for(lambda: self._is_stopping or self._draining > 0, settled_in_s)
            if self._is_stopping or (pause_s <= 0 and not self._has_work):
                self._thread = None
                return False
            self._has_work = self._may_cut_pause = False
            self._is_busy = True
            return True

    def _round(self) -> float:
        """Handle one portion; return the seconds to pause before the next (0: wait for work)."""
        pause_s = self._consumer.ready_in_s()
        if pause_s > 0:
            return pause_s
        ledger, consumer = self._open_ledger(), self._consumer
        claimed = ledger.claim(
            consumer.name,
            consumer.fingerprint,
            limit=self._portion,
            lease_s=consumer.lease_s,
            owner=self._owner,
            now=self._clock(),
        )
        if not claimed:
            self._may_cut_pause = True  # others are at work; something new need not wait for them
            return _POLL_S if ledger.pending_count(consumer.name, consumer.fingerprint) else 0.0
        with self._changed:
            self._has_work = True  # look again when this is done
        chosen = list(consumer.choose(claimed)) or claimed[:1]
        rest = [document for document in claimed if document not in chosen]
        if rest:
            ledger.release(consumer.name, consumer.fingerprint, rest, owner=self._owner)
        return self._attempt(ledger, chosen)

    def _attempt(self, ledger: LedgerQueue, documents: list[Document]) -> float:
        consumer = self._consumer
        try:
            consumer.keep(documents, consumer.handle(documents))
        except (ModelUnavailable, StoreError) as error:
            self._was_in_trouble = True
            self.boundary.failed(consumer.name, error)
            self._give_back(ledger, documents)
            return max(consumer.ready_in_s(), 0.05 if isinstance(error, ModelUnavailable) else _STORE_PAUSE_S)
        except DocumentGone:
            self._give_back(ledger, documents)
        except Exception as error:
            self._was_in_trouble = self._was_in_trouble or consumer.ready_in_s() > 0
            self.boundary.failed(consumer.name, error)
            if len(documents) > 1:
                self._portion = len(documents) // 2
                self._give_back(ledger, documents)
            else:
                ledger.failed(consumer.name, consumer.fingerprint, documents, owner=self._owner)
            return consumer.ready_in_s()
        else:
            self._portion = min(self._most, 2 * self._portion)
            self._recover(ledger)
        return 0.0

    def _recover(self, ledger: LedgerQueue) -> None:
        """Try again what was given up during trouble; not often, for some of it may be the cause."""
        if not self._was_in_trouble:
            return
        self._was_in_trouble = False
        last, now = self._retried_parked_at, time.monotonic()
        if last is None or now - last >= _RETRY_PARKED_S:
            self._retried_parked_at = now
            ledger.retry_parked(self._consumer.name)

    def _give_back(self, ledger: LedgerQueue, documents: list[Document]) -> None:
        self.boundary.call(
            "release",
            lambda: ledger.release(
                self._consumer.name, self._consumer.fingerprint, documents, owner=self._owner
            ),
            lambda: None,
        )

    def _note_failure(self, operation: str, kind: str, at: float) -> None:
        note = getattr(self._open_ledger(), "note_failure", None)
        if note is not None:
            note(operation, kind, at)


def _stop_all() -> None:
    """Give all workers together two seconds to finish what they are doing; the rest is pending on disk."""
    ends_at = time.monotonic() + EXIT_S
    workers = living(_workers)
    for worker in workers:
        worker.close()
    for worker in workers:
        worker.join(max(0.0, ends_at - time.monotonic()))


atexit.register(_stop_all)
