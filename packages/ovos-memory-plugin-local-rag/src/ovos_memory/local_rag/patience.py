"""Waiting for what may hang: a turn waits for the model and the vector store so long and no longer.

A thread says with :func:`at_most` how long everything that it waits for may take together.  Whatever may hang runs
on an :class:`OwnThread`, which can be left behind; a caller's own thread cannot.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from ovos_memory.core.shared import ProcessLock

R = TypeVar("R")

BACKGROUND_S = 120.0
"""How long work behind the conversation waits for one call."""
_IDLE_S = 20.0
"""A thread without work for so long ends; the next call starts another."""
_turn = threading.local()


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Let this thread wait ``seconds`` at most, for all calls within together; of two bounds the tighter holds."""
    before: tuple[float, float] | None = getattr(_turn, "bound", None)
    ends_at = time.monotonic() + seconds
    _turn.bound = (ends_at, seconds) if before is None else min(before, (ends_at, seconds))
    try:
        yield
    finally:
        _turn.bound = before


def left_s(otherwise: float) -> float:
    """Return the seconds that this thread may still wait; ``otherwise`` where nothing bounds it."""
    bound: tuple[float, float] | None = getattr(_turn, "bound", None)
    return otherwise if bound is None else max(0.0, bound[0] - time.monotonic())


class _Call:
    """A call and what comes of it."""

    __slots__ = ("began_at", "done", "error", "function", "value")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function: Callable[[], Any] | None = function
        self.done = threading.Event()
        self.began_at = 0.0
        self.value: Any = None
        self.error: BaseException | None = None

    def make(self) -> None:
        """Make the call, and keep nothing of what it needed."""
        function, self.function = self.function, None
        try:
            if function is not None:
                self.value = function()
        except BaseException as error:  # raised again where somebody waits
            self.error = error


class OwnThread:
    """Makes calls on one daemon thread, in their order; each caller waits as long as :func:`at_most` lets it.

    A call that outlasts its caller's patience is left to itself.  Until it has come back all others are refused at
    once: what hangs costs one thread and one wait, not one per turn.  Safe from any thread and after a fork; an idle
    thread ends when this object is collected.

    Args:
        name: Of the thread.
        refusal: Makes the error of a call that did not come back, from why.
    """

    def __init__(self, name: str, refusal: Callable[[str], Exception]) -> None:
        self._name = name
        self._refusal = refusal
        self._renewing = ProcessLock()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._line = _Line(self._name)
        weakref.finalize(self, self._line.stop)
        self._pid = os.getpid()  # last: from here on the child's other threads use the new line

    @property
    def is_late(self) -> bool:
        """Whether a call that somebody gave up has not come back yet."""
        return self._line.is_late and self._pid == os.getpid()

    def run(self, function: Callable[[], R]) -> R:
        """Return what ``function`` returns, or raise what it raises.

        Raises:
            Exception: The refusal: it did not come back in time, or an earlier call has not.
        """
        if self._pid != os.getpid():  # the thread did not come along
            with self._renewing:  # or each of the child's threads would begin a line of its own
                if self._pid != os.getpid():
                    self._begin_anew()
        line = self._line
        if threading.current_thread() is line.thread:
            return function()
        bound = cast("tuple[float, float] | None", getattr(_turn, "bound", None))
        patience_s = BACKGROUND_S if bound is None else bound[1]
        call = _Call(function)
        refused = line.take(call)
        if refused:
            raise self._refusal(refused)
        if not call.done.wait(left_s(BACKGROUND_S)) and line.give_up(call, patience_s):
            raise self._refusal(f"no answer within {patience_s:g} s")
        if call.error is not None:
            raise call.error
        return cast(R, call.value)

    def close(self) -> None:
        """Let the thread end when it has nothing to do; the next call starts another."""
        self._line.stop()


class _Line:
    """The calls that wait, and the thread that makes them; it knows nothing of who uses it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()  # re-entrant: the collector may stop it from within
        self._waiting: deque[_Call] = deque()
        self._current: _Call | None = None
        self._is_stopping = False
        self.thread: threading.Thread | None = None
        self.is_late = False

    def take(self, call: _Call) -> str:
        """Let a call join the line; return why it may not, ``""`` when it may."""
        with self._changed:
            if self.is_late:
                return "an earlier call has still not come back"
            self._waiting.append(call)
            self._is_stopping = False
            if self.thread is not None and self.thread.is_alive():
                self._changed.notify()
                return ""
            self.thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            try:
                self.thread.start()
            except RuntimeError:  # no thread to be had, or the interpreter is going down
                self.thread = None
                self._waiting.clear()
                return "no thread could be started"
            return ""

    def give_up(self, call: _Call, patience_s: float) -> bool:
        """Wait no longer for a call; ``False`` when it is done after all."""
        with self._changed:
            if call.done.is_set():
                return False
            if call in self._waiting:
                self._waiting.remove(call)
            running = self._current
            # A caller whose time was nearly over says nothing about the call that is running.
            if running is not None and time.monotonic() - running.began_at >= patience_s / 2:
                self.is_late = True
            return True

    def stop(self) -> None:
        """Let the thread end when it has nothing to do."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()

    # ------------------------------------------------------------------ the thread
    def _work(self) -> None:
        while (call := self._next()) is not None:
            call.make()
            with self._changed:
                self._current, self.is_late = None, False
                call.done.set()
            del call  # its value is the caller's; an idle thread holds nothing

    def _next(self) -> _Call | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_stopping, _IDLE_S)
            if not self._waiting:
                self.thread = None
                return None
            call = self._current = self._waiting.popleft()
            call.began_at = time.monotonic()
            return call
