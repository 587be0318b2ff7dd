"""Pauses after failures: back-off first, then a circuit breaker, in one schedule."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ovos_memory.core.errors import ModelUnavailable
from ovos_memory.core.llm.deadline import Deadline
from ovos_memory.core.shared import ProcessLock

PAUSES_S = (1.0, 2.0, 30.0, 90.0, 270.0, 600.0)
"""Seconds without a request after the first, second … failure in a row: two quick retries, then pauses."""
OPEN_AFTER = 3
"""Failures in a row after which only one request at a time probes the server."""


class Breaker:
    """Counts requests that failed in a row and says how long to pause; safe from any thread.

    Args:
        name: What it guards, for messages.
        pauses_s: Seconds to pause after the first, second … failure in a row; the last one is repeated.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        name: str,
        *,
        pauses_s: Sequence[float] = PAUSES_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._pauses_s = tuple(pauses_s)
        self._clock = clock
        self._lock = ProcessLock()
        self._turn = ProcessLock()
        """Held by the thread whose question is being asked, until it is known how that ended."""
        self._failures = 0
        self._ready_at = 0.0
        self._total_failures = 0

    @property
    def is_open(self) -> bool:
        """The server failed so often that the next request is a probe."""
        return self._failures >= OPEN_AFTER

    @property
    def failures(self) -> int:
        """Failures in a row."""
        return self._failures

    def ready_in_s(self) -> float:
        """Return the seconds until the next request is due; 0: now."""
        with self._lock:
            return max(0.0, self._ready_at - self._clock()) if self._failures else 0.0

    def check(self) -> None:
        """Raise ModelUnavailable while the pause lasts."""
        wait_s = self.ready_in_s()
        if wait_s > 0:
            raise ModelUnavailable(f"{self._name}: failed {self._failures} times, paused for {wait_s:.0f} s")

    @contextmanager
    def turn(self, deadline: Deadline) -> Iterator[None]:
        """Let one question at a time through, to be counted as failed or succeeded within the block.

        The pause is looked at again when it is the caller's turn: the question before it may have been a probe
        that failed, and those that waited behind it must not ask the same server one after the other.

        Raises:
            ModelUnavailable: The pause lasts, or it is nobody's turn before the deadline; nothing was asked, so
                nothing is counted.
        """
        self.check()
        if not self._turn.acquire(deadline.left_s()):
            raise ModelUnavailable(f"{self._name}: an earlier question has still not been answered")
        try:
            self.check()
            yield
        finally:
            self._turn.release()

    def failed(self, *, at_least_s: float = 0.0) -> None:
        """Note a failed request; the server asked for a pause of ``at_least_s``."""
        with self._lock:
            self._failures += 1
            self._total_failures += 1
            pause = self._pauses_s[min(self._failures, len(self._pauses_s)) - 1]
            self._ready_at = self._clock() + max(pause, at_least_s)

    def succeeded(self) -> None:
        """Note an answer: the pauses start over."""
        with self._lock:
            self._failures = 0

    def health(self) -> dict[str, Any]:
        """Return how the server is doing."""
        return {
            "failures_in_a_row": self._failures,
            "failures": self._total_failures,
            "paused_s": round(self.ready_in_s(), 1),
        }
