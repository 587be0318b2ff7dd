"""Daemon threads for calls to members: reused, gone after idling, never in the way of the interpreter's exit.

``concurrent.futures`` will not do: its threads are joined at exit, so one member that hangs would keep the
process from ending.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

Task = Callable[[], None]

_IDLE_S = 30.0


class DaemonPool:
    """Runs tasks at once, each on a thread of its own that is reused for later ones.

    There are never more threads than tasks that ran at the same time.

    Args:
        idle_s: A thread without work for this long ends.
    """

    def __init__(self, *, idle_s: float = _IDLE_S) -> None:
        self._idle_s = idle_s
        self.forget_threads()

    def forget_threads(self) -> None:
        """Start anew without threads; a forked child has none of its parent's."""
        self._lock = threading.Lock()
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._unclaimed = 0  # waiting threads that no task on the queue is meant for

    def submit(self, task: Task) -> None:
        """Run a task on a daemon thread; what it raises is its own affair.

        Raises:
            RuntimeError: The system gives no further thread.
        """
        with self._lock:
            is_waited_for = self._unclaimed > 0
            if is_waited_for:
                self._unclaimed -= 1
        if not is_waited_for:
            threading.Thread(target=self._work, name="ovos-memory-member", daemon=True).start()
        self._tasks.put(task)

    def _work(self) -> None:
        while (task := self._next()) is not None:
            try:
                task()
            finally:
                del task  # an idle thread must not keep a memory alive
                with self._lock:
                    self._unclaimed += 1

    def _next(self) -> Task | None:
        try:
            return self._tasks.get(timeout=self._idle_s)
        except queue.Empty:
            with self._lock:
                if self._unclaimed:
                    self._unclaimed -= 1
                    return None
            return self._tasks.get()  # a task is on the way: submit has claimed this thread for it


POOL = DaemonPool()
"""The threads of this process; composites share them."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget_threads)
