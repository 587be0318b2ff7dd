"""Whoever wants a shared resource that another thread is just closing waits for that: but not for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from ovos_utils.log import LOG

from ovos_memory.core.shared import _Entry, acquire, holders, release
from ovos_memory.testing.forks import in_child

SOON_S = 10.0
"""How long a test waits for what should happen at once."""


class Owner:
    pass


class Resource:
    """Does something while it is closed, and notes what was opened and closed when."""

    def __init__(self, events: list[str], closing: Callable[[], object] = lambda: None) -> None:
        self._events = events
        self._closing = closing
        events.append("opened")

    def close(self) -> None:
        self._closing()
        self._events.append("closed")


class Gate:
    """Holds a thread up until the test opens it."""

    def __init__(self) -> None:
        self.reached, self._opened = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        assert self._opened.wait(SOON_S)

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(LOG, "warning", lambda text, *values: lines.append(text % values))
    return lines


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def being_closed(key: str, owner: Owner, gate: Gate, events: list[str]) -> threading.Thread:
    """Open a resource and return the thread that is just closing it."""
    acquire(key, lambda: Resource(events, gate), owner)
    closer = in_thread(lambda: release(key, owner))
    assert gate.reached.wait(SOON_S)
    return closer


def test_a_resource_is_made_anew_only_when_another_thread_has_closed_the_one_before(gate: Gate):
    events: list[str] = []
    owners = [Owner(), Owner()]
    closer = being_closed("c1", owners[0], gate, events)

    opener = in_thread(lambda: acquire("c1", lambda: Resource(events), owners[1]))
    opener.join(0.3)
    assert events == ["opened"]
    gate.open()
    closer.join(SOON_S)
    opener.join(SOON_S)

    assert events == ["opened", "closed", "opened"]
    assert holders("c1") == 1


def test_several_that_wait_for_a_closing_share_what_is_made_then(gate: Gate):
    events: list[str] = []
    owners = [Owner() for _ in range(5)]
    being_closed("c2", owners[0], gate, events)

    found: list[Resource] = []
    openers = [
        in_thread(lambda o=o: found.append(acquire("c2", lambda: Resource(events), o))) for o in owners[1:]
    ]
    openers[0].join(0.3)
    gate.open()
    for opener in openers:
        opener.join(SOON_S)

    assert events == ["opened", "closed", "opened"]
    assert len(found) == 4 and len(set(found)) == 1


def test_other_keys_are_not_held_up_by_a_closing(gate: Gate):
    events: list[str] = []
    owner = Owner()
    being_closed("c3", owner, gate, events)

    acquire("c4", lambda: Resource(events), owner)

    assert events == ["opened", "opened"]


def test_a_resource_that_asks_for_its_own_key_while_it_is_closed_gets_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("ovos_memory.core.closings.WAIT_S", 3600.0)
    events: list[str] = []
    first, second = Owner(), Owner()
    acquire("c5", lambda: Resource(events, lambda: acquire("c5", lambda: Resource(events), second)), first)

    closer = in_thread(lambda: release("c5", first))
    closer.join(SOON_S)

    assert not closer.is_alive()
    assert events == ["opened", "opened", "closed"]
    assert holders("c5") == 1


def test_a_closing_is_waited_for_though_its_key_was_used_and_let_go_of_within_it(gate: Gate):
    events: list[str] = []
    owners = [Owner(), Owner(), Owner()]

    def uses_its_key() -> None:
        acquire("c6", lambda: Resource(events), owners[1])
        release("c6", owners[1])
        gate()

    acquire("c6", lambda: Resource(events, uses_its_key), owners[0])
    in_thread(lambda: release("c6", owners[0]))
    assert gate.reached.wait(SOON_S)

    opener = in_thread(lambda: acquire("c6", lambda: Resource(events), owners[2]))
    opener.join(0.3)
    gate.open()
    opener.join(SOON_S)

    assert events == ["opened", "opened", "closed", "closed", "opened"]


def test_a_closing_that_hangs_is_waited_for_once_and_not_for_ever(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
):
    monkeypatch.setattr("ovos_memory.core.closings.WAIT_S", 0.05)
    events: list[str] = []
    owners = [Owner(), Owner()]
    being_closed("c7", owners[0], gate, events)

    acquire("c7", lambda: Resource(events), owners[1])
    release("c7", owners[1])
    monkeypatch.setattr("ovos_memory.core.closings.WAIT_S", 3600.0)
    acquire("c7", lambda: Resource(events), owners[1])

    assert events == ["opened", "opened", "closed", "opened"]
    assert warnings == ["a shared Resource has not closed within 0 s; another one is opened beside it"]


def test_a_closing_that_fails_holds_nobody_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ovos_memory.core.closings.WAIT_S", 3600.0)
    events: list[str] = []
    owners = [Owner(), Owner()]

    def fail() -> None:
        raise OSError("no room")

    acquire("c8", lambda: Resource(events, fail), owners[0])
    with pytest.raises(OSError, match="no room"):
        release("c8", owners[0])
    opener = in_thread(lambda: acquire("c8", lambda: Resource(events), owners[1]))
    opener.join(SOON_S)

    assert events == ["opened", "opened"]


def test_whoever_frees_what_another_left_does_not_hear_that_it_failed_to_close(
    monkeypatch: pytest.MonkeyPatch, warnings: list[str]
):
    owners = [Owner()]
    is_used_by = _Entry.is_used_by

    def fail() -> None:
        raise OSError("words of the user")

    acquire("c9", lambda: Resource([], fail), owners[0])

    def interrupted(self: _Entry[Resource], owner: object) -> bool:
        owners.clear()  # as the collector may, in the middle of counting another owner in
        return is_used_by(self, owner)

    monkeypatch.setattr(_Entry, "is_used_by", interrupted)

    found = acquire("c10", lambda: Resource([]), other := Owner())

    assert isinstance(found, Resource) and holders("c10") == 1 and other is not None
    assert warnings == ["a shared resource failed to close (OSError)"]


def test_a_forked_child_waits_for_no_closing_of_its_parent(gate: Gate, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ovos_memory.core.closings.WAIT_S", 3600.0)
    events: list[str] = []
    owner = Owner()
    being_closed("c11", owner, gate, events)

    def child() -> None:
        mine = Owner()
        acquire("c11", lambda: Resource(events), mine)
        assert events == ["opened", "opened"]

    assert in_child(child) == 0
