"""A call that is over when its time is over, whatever the callee does.

A socket's timeout starts anew with every byte, a name lookup has none, and a chat plugin may do as it likes:
only a thread of its own can be left behind.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ovos_memory.core.errors import ModelUnavailable
from ovos_memory.core.shared import ProcessLock

R = TypeVar("R")


class Deadline:
    """A moment by which a call has to be over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends_at = time.monotonic() + seconds

    def left_s(self) -> float:
        """Return the seconds that are left, never less than 0."""
        return max(0.0, self._ends_at - time.monotonic())


class OneAtATime(Generic[R]):
    """Runs calls on a daemon thread, one after the other, and waits for each only so long.

    A call that outlasts its time is left to itself; until it has come back no other one begins, so that a
    callee that hangs costs one thread and not one per call, and a local model is never used twice at once.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._idle = threading.Lock()
        self._renewing = ProcessLock()
        self._pid = os.getpid()

    def run(
        self, function: Callable[[], R], deadline: Deadline, *, give_up: Callable[[], None] | None = None
    ) -> R:
        """Return what ``function`` returns, or raise what it raises.

        Args:
            function: What to run; on a thread of its own.
            deadline: How long to wait.
            give_up: Called when the time is over, to bring ``function`` to an end (closing its socket).

        Raises:
            ModelUnavailable: The time is over, or an earlier call has not come back yet.
        """
        with self._renewing:  # or two threads would each take a line of its own
            if (
                self._pid != os.getpid()
            ):  # a lock that was held while the process forked stays held in the child
                self._idle, self._pid = threading.Lock(), os.getpid()
        idle = self._idle
        if not idle.acquire(timeout=deadline.left_s()):
            raise ModelUnavailable(f"{self._name}: an earlier call has still not come back")
        done = threading.Event()
        outcome: dict[str, Any] = {}

        def work() -> None:
            try:
                outcome["value"] = function()
            except BaseException as error:
                outcome["error"] = error
            finally:
                idle.release()
                done.set()

        try:
            threading.Thread(target=work, name=f"memory-{self._name}", daemon=True).start()
        except RuntimeError as error:  # no thread to be had, or the interpreter is going down
            idle.release()
            raise ModelUnavailable(f"{self._name}: no thread could be started") from error
        if not done.wait(deadline.left_s()):
            if give_up is not None:
                give_up()
            raise ModelUnavailable(f"{self._name}: no answer within {deadline.seconds:g} s")
        if "error" in outcome:
            raise outcome["error"]
        value: R = outcome["value"]
        return value
