"""One of each per process: shared resources, counted and freed; bounded dicts.

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

from ovos_utils.log import LOG

from ovos_memory.core import closings
from ovos_memory.core.locks import ProcessLock, SessionLocks, living

R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

__all__ = ["LruDict", "ProcessLock", "SessionLocks", "acquire", "holders", "living", "release"]


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
        self.closings = closings.Closings()


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
    _sweep_up(wait=False)


def acquire(key: Hashable, factory: Callable[[], R], owner: object) -> R:
    """Return the process's one resource under ``key``, made by ``factory`` when there is none.

    It is freed (its ``close()`` is called, if it has one) when every owner was collected or has called
    :func:`release`.  Owners count once however often they ask.  Other keys are not held up while ``factory``
    runs; other callers for the same key wait for it, and all wait, for a bounded time, until another thread
    has closed what the key named before: some stores admit one opener at a time.

    Args:
        key: Names the resource, configuration included.
        factory: Makes it; what it raises reaches every waiting caller, and the next call tries again.
        owner: Whoever uses it; must be weakly referable.

    Returns:
        The resource; shared, so it must be safe from any thread.
    """
    while True:
        _sweep_up()
        registry = _registry
        entry, is_maker = _count_in(registry, key, owner)
        if is_maker:
            _make(registry, key, entry, factory)
        entry.ready.wait()
        if entry.error is not None:
            raise entry.error
        with _locked(registry):
            if entry.is_used_by(owner):
                return cast(R, entry.resource)
        # released by somebody between the making and now: begin again


def _count_in(registry: _Registry, key: Hashable, owner: object) -> tuple[_Entry[Any], bool]:
    """Return the entry under ``key``, ``owner`` counted in, and whether the caller has to make its resource."""
    while True:
        with _locked(registry):
            entry = registry.entries.get(key)
            is_new = entry is None
            closing = registry.closings.by_others(key) if is_new else None
            if closing is None:
                entry = entry or registry.entries.setdefault(key, _Entry())
                if not entry.is_used_by(owner):
                    entry.owners[id(owner)] = weakref.finalize(
                        owner, _owner_gone, registry, key, entry, id(owner)
                    )
                return entry, is_new
        registry.closings.wait(closing, closings.WAIT_S)


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
    _sweep_up()
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
        close = None
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
                close = getattr(entry.resource, "close", None)
            if close is not None:  # noted before anybody else can see that the key is free
                closing = registry.closings.begin(key, type(entry.resource).__name__)
        except IndexError:
            return
        finally:
            registry.depth -= 1
            registry.lock.release()
        if close is not None:
            registry.closings.run(closing, close)


def _sweep_up(*, wait: bool = True) -> None:
    """Free what nobody uses any more; what is wrong with it is none of the caller's concern."""
    while True:
        try:
            return _sweep(wait=wait)
        except Exception as error:
            LOG.warning("a shared resource failed to close (%s)", type(error).__name__)


def _after_fork_in_child() -> None:
    """Start the child without resources; the parent's are never finalised here."""
    global _registry
    _inherited.append(_registry)
    _registry = _Registry()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
