"""One of each per process: shared resources, counted and freed; locks that survive a fork.

A persona host builds every persona at start and never closes one, so what is expensive (a database, a model,
a worker) belongs to the process and goes when the last memory that uses it is collected.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from typing import Any, Generic, TypeVar, cast

R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

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


class LruDict(MutableMapping[K, V]):
    """A dict of at most ``max_items`` entries; the one used least recently goes first.

    Reading and writing a key count as use, listing does not.  Each operation is safe from any thread.
    """

    def __init__(self, max_items: int) -> None:
        if max_items < 1:
            raise ValueError(f"max_items must be at least 1, got {max_items}")
        self._max_items = max_items
        self._items: OrderedDict[K, V] = OrderedDict()
        self._lock = ProcessLock()

    def __getitem__(self, key: K) -> V:
        with self._lock:
            value = self._items[key]
            self._items.move_to_end(key)
            return value

    def __setitem__(self, key: K, value: V) -> None:
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > self._max_items:
                self._items.popitem(last=False)

    def __delitem__(self, key: K) -> None:
        with self._lock:
            del self._items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[K]:
        with self._lock:
            return iter(list(self._items))

    def __len__(self) -> int:
        return len(self._items)

    def pop(self, key: K, *default: Any) -> Any:
        """Remove ``key`` and return its value, or ``default``; :class:`KeyError` when neither is there."""
        with self._lock:
            return self._items.pop(key, *default)

    def clear(self) -> None:
        """Remove everything at once; key by key it would end early when another thread removes one."""
        with self._lock:
            self._items.clear()

    def setdefault(self, key: K, default: V = None) -> V:  # type: ignore[assignment]
        """Return the value of ``key``, which becomes ``default`` when there is none."""
        with self._lock:
            if key not in self._items:
                self[key] = default
            return self[key]


# ---------------------------------------------------------------------- shared resources
class _Entry(Generic[R]):
    """A resource, or one in the making, and who uses it."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.resource: R | None = None
        self.error: BaseException | None = None
        self.owners: dict[int, weakref.finalize[..., Any]] = {}
        """By ``id``; a finalizer that is not alive belonged to an earlier object of the same ``id``."""

    def is_used_by(self, owner: object) -> bool:
        finalizer = self.owners.get(id(owner))
        return finalizer is not None and finalizer.alive


class _Registry:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.depth = 0
        """Blocks that the lock's thread is in: the collector may run a finalizer in the middle of one."""
        self.entries: dict[Hashable, _Entry[Any]] = {}
        self.dropped: deque[tuple[Hashable, _Entry[Any], int]] = deque()
        """Owners that are gone but not yet counted out."""


_registry = _Registry()
_inherited: list[_Registry] = []


@contextlib.contextmanager
def _locked(registry: _Registry) -> Iterator[None]:
    """Hold the registry, and free afterwards what finalizers left, which wait for no lock."""
    with registry.lock:
        registry.depth += 1
        try:
            yield
        finally:
            registry.depth -= 1
    _sweep(wait=False)


def acquire(key: Hashable, factory: Callable[[], R], owner: object) -> R:
    """Return the process's one resource under ``key``, made by ``factory`` when there is none.

    It is freed (its ``close()`` is called, if it has one) when every owner was collected or has called
    :func:`release`.  Owners count once however often they ask.  Other keys are not held up while ``factory``
    runs; other callers for the same key wait for it.

    Args:
        key: Names the resource, configuration included.
        factory: Makes it; what it raises reaches every waiting caller, and the next call tries again.
        owner: Whoever uses it; must be weakly referable.

    Returns:
        The resource; shared, so it must be safe from any thread.
    """
    while True:
        _sweep()
        registry = _registry
        with _locked(registry):
            entry = cast("_Entry[R] | None", registry.entries.get(key))
            is_maker = entry is None
            if entry is None:
                entry = registry.entries[key] = _Entry()
            if not entry.is_used_by(owner):
                entry.owners[id(owner)] = weakref.finalize(
                    owner, _owner_gone, registry, key, entry, id(owner)
                )
        if is_maker:
            _make(registry, key, entry, factory)
        entry.ready.wait()
        if entry.error is not None:
            raise entry.error
        with _locked(registry):
            if entry.is_used_by(owner):
                return cast(R, entry.resource)
        # released by somebody between the making and now: begin again


def _make(registry: _Registry, key: Hashable, entry: _Entry[R], factory: Callable[[], R]) -> None:
    try:
        entry.resource = factory()
    except BaseException as error:
        entry.error = error
        with _locked(registry):
            if registry.entries.get(key) is entry:
                del registry.entries[key]
            finalizers, entry.owners = list(entry.owners.values()), {}
        for finalizer in finalizers:
            finalizer.detach()
    finally:
        entry.ready.set()


def release(key: Hashable, owner: object) -> None:
    """Say that ``owner`` no longer uses the resource under ``key``; unknown ones are ignored."""
    with _locked(_registry):
        entry = _registry.entries.get(key)
        finalizer = None if entry is None else entry.owners.get(id(owner))
    if finalizer is not None:
        finalizer()


def holders(key: Hashable) -> int:
    """Return how many owners use the resource under ``key``."""
    _sweep()
    entry = _registry.entries.get(key)
    return 0 if entry is None else len(entry.owners)


def _owner_gone(registry: _Registry, key: Hashable, entry: _Entry[Any], owner: int) -> None:
    """Note that an owner is gone; runs wherever the collector does, so it waits for no lock."""
    registry.dropped.append((key, entry, owner))
    _sweep(wait=False)


def _sweep(*, wait: bool = True) -> None:
    """Free what nobody uses any more; where the lock is held, whoever holds it does so afterwards."""
    registry = _registry
    while registry.dropped:
        if not registry.lock.acquire(blocking=wait):
            return
        unused = None
        registry.depth += 1
        try:
            if registry.depth > 1:  # within a block of this thread, which may be counting an owner in
                return
            key, entry, owner = registry.dropped.popleft()
            finalizer = entry.owners.get(owner)
            if finalizer is not None and not finalizer.alive:
                del entry.owners[owner]
            if finalizer is not None and not entry.owners:
                if registry.entries.get(key) is entry:
                    del registry.entries[key]
                unused = entry.resource
        except IndexError:
            return
        finally:
            registry.depth -= 1
            registry.lock.release()
        close = getattr(unused, "close", None)
        if close is not None:
            close()


def living(objects: weakref.WeakSet[R]) -> list[R]:
    """Return what is in a weak set, however many threads put objects in meanwhile.

    Iterating over it raises RuntimeError then; at a fork or an exit that would leave the rest locked for ever.
    """
    while True:
        try:
            return list(objects)
        except RuntimeError:
            continue


def _after_fork_in_child() -> None:
    """Start the child with free locks and no resources; the parent's are never finalised here."""
    global _registry
    for lock in living(_locks):
        lock._renew()
    _inherited.append(_registry)
    _registry = _Registry()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
