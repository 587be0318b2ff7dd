"""One thing at a time behind the conversation: opening a store, filling it again."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable

from ovos_memory.core.shared import ProcessLock, living

_EXIT_S = 2.0
_running: weakref.WeakSet[Background] = weakref.WeakSet()


class Background:
    """Runs a function on a daemon thread, never twice at once.

    The end of the process waits two seconds for it.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = ProcessLock()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self.is_stopping = threading.Event()
        """Set when the process ends; a long function looks at it between its steps."""
        _running.add(self)

    def start(self, function: Callable[[], object]) -> None:
        """Run ``function`` unless one is running; it must not raise."""
        with self._lock:
            if self._pid != os.getpid():
                self._pid, self._thread = os.getpid(), None
            if self.is_stopping.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=function, name=self._name, daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is going down
                self._thread = None

    def join(self, timeout_s: float) -> None:
        """Wait for what is running."""
        thread = self._thread
        if thread is not None and self._pid == os.getpid() and thread is not threading.current_thread():
            thread.join(timeout_s)


def _stop_all() -> None:
    ends_at = time.monotonic() + _EXIT_S
    running = living(_running)
    for background in running:
        background.is_stopping.set()
    for background in running:
        background.join(max(0.0, ends_at - time.monotonic()))


atexit.register(_stop_all)
