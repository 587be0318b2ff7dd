"""Folding a database's log into the file on a thread of its own, in a pause of the commits.

SQLite would have the commit that fills the log do it: one in two hundred callers waited for several syncs instead of one.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol

COMMITS = 200
"""Commits between two checkpoints; about 1 000 pages of conversation, SQLite's own measure."""
MAX_LOG_PAGES = 2_000
"""Pages of log (4 KiB each) at which a commit does it after all: where there is no pause, or no thread."""
PAUSE_S, _PATIENCE_S = 0.25, 30.0


class Logged(Protocol):
    """Whose log it is."""

    is_retired: bool

    def checkpoint(self) -> None:
        """Fold what is in the log into the file, as far as that goes without waiting for anybody."""


class Checkpoints:
    """Counts commits and has the log folded in once there were many.

    Args:
        owner: Whose log it is; not kept alive.
        sleep: Waits; for tests.
    """

    def __init__(self, owner: Logged, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._owner = weakref.ref(owner)
        self._sleep = sleep
        self._commits = 0
        self._is_running = threading.Lock()

    def committed(self) -> None:
        """Count a commit; returns at once.  One thread at a time."""
        self._commits += 1
        if self._commits % COMMITS == 0 and self._is_running.acquire(blocking=False):
            try:
                threading.Thread(target=self._run, name="memory-checkpoint", daemon=True).start()
            except RuntimeError:  # no more threads: MAX_LOG_PAGES is the limit then
                self._is_running.release()

    def _run(self) -> None:
        try:
            self._wait_for_pause()
            owner = self._owner()
            if owner is not None and not owner.is_retired:
                owner.checkpoint()
        finally:
            self._is_running.release()

    def _wait_for_pause(self) -> None:
        """Wait until nobody commits: on many disks a commit waits for whatever else is being synced."""
        until = time.monotonic() + _PATIENCE_S
        seen = -1
        while seen != self._commits and time.monotonic() < until:
            owner = self._owner()
            if owner is None or owner.is_retired:
                return
            del owner
            seen = self._commits
            self._sleep(PAUSE_S)
