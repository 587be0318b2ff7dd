from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from ovos_memory.local_rag import patience as module
from ovos_memory.local_rag.patience import OwnThread, at_most, left_s


class HeldUp(Exception):
    """What a call that does not come back becomes."""


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def own() -> OwnThread:
    return OwnThread("memory-test", HeldUp)


def give_up(own: OwnThread, release: threading.Event) -> None:
    with at_most(0.05), pytest.raises(HeldUp, match=r"no answer within 0\.05 s"):
        own.run(release.wait)


def comes_back(own: OwnThread) -> None:
    ends_at = time.monotonic() + 30
    while own.is_late:
        assert time.monotonic() < ends_at
        time.sleep(0.001)


def test_a_call_returns_what_it_returns_and_raises_what_it_raises(own: OwnThread) -> None:
    def fail() -> None:
        raise KeyError("x")

    assert own.run(lambda: threading.current_thread().name) == "memory-test"
    with pytest.raises(KeyError):
        own.run(fail)
    assert own.run(lambda: own.run(lambda: 7)) == 7


def test_calls_of_many_threads_are_made_one_at_a_time(own: OwnThread) -> None:
    inside, most = [0], [0]

    def call() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        inside[0] -= 1

    threads = [threading.Thread(target=lambda: [own.run(call) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1]


def test_what_hangs_is_waited_for_once_and_then_refused_at_once(
    own: OwnThread, release: threading.Event
) -> None:
    give_up(own, release)

    assert own.is_late
    with pytest.raises(HeldUp, match="earlier call"):
        own.run(lambda: 1)  # without a bound of its own: were it not refused it would wait for minutes


def test_what_comes_back_serves_again(own: OwnThread, release: threading.Event) -> None:
    give_up(own, release)
    release.set()
    comes_back(own)

    assert own.run(lambda: 7) == 7


def test_a_call_that_was_given_up_before_it_began_is_never_made(
    own: OwnThread, release: threading.Event
) -> None:
    made: list[int] = []
    first = threading.Thread(target=lambda: own.run(release.wait))
    first.start()
    while own._line._current is None:
        time.sleep(0.001)
    own._line._current.began_at = time.monotonic() + 60  # it has only just begun, so it is not late

    with at_most(0.05), pytest.raises(HeldUp):
        own.run(lambda: made.append(1))

    assert not own.is_late
    release.set()
    first.join()
    assert own.run(lambda: 7) == 7 and made == []


def test_bounds_within_bounds_only_get_tighter() -> None:
    with at_most(1000):
        with at_most(5):
            assert left_s(0) <= 5
            with at_most(100):
                assert left_s(0) <= 5
        assert left_s(0) > 5
    assert left_s(77) == 77


def test_one_thread_however_many_calls_hang(own: OwnThread, release: threading.Event) -> None:
    before = set(threading.enumerate())
    give_up(own, release)
    for _ in range(20):
        with pytest.raises(HeldUp):
            own.run(release.wait)

    begun = [each for each in threading.enumerate() if each not in before]
    assert [each.name for each in begun if each.name == "memory-test"] == ["memory-test"]


def test_an_idle_thread_ends_and_the_next_call_starts_another(
    own: OwnThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_IDLE_S", 0.0)
    own.run(lambda: 1)
    thread = own._line.thread
    if thread is not None:
        thread.join(30)

    assert own._line.thread is None
    assert own.run(lambda: 7) == 7


def test_the_thread_ends_with_its_owner_and_holds_nothing(own: OwnThread) -> None:
    class Model:
        """Something big."""

    model = Model()
    gone = weakref.ref(model)
    mine = OwnThread("memory-test", HeldUp)
    mine.run(lambda model=model: id(model))  # type: ignore[misc]
    thread = mine._line.thread
    assert thread is not None

    del model, mine
    thread.join(30)

    assert not thread.is_alive() and gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_not_held_up_by_its_parents_call(own: OwnThread, release: threading.Event) -> None:
    give_up(own, release)
    if (child := os.fork()) == 0:
        try:
            os._exit(0 if not own.is_late and own.run(lambda: 7) == 7 else 1)
        except BaseException:
            os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
