"""Resources counted per process, bounded dicts, locks that are free in a forked child."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

from ovos_memory.core.shared import (
    LruDict,
    ProcessLock,
    SessionLocks,
    _Entry,
    acquire,
    holders,
    living,
    release,
)
from ovos_memory.testing.forks import in_child


class Owner:
    pass


class Resource:
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_owners_of_one_key_share_one_resource():
    a, b = Owner(), Owner()

    first, second = acquire("k1", Resource, a), acquire("k1", Resource, b)
    other = acquire("k2", Resource, a)

    assert first is second
    assert other is not first


def test_a_resource_is_closed_when_its_last_owner_is_collected():
    a, b = Owner(), Owner()
    resource = acquire("k3", Resource, a)
    acquire("k3", Resource, b)

    del a
    gc.collect()
    assert (resource.closed, holders("k3")) == (0, 1)

    del b
    gc.collect()
    assert (resource.closed, holders("k3")) == (1, 0)


def test_a_resource_is_closed_when_its_last_owner_releases_it_and_made_anew_later():
    a = Owner()
    first = acquire("k4", Resource, a)
    acquire("k4", Resource, a)

    release("k4", a)
    release("k4", a)
    second = acquire("k4", Resource, a)

    assert first.closed == 1
    assert second is not first
    assert second.closed == 0


def test_a_new_owner_at_the_address_of_an_old_one_keeps_the_resource():
    keeper = acquire("k5", Resource, a := Owner())
    for _ in range(100):  # CPython gives the address of a collected object to the next one
        assert acquire("k5", Resource, Owner()) is keeper
    assert holders("k5") == 1
    del a
    assert keeper.closed == 1


def while_counted_in(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Let something happen in the middle of every counting in of an owner."""
    is_used_by = _Entry.is_used_by

    def interrupted(self: _Entry[Resource], owner: object) -> bool:
        happens()
        return is_used_by(self, owner)

    monkeypatch.setattr(_Entry, "is_used_by", interrupted)


def test_an_owner_that_is_collected_while_the_next_is_counted_in_leaves_it_the_resource(
    monkeypatch: pytest.MonkeyPatch,
):
    owners, successor = [Owner()], Owner()
    resource = acquire("k10", Resource, owners[0])
    while_counted_in(monkeypatch, owners.clear)  # as the collector may, which runs in any allocation

    found = acquire("k10", Resource, successor)

    assert (found, resource.closed, holders("k10")) == (resource, 0, 1)


def test_a_resource_whose_owner_is_collected_while_another_thread_asks_is_freed_when_that_has_asked(
    monkeypatch: pytest.MonkeyPatch,
):
    owners, other = [Owner()], Owner()
    resource = acquire("k11", Resource, owners[0])

    def collected_elsewhere() -> None:
        thread = threading.Thread(target=owners.clear)
        thread.start()
        thread.join(10)

    while_counted_in(monkeypatch, collected_elsewhere)

    acquire("k12", Resource, other)

    assert resource.closed == 1


def test_what_the_factory_raises_reaches_every_waiting_caller_and_the_next_one_tries_again():
    started, go_on = threading.Event(), threading.Event()
    a, b = Owner(), Owner()
    errors = []

    def broken() -> Resource:
        started.set()
        go_on.wait(10)
        raise OSError("no model")

    def ask(owner: Owner) -> None:
        try:
            acquire("k6", broken, owner)
        except OSError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=ask, args=(owner,)) for owner in (a, b)]
    threads[0].start()
    assert started.wait(10)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(10)

    assert errors == ["no model", "no model"]
    assert isinstance(acquire("k6", Resource, a), Resource)


def test_a_slow_factory_runs_once_and_holds_up_no_other_key():
    started, go_on = threading.Event(), threading.Event()
    made = []

    def slow() -> Resource:
        started.set()
        go_on.wait(10)
        made.append(1)
        return Resource()

    owners = [Owner() for _ in range(8)]
    found: list[Resource] = []
    threads = [threading.Thread(target=lambda o=o: found.append(acquire("k7", slow, o))) for o in owners]
    for thread in threads:
        thread.start()
    assert started.wait(10)

    assert isinstance(acquire("k8", Resource, owners[0]), Resource)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert len(made) == 1
    assert len({id(resource) for resource in found}) == 1


def test_a_forked_child_starts_without_resources_and_closes_none_of_the_parents():
    a = Owner()
    resource = acquire("k9", Resource, a)

    def child() -> None:
        nonlocal a
        mine = Owner()
        assert holders("k9") == 0
        assert acquire("k9", Resource, mine) is not resource
        del a, mine
        gc.collect()
        assert resource.closed == 0

    assert in_child(child) == 0
    assert holders("k9") == 1


def test_a_lock_that_a_thread_holds_is_free_in_a_forked_child():
    lock = ProcessLock()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)

    def child() -> None:
        assert lock.acquire(0)

    status = in_child(child)
    free_here = lock.acquire(0)
    done.set()
    thread.join(10)
    assert (status, free_here) == (0, False)


def test_the_least_recently_used_entry_goes_first():
    entries: LruDict[str, int] = LruDict(2)
    entries["a"], entries["b"] = 1, 2
    assert entries["a"] == 1

    entries["c"] = 3

    assert dict(entries) == {"a": 1, "c": 3}


class LosesOne(LruDict[str, int]):
    """A dict from which another thread takes an entry whenever one is listed."""

    def __iter__(self) -> Iterator[str]:
        names = list(super().__iter__())
        self.pop("a", None)
        return iter(names)


def test_clearing_removes_everything_even_while_another_thread_removes_something():
    entries = LosesOne(4)
    entries["a"], entries["b"] = 1, 2

    entries.clear()

    assert len(entries) == 0


def test_asking_for_a_missing_entry_leaves_nothing():
    entries: LruDict[str, int] = LruDict(2)

    assert entries.get("a") is None
    assert entries.pop("a", 7) == 7
    assert "a" not in entries
    assert len(entries) == 0
    with pytest.raises(KeyError):
        entries.pop("a")


def test_setdefault_keeps_what_is_there():
    entries: LruDict[str, int] = LruDict(2)

    assert (entries.setdefault("a", 1), entries.setdefault("a", 2)) == (1, 1)


def test_a_dict_without_room_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        LruDict(0)


def test_a_bounded_dict_is_safe_from_many_threads():
    entries: LruDict[int, int] = LruDict(50)

    def work(seed: int) -> None:
        for n in range(2_000):
            entries[(seed + n) % 200] = n
            entries.get(n % 200)
            entries.pop(n % 7, None)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(entries) <= 50


def test_session_locks_are_bounded_and_the_same_each_time():
    locks = SessionLocks(8)

    assert locks.of("a") is locks.of("a")
    assert len({id(locks.of(f"s{n}")) for n in range(1_000)}) <= 8


def test_what_lives_is_told_while_others_are_born():
    class Busy(weakref.WeakSet):
        tries = 0

        def __iter__(self):
            Busy.tries += 1
            for number, found in enumerate(super().__iter__()):
                if Busy.tries == 1 and number == 1:
                    raise RuntimeError("Set changed size during iteration")
                yield found

    class Thing:
        pass

    things = [Thing() for _ in range(3)]

    assert set(living(Busy(things))) == set(things) and Busy.tries == 2
