"""An index that misses much is completed in the background, in slices that let everybody else go first."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING

from ovos_utils.log import LOG

from ovos_memory.core.shared import ProcessLock

if TYPE_CHECKING:
    from ovos_memory.lexical.store import LexicalStore

_PAUSE_SHARE = 1.0
"""Pause after a slice as a share of the time that it took: the work takes half a core at most."""
_RETRY_S = 1.0
_EXIT_S = 2.0


class Rebuild:
    """Completes an index in a daemon thread that does not keep the store alive.

    Args:
        store: Whose index it is.
    """

    def __init__(self, store: LexicalStore) -> None:
        self._store = weakref.ref(store)
        self._lock = ProcessLock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._is_noted = False
        """Whether the work is ended with the interpreter."""

    @property
    def is_running(self) -> bool:
        """Whether the work is under way in this process (a fork does not take the thread along)."""
        return self._thread is not None and self._pid == os.getpid() and self._thread.is_alive()

    def start(self) -> None:
        """Begin the work, or go on with it."""
        with self._lock:  # every search may begin it, and a second thread would be one that nothing stops
            if self.is_running:
                return
            self._pid, self._stop = os.getpid(), threading.Event()
            self._thread = threading.Thread(
                target=_work, args=(self._store, self._stop), name="memory-lexical-index", daemon=True
            )
            self._thread.start()
            if not self._is_noted:
                self._is_noted = True
                atexit.register(_finish, weakref.ref(self))

    def stop(self) -> None:
        """Stop after the slice under way; what is left goes on when the store is used again."""
        with self._lock:
            self._stop.set()
            thread = self._thread if self.is_running else None
        if thread is not None and thread is not threading.current_thread():
            thread.join(_EXIT_S)


def _work(reference: weakref.ref[LexicalStore], stop: threading.Event) -> None:
    while not stop.is_set():
        store = reference()
        if store is None:
            return
        began = time.monotonic()
        try:
            if not store.index_missing():
                return
            pause_s = (time.monotonic() - began) * _PAUSE_SHARE
        except (
            Exception
        ) as error:  # locked, unwritable, damaged: searches report it, here it is only tried again
            LOG.debug("the search index waits (%s)", type(error).__name__)
            pause_s = _RETRY_S
        del store
        stop.wait(pause_s)


def _finish(reference: weakref.ref[Rebuild]) -> None:
    rebuild = reference()
    if rebuild is not None:
        rebuild.stop()
