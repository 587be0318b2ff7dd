"""The failure boundary: a conversation goes on when storage, a model or a member fails, and somebody sees why.

Inner code raises; the public methods of a memory call it through :meth:`Boundary.call`.  ``KeyboardInterrupt`` and
``SystemExit`` are nobody's failure and pass through.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ovos_utils.log import LOG

from ovos_memory.core.errors import OvosMemoryError
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.text import session_tag

R = TypeVar("R")
Sink = Callable[[str, str, float], None]

_REMIND_AFTER_S = 3600.0
"""A kind of failure that goes on is logged again after this long, not on every turn."""


@dataclass
class FailureCount:
    """How often an operation failed, and how it failed last."""

    failures: int = 0
    last_error: str = ""
    last_at: float = 0.0


class Boundary:
    """Catches, counts and logs the failures of one memory; safe from any thread.

    Args:
        plugin: Entry-point name, for messages.
        clock: Returns epoch seconds.
        sink: Receives (operation, error type, epoch seconds) of each failure, so that it outlives the process; what
            the sink raises is ignored, for it runs while something is failing already.
    """

    def __init__(
        self, plugin: str, *, clock: Callable[[], float] = time.time, sink: Sink | None = None
    ) -> None:
        self.plugin = plugin
        self._clock = clock
        self.sink = sink
        self._lock = ProcessLock()
        self._counts: dict[str, FailureCount] = {}
        self._logged: dict[tuple[str, str], float] = {}

    def call(
        self,
        operation: str,
        function: Callable[[], R],
        fallback: Callable[[], R],
        *,
        session_id: str | None = None,
    ) -> R:
        """Return what ``function`` returns, or what ``fallback`` returns when it fails."""
        try:
            return function()
        except Exception as error:
            self.failed(operation, error, session_id=session_id)
            return fallback()

    def failed(self, operation: str, error: BaseException, *, session_id: str | None = None) -> None:
        """Count a failure, and log it when it is the first of its kind for an hour.

        Only our own errors are quoted: a foreign exception's text may repeat what the user said.
        """
        now = self._clock()
        kind = type(error).__name__
        with self._lock:
            count = self._counts.setdefault(operation, FailureCount())
            count.failures, count.last_error, count.last_at = count.failures + 1, kind, now
            last = self._logged.get((operation, kind))
            is_due = last is None or not 0 <= time.monotonic() - last < _REMIND_AFTER_S
            if is_due:
                self._logged[operation, kind] = time.monotonic()
        if is_due:
            reason = f"{kind}: {error}" if isinstance(error, OvosMemoryError) else kind
            where = "" if session_id is None else f" for session {session_tag(session_id)}"
            LOG.warning(
                "%s: %s failed%s, the conversation goes on (%s)", self.plugin, operation, where, reason
            )
        if self.sink is not None:
            try:
                self.sink(operation, kind, now)
            except Exception as sink_error:
                LOG.debug("%s: failure not recorded (%s)", self.plugin, type(sink_error).__name__)

    def counts(self) -> dict[str, dict[str, int | str | float]]:
        """Return ``{operation: {"failures", "last_error", "last_at"}}`` since the process began."""
        with self._lock:
            return {
                operation: {"failures": c.failures, "last_error": c.last_error, "last_at": c.last_at}
                for operation, c in self._counts.items()
            }
