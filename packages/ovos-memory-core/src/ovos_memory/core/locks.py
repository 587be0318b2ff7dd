"""Locks that are free in a forked child, and a look at a weak set that others put into."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TypeVar

T = TypeVar("T")

_locks: weakref.WeakSet[ProcessLock] = weakref.WeakSet()


class ProcessLock:
    """A re-entrant lock that is free in a forked child, even when a thread of the parent held it.

    Usable as a context manager; :meth:`acquire` can wait for a bounded time.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def acquire(self, timeout_s: float = -1) -> bool:
        """Take the lock, waiting at most ``timeout_s`` seconds (-1: for ever); ``False`` without it."""
        if timeout_s == 0:
            return self._lock.acquire(blocking=False)
        return self._lock.acquire(timeout=timeout_s)

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()

    def __enter__(self) -> ProcessLock:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _renew(self) -> None:
        self._lock = threading.RLock()


class SessionLocks:
    """Locks for any number of sessions in bounded memory: sessions share ``stripes`` locks by their hash."""

    def __init__(self, stripes: int = 64) -> None:
        self._stripes = [ProcessLock() for _ in range(stripes)]

    def of(self, session_id: str) -> ProcessLock:
        """Return the lock of a session, the same one every time."""
        return self._stripes[hash(session_id) % len(self._stripes)]


def living(objects: weakref.WeakSet[T]) -> list[T]:
    """Return what is in a weak set, however many threads put objects in meanwhile.

    Iterating over it raises RuntimeError then; at a fork or an exit that would leave the rest locked for ever.
    """
    while True:
        try:
            return list(objects)
        except RuntimeError:
            continue


def _after_fork_in_child() -> None:
    for lock in living(_locks):
        lock._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
