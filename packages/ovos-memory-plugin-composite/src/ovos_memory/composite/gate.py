"""One member's calls: each with a deadline, none while an earlier one is overdue, writes kept until then."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from ovos_memory.composite.pool import POOL, DaemonPool
from ovos_memory.core.errors import MemberError
from ovos_memory.core.shared import living

R = TypeVar("R")

MAX_HELD_WRITES = 1_000
"""Writes kept for a member that hangs; beyond it the oldest are lost."""


class MemberBusy(MemberError):
    """An earlier call to the member has not come back yet, so no other is made."""


class Call(Generic[R]):
    """A call under way: wait for it at its gate."""

    def __init__(self, function: Callable[[], R]) -> None:
        self._function: Callable[[], R] | None = function
        self.value: R | None = None
        self.error: BaseException | None = None
        self.is_done = threading.Event()
        self.is_overdue = False

    def run(self) -> None:
        """Make the call and keep what comes of it."""
        function, self._function = self._function, None
        if function is None:
            return
        try:
            self.value = function()
        except BaseException as error:  # raised again where somebody waits
            self.error = error


class Gate:
    """Lets calls through to one member; safe from any thread.

    A call that outlasts its deadline closes the gate until it has come back: calling a member that hangs
    again and again would only pile up threads.  Writes that meanwhile arrive are made afterwards, in their
    order.

    Args:
        pool: Where the calls run.
        on_late_failure: Told of a call that failed, or a write that was lost, when nobody waits any more.
    """

    def __init__(
        self,
        *,
        pool: DaemonPool = POOL,
        on_late_failure: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self._pool = pool
        self._on_late_failure = on_late_failure
        self.lost = 0
        self.reset()
        _GATES.add(self)

    def reset(self) -> None:
        """Open the gate and forget what is under way; in a forked child that is its parent's."""
        self._changed = threading.Condition()
        self._overdue = 0
        self._held: deque[Callable[[], object]] = deque()

    @property
    def is_open(self) -> bool:
        """Whether the member is called."""
        return self._overdue == 0

    @property
    def held(self) -> int:
        """How many writes wait for the member to come back."""
        return len(self._held)

    def start(self, function: Callable[[], R]) -> Call[R]:
        """Begin a call.

        Raises:
            MemberBusy: The gate is closed.
        """
        with self._changed:
            if self._overdue:
                raise MemberBusy("an earlier call has not come back yet")
        return self._begin(function)

    def start_or_hold(self, write: Callable[[], R]) -> Call[R] | None:
        """Begin a write, or keep it (``None``) while the gate is closed."""
        with self._changed:
            if not self._overdue:
                return self._begin(write)
            self._held.append(write)
            is_full = len(self._held) > MAX_HELD_WRITES
            if is_full:
                self._held.popleft()
                self.lost += 1
        if is_full:
            self._on_late_failure(
                MemberError(f"more than {MAX_HELD_WRITES} writes wait for it, the oldest are lost")
            )
        return None

    def wait(self, call: Call[R], deadline: float) -> Call[R]:
        """Return the call once it is over.

        Args:
            call: What :meth:`start` returned.
            deadline: By ``time.monotonic()``.

        Raises:
            MemberError: It is not over in time; the gate is closed until it is.
        """
        remaining = min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)
        if not call.is_done.wait(remaining):
            with self._changed:
                if not call.is_done.is_set():
                    call.is_overdue = True
                    self._overdue += 1
                    raise MemberError(
                        "no answer within member_timeout_s; it is left out until the call has come back"
                    )
        return call

    def drain(self, timeout_s: float) -> bool:
        """Wait until the gate is open and no write is held; tell whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._overdue, timeout_s)

    def _begin(self, function: Callable[[], R]) -> Call[R]:
        call = Call(function)
        self._pool.submit(lambda: self._run(call))
        return call

    def _run(self, call: Call[R]) -> None:
        call.run()
        with self._changed:
            call.is_done.set()
            is_overdue = call.is_overdue
        if is_overdue:
            if call.error is not None:
                self._on_late_failure(call.error)
            self._come_back()

    def _come_back(self) -> None:
        """Make the held writes and open the gate; the last overdue call to come back does it."""
        while True:
            with self._changed:
                if self._overdue > 1 or not self._held:
                    self._overdue -= 1
                    self._changed.notify_all()
                    return
                write = self._held.popleft()
            try:
                write()
            except BaseException as error:  # there is no caller left to raise it to
                self._on_late_failure(error)


_GATES: weakref.WeakSet[Gate] = weakref.WeakSet()


def _reset_all() -> None:
    for gate in living(_GATES):
        gate.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
