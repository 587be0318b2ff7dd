"""A state store that never fails its caller: what cannot be written is held in memory until it can."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ovos_memory.core.errors import StoreDamaged, StoreError, StoreLocked, StoreUnavailable
from ovos_memory.core.shared import ProcessLock, living
from ovos_memory.core.state_types import WAIT_S, Change, DurableState, Record

R = TypeVar("R")

MAX_HELD = 1_000
"""Changes kept while the store cannot be written; beyond it the oldest are lost, and counted."""
_PATIENT_AGAIN_S = 1.0
_RETRY_FROM_S, _RETRY_TO_S = 0.25, 30.0
_EXIT_S = 2.0

_live: weakref.WeakSet[ResilientState] = weakref.WeakSet()


class ResilientState:
    """See :class:`~ovos_memory.core.state_types.StateStore`, without its errors; safe from any thread.

    A change that cannot be written is seen by every later :meth:`load` all the same.  It is tried again with
    the next change and in the background, and is called once more then.  Within a second after a failure
    nothing waits for other processes any more.

    Args:
        open_store: Opens the store; called at the first use, and again while it fails.
        on_failure: Told of every failure: an operation (``read``, ``write``, ``backlog``, ``change``) and the
            error.
        on_success: Told of operations that worked (``read``, ``write``), after they had failed.
        clock: Seconds that never go back.
        max_held: Changes held at most.
    """

    def __init__(
        self,
        open_store: Callable[[], DurableState],
        *,
        on_failure: Callable[[str, Exception], None] | None = None,
        on_success: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        max_held: int = MAX_HELD,
    ) -> None:
        self._open_store = open_store
        self._on_failure = on_failure
        self._on_success = on_success
        self._clock = clock
        self._max_held = max_held
        self._lock = ProcessLock()
        self._store: DurableState | None = None
        self._hold_nothing()
        _live.add(self)

    def _hold_nothing(self) -> None:
        self._held: list[tuple[str, Change]] = []
        self._lost = 0
        self._failing: dict[str, StoreError] = {}
        self._failed_at = float("-inf")
        self._retrying: threading.Thread | None = None
        self._stop = threading.Event()

    # ------------------------------------------------------------------ the store
    def load(self, session_id: str) -> Record | None:
        """Return a private copy of a session's record, with what could not be written yet."""
        if not self._held:
            return self._read(session_id)
        with self._lock:  # no flush in between: a change must not be seen twice
            record = self._read(session_id)
            for session, change in self._held:
                if session == session_id:
                    record = change(record)
            return record

    def update(self, session_id: str, change: Change) -> Record | None:
        """Replace a session's record by what ``change`` makes of it; durable when the call returns, or held.

        What ``change`` raises reaches the caller, and nothing has changed.
        """
        if self._held:
            with self._lock:
                self._flush()
                if self._held:
                    return self._hold(session_id, change)
        try:
            result = self._apply([(session_id, change)])[0]
        except StoreError as error:
            self._failed("write", error)
            with self._lock:
                return self._hold(session_id, change)
        self._succeeded("write")
        return result

    def sessions(self) -> list[str]:
        """Return the sessions that have a record, written or held."""
        return [session_id for session_id, _ in self.items()] if self._held else self._listed()

    def items(self) -> Iterator[tuple[str, Record]]:
        """Yield every session with a private copy of its record, written or held."""
        held = dict.fromkeys(session_id for session_id, _ in list(self._held))
        for session_id in dict.fromkeys([*self._listed(), *held]):
            record = self.load(session_id)
            if record is not None:
                yield session_id, record

    def flush(self) -> bool:
        """Try to write what is held; True when nothing is left."""
        with self._lock:
            self._flush()
            return not self._held

    def scrub(self) -> list[Path]:
        """See :meth:`~ovos_memory.core.state_types.DurableState.scrub`; what is held is written first.

        Raises:
            StoreError: The store cannot be written or cleaned.
        """
        with self._lock:
            self._flush()
            if self._held:
                raise self._last_error() or StoreUnavailable("changes wait for the store; scrub again later")
            return self._opened().scrub()

    def close(self) -> None:
        """Try once more to write what is held, and free what the store holds; it may be used again.

        What cannot be written now is tried again in the background, as long as the process lives.
        """
        self._stop.set()
        with self._lock:
            self._flush()
            self._retrying, self._stop = None, threading.Event()
            if self._store is not None:
                self._store.close()
            if self._held:
                self._retry_later()

    def health(self) -> dict[str, Any]:
        """Return how many changes are ``held`` and ``lost``, and the ``store_error`` that still stands."""
        error = self._last_error()
        return {
            "held": len(self._held),
            "lost": self._lost,
            "store_error": None if error is None else str(error),
        }

    # ------------------------------------------------------------------ inside
    def _read(self, session_id: str) -> Record | None:
        def load(store: DurableState) -> Record | None:
            return store.load(session_id, wait_s=self._wait_s())

        try:
            record = self._twice_when_damaged(load)
        except StoreError as error:
            self._failed("read", error)
            return None
        self._succeeded("read")
        return record

    def _listed(self) -> list[str]:
        try:
            return self._twice_when_damaged(lambda store: store.sessions())
        except StoreError as error:
            self._failed("read", error)
            return []

    def _apply(self, changes: list[tuple[str, Change]]) -> list[Record | None]:
        return self._twice_when_damaged(lambda store: store.apply(changes, wait_s=self._wait_s()))

    def _twice_when_damaged(self, work: Callable[[DurableState], R]) -> R:
        """Do the work; a damaged file was set aside by the first try, so the second finds a new one."""
        try:
            return work(self._opened())
        except StoreDamaged:
            return work(self._opened())

    def _opened(self) -> DurableState:
        if self._store is not None:
            return self._store
        with self._lock:
            if self._store is None:
                last = self._last_error()
                if isinstance(last, StoreLocked) and self._wait_s() == 0.0:  # opening would wait for the lock
                    raise last
                self._store = self._open_store()
            return self._store

    def _wait_s(self) -> float:
        return 0.0 if self._clock() - self._failed_at < _PATIENT_AGAIN_S else WAIT_S

    def _hold(self, session_id: str, change: Change) -> Record | None:
        """Keep a change for later and return what it makes of the record; the caller has the lock."""
        record = change(self.load(session_id))
        self._held.append((session_id, change))
        if len(self._held) > self._max_held:
            del self._held[0]
            self._lost += 1
            self._tell(
                "backlog",
                StoreUnavailable(f"over {self._max_held} changes wait for the store; the oldest is lost"),
            )
        self._retry_later()
        return record

    def _retry_later(self) -> None:
        """Try again in the background; the caller has the lock."""
        if self._retrying is None:
            self._retrying = threading.Thread(
                target=_retry, args=(self, self._stop), name="memory-state", daemon=True
            )
            self._retrying.start()

    def _flush(self) -> None:
        """Write what is held, as one; the caller has the lock."""
        if not self._held:
            return
        try:
            try:
                self._apply(self._held)
                self._held = []
            except StoreError:
                raise
            except Exception:  # one change raised: it must not stop the others
                self._flush_singly()
        except StoreError as error:
            self._failed("write", error)
            return
        self._succeeded("write")

    def _flush_singly(self) -> None:
        while self._held:
            try:
                self._apply(self._held[:1])
            except StoreError:
                raise
            except Exception as error:
                self._lost += 1
                self._tell("change", error)
            del self._held[0]

    def _last_error(self) -> StoreError | None:
        # Copied in one step: an iterator breaks when another thread's call fails, or works again, before its next.
        errors = list(self._failing.values())
        return errors[-1] if errors else None

    def _failed(self, operation: str, error: StoreError) -> None:
        self._failing[operation] = error
        self._failed_at = self._clock()
        self._tell(operation, error)

    def _tell(self, operation: str, error: Exception) -> None:
        if self._on_failure is not None:
            self._on_failure(operation, error)

    def _succeeded(self, operation: str) -> None:
        if self._failing and self._failing.pop(operation, None) is not None and self._on_success is not None:
            self._on_success(operation)


def _retry(state: ResilientState, stop: threading.Event) -> None:
    """Write what is held as soon as the store recovers, without a call from outside."""
    delay_s = _RETRY_FROM_S
    while not stop.wait(delay_s):
        with state._lock:
            state._flush()
            if not state._held:
                state._retrying = None
                return
        delay_s = min(2 * delay_s, _RETRY_TO_S)


def _flush_all() -> None:
    """Write what is held when the process ends; does not begin another store after two seconds."""
    deadline = time.monotonic() + _EXIT_S
    for state in living(_live):
        if state._held and time.monotonic() < deadline:
            state.flush()


def _after_fork_in_child() -> None:
    """Hold nothing: that belongs to the parent, which will write it."""
    for state in living(_live):
        state._hold_nothing()


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
