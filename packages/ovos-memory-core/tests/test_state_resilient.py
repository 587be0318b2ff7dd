"""A store that never fails its caller: held changes are seen, written in order, bounded and counted."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import ovos_memory.core.state_resilient as state_resilient
from ovos_memory.core.errors import StoreDamaged, StoreError, StoreLocked, StoreUnavailable
from ovos_memory.core.state import JsonState, RamState, Record, ResilientState, open_state

PLUGIN = "ovos-memory-plugin-test"


def say(text: str) -> Callable[[Record | None], Record]:
    def change(record: Record | None) -> Record:
        record = record or {"said": []}
        record["said"].append(text)
        return record

    return change


class Faulty(RamState):
    """A store that fails as it is told, and notes what it was asked for and how long it might wait."""

    def __init__(self) -> None:
        super().__init__()
        self.read_error: StoreError | None = None
        self.write_error: StoreError | None = None
        self.waits: list[tuple[str, float]] = []

    def load(self, session_id: str, *, wait_s: float = -1.0) -> Record | None:
        if wait_s != -1.0:
            self.waits.append(("read", wait_s))
            if self.read_error is not None:
                raise self.read_error
        return super().load(session_id)

    def apply(self, changes: Sequence[Any], *, wait_s: float = -1.0) -> list[Record | None]:
        self.waits.append(("write", wait_s))
        if self.write_error is not None:
            raise self.write_error
        before = dict(self._records)
        try:
            return super().apply(changes)
        except BaseException:
            self._records.clear()
            self._records.update(before)
            raise


class Kit:
    """A resilient store over a faulty one, with a stepping clock and without its background thread."""

    def __init__(self, **options: Any) -> None:
        self.now = 1_000.0
        self.faulty = Faulty()
        self.failures: list[tuple[str, str]] = []
        self.successes: list[str] = []
        self.store = ResilientState(
            lambda: self.faulty,
            on_failure=lambda operation, error: self.failures.append((operation, type(error).__name__)),
            on_success=self.successes.append,
            clock=lambda: self.now,
            **options,
        )


@pytest.fixture(autouse=True)
def no_background(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "background" not in request.node.name:
        monkeypatch.setattr(state_resilient, "_RETRY_FROM_S", 3_600.0)


@pytest.fixture
def kit() -> Kit:
    return Kit()


LOCKED = StoreLocked("locked")
FULL = StoreUnavailable("full")


@pytest.mark.parametrize("error", [LOCKED, FULL])
def test_what_cannot_be_written_is_seen_and_written_later_in_order(kit: Kit, error: StoreError):
    kit.store.update("s", say("a"))
    kit.faulty.write_error = error
    assert kit.store.update("s", say("b")) == {"said": ["a", "b"]}
    assert kit.store.update("t", say("x")) == {"said": ["x"]}
    assert kit.store.update("s", say("c")) == {"said": ["a", "b", "c"]}
    assert kit.store.load("s") == {"said": ["a", "b", "c"]}
    assert sorted(kit.store.sessions()) == ["s", "t"]
    assert dict(kit.store.items()) == {"s": {"said": ["a", "b", "c"]}, "t": {"said": ["x"]}}
    assert kit.store.health() == {"held": 3, "lost": 0, "store_error": str(error)}

    kit.faulty.write_error = None
    assert kit.store.update("s", say("d")) == {"said": ["a", "b", "c", "d"]}

    assert kit.faulty.load("s") == {"said": ["a", "b", "c", "d"]}
    assert kit.faulty.load("t") == {"said": ["x"]}
    assert kit.store.health() == {"held": 0, "lost": 0, "store_error": None}
    assert kit.successes == ["write"]
    assert set(kit.failures) == {("write", type(error).__name__)}


class OtherThreadFails(dict[str, StoreError]):
    """The errors that stand, to which another thread adds one while they are looked through."""

    def __init__(self, errors: dict[str, StoreError]) -> None:
        super().__init__(errors)
        self.is_read = False

    def values(self) -> Any:
        found = _Interrupted(super().values())
        found.meanwhile = lambda: self.__setitem__(f"read{len(self)}", FULL)
        return found


class _Interrupted:
    meanwhile: Callable[[], None]

    def __init__(self, values: Any) -> None:
        self._values = values

    def __reversed__(self) -> Any:
        found = reversed(self._values)
        self.meanwhile()
        return found

    def __iter__(self) -> Any:
        found = list(self._values)
        self.meanwhile()
        return iter(found)


def test_a_change_is_held_although_another_thread_fails_while_the_errors_are_looked_through():
    def locked() -> RamState:
        raise LOCKED

    store = ResilientState(locked, clock=lambda: 1_000.0)
    store.update("s", say("a"))
    store._failing = OtherThreadFails(store._failing)

    assert store.update("s", say("b")) == {"said": ["a", "b"]}
    assert store.health()["held"] == 2


def test_a_store_that_another_thread_finds_working_again_is_not_scrubbed_over_what_is_held(kit: Kit):
    kit.faulty.write_error = FULL
    kit.store.update("s", say("a"))
    failed = kit.store._failed

    def and_works_elsewhere(operation: str, error: StoreError) -> None:
        failed(operation, error)
        kit.store._succeeded(operation)  # as that of another thread, which began before

    kit.store._failed = and_works_elsewhere  # type: ignore[method-assign]

    with pytest.raises(StoreError, match="scrub again"):
        kit.store.scrub()


def test_held_changes_are_written_as_one(kit: Kit):
    kit.faulty.write_error = FULL
    for n in range(50):
        kit.store.update(f"s{n}", say("a"))
    kit.faulty.waits.clear()

    kit.faulty.write_error = None
    assert kit.store.flush()

    assert [work for work, _ in kit.faulty.waits] == ["write"]
    assert len(kit.faulty.sessions()) == 50


def test_a_held_deletion_is_seen(kit: Kit):
    kit.store.update("s", say("a"))
    kit.faulty.write_error = FULL

    assert kit.store.update("s", lambda record: None) is None

    assert kit.store.load("s") is None
    assert kit.store.sessions() == []


def test_a_turn_waits_for_a_lock_once(kit: Kit):
    """A read and a write that follow a failure within a second wait no more; later ones do."""
    kit.faulty.write_error = kit.faulty.read_error = LOCKED
    kit.store.load("s")
    kit.store.update("s", say("a"))
    kit.now += 0.9
    kit.store.load("s")
    kit.now += 1.1
    kit.store.update("s", say("b"))
    kit.store.load("s")

    assert sum(wait for _, wait in kit.faulty.waits) == 2.0
    assert kit.faulty.waits[0] == ("read", 1.0)
    assert kit.store.health()["held"] == 2


def test_reading_goes_on_without_the_store(kit: Kit):
    kit.store.update("s", say("a"))
    kit.faulty.read_error = kit.faulty.write_error = FULL

    assert kit.store.update("s", say("b")) == {"said": ["b"]}
    assert kit.store.load("s") == {"said": ["b"]}

    kit.faulty.read_error = kit.faulty.write_error = None
    assert kit.store.flush()
    assert kit.store.load("s") == {"said": ["a", "b"]}


def test_what_is_held_is_bounded_and_what_is_lost_is_counted():
    kit = Kit(max_held=3)
    kit.faulty.write_error = FULL
    for n in range(5):
        kit.store.update("s", say(f"{n}"))

    assert kit.store.load("s") == {"said": ["2", "3", "4"]}
    assert kit.store.health() == {"held": 3, "lost": 2, "store_error": "full"}
    assert kit.failures.count(("backlog", "StoreUnavailable")) == 2


def test_a_change_that_raises_reaches_the_caller_and_is_not_held(kit: Kit):
    kit.faulty.write_error = FULL
    kit.store.update("s", say("a"))

    with pytest.raises(ZeroDivisionError):
        kit.store.update("s", lambda record: {"n": 1 // 0})

    assert kit.store.health()["held"] == 1


def test_a_held_change_that_raises_later_does_not_stop_the_others(kit: Kit):
    def only_new(record: Record | None) -> Record:
        if record is not None:
            raise ValueError("there is one")
        return {"said": ["new"]}

    kit.store.update("s", say("a"))
    kit.faulty.read_error = kit.faulty.write_error = FULL
    kit.store.update("t", say("x"))
    kit.store.update("s", only_new)
    kit.store.update("t", say("y"))
    kit.faulty.read_error = kit.faulty.write_error = None

    assert kit.store.flush()

    assert kit.store.load("s") == {"said": ["a"]}
    assert kit.store.load("t") == {"said": ["x", "y"]}
    assert kit.store.health() == {"held": 0, "lost": 1, "store_error": None}
    assert ("change", "ValueError") in kit.failures


def test_a_damaged_store_costs_no_change(kit: Kit):
    damaged = StoreDamaged("set aside")

    def apply(changes: Sequence[Any], *, wait_s: float) -> list[Record | None]:
        del kit.faulty.apply
        raise damaged

    kit.faulty.apply = apply  # type: ignore[method-assign]

    assert kit.store.update("s", say("a")) == {"said": ["a"]}
    assert kit.faulty.load("s") == {"said": ["a"]}
    assert kit.failures == []


def test_a_store_that_cannot_be_opened_is_tried_again():
    opened = []

    def open_store() -> RamState:
        opened.append(1)
        if len(opened) < 3:
            raise FULL
        return RamState()

    store = ResilientState(open_store)
    for text in "ab":
        store.update("s", say(text))
    store.update("s", say("c"))

    assert store.load("s") == {"said": ["a", "b", "c"]}
    assert store.health() == {"held": 0, "lost": 0, "store_error": None}


def test_closing_writes_what_is_held_and_the_store_may_be_used_again(kit: Kit):
    kit.faulty.write_error = FULL
    kit.store.update("s", say("a"))
    kit.faulty.write_error = None

    kit.store.close()
    assert kit.faulty.load("s") == {"said": ["a"]}
    assert kit.store.update("s", say("b")) == {"said": ["a", "b"]}


def test_background_writes_what_is_held_as_soon_as_it_can(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_resilient, "_RETRY_FROM_S", 0.01)
    written = threading.Event()
    kit = Kit()
    kit.faulty.write_error = FULL
    kit.store.update("s", say("a"))
    real = kit.faulty.apply

    def apply(changes: Sequence[Any], *, wait_s: float) -> list[Record | None]:
        result = real(changes, wait_s=wait_s)
        written.set()
        return result

    kit.faulty.apply = apply  # type: ignore[method-assign]
    kit.faulty.write_error = None

    assert written.wait(10)
    kit.store.flush()
    assert kit.store.health()["held"] == 0
    assert kit.faulty.load("s") == {"said": ["a"]}


def test_threads_lose_no_change_while_the_store_fails_now_and_then(kit: Kit):
    stop = threading.Event()

    def trouble() -> None:
        while not stop.is_set():
            kit.faulty.write_error = None if kit.faulty.write_error else FULL
            stop.wait(0.001)

    def work(name: int) -> None:
        for n in range(60):
            kit.store.update("shared", say(f"{name}-{n}"))
            record = kit.store.update(f"own{name}", say(f"{n}"))
            assert record is not None
            assert record["said"] == [f"{k}" for k in range(n + 1)]

    troubles = threading.Thread(target=trouble)
    troubles.start()
    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    troubles.join()
    kit.faulty.write_error = None
    assert kit.store.flush()

    shared = kit.faulty.load("shared")
    assert shared is not None
    assert sorted(shared["said"]) == sorted(f"{name}-{n}" for name in range(8) for n in range(60))
    assert all(len(kit.faulty.load(f"own{name}")["said"]) == 60 for name in range(8))


def test_a_forked_child_does_not_write_what_its_parent_holds(tmp_path: Path):
    path = tmp_path / "file" / "m.json"
    (tmp_path / "file").write_bytes(b"in the way")
    store = open_state("json", path, kind="test", plugin=PLUGIN)
    store.update("s", say("parent"))

    child = os.fork()
    if child == 0:
        try:
            assert store.health()["held"] == 0
            (tmp_path / "file").unlink()
            assert store.update("s", say("child")) == {"said": ["child"]}
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    assert store.flush()
    assert store.load("s") == {"said": ["child", "parent"]}


@pytest.mark.parametrize("backend", ["json", "sqlite"])
def test_a_path_in_the_way_is_survived_and_written_when_it_is_free(tmp_path: Path, backend: Any):
    (tmp_path / "file").write_bytes(b"in the way")
    failures: list[str] = []
    store = open_state(
        backend, tmp_path / "file" / "m.state", kind="test", plugin=PLUGIN,
        on_failure=lambda operation, error: failures.append(operation),
    )  # fmt: skip
    assert store.load("s") is None
    store.update("s", say("a"))
    assert store.load("s") == {"said": ["a"]}
    assert {"read", "write"} <= set(failures)

    (tmp_path / "file").unlink()
    store.update("s", say("b"))

    assert open_state(backend, tmp_path / "file" / "m.state", kind="test", plugin=PLUGIN).load("s") == {
        "said": ["a", "b"]
    }


@pytest.mark.parametrize("backend", ["json", "sqlite"])
def test_what_is_held_when_the_process_ends_is_written_then(tmp_path: Path, backend: Any):
    (tmp_path / "file").write_bytes(b"in the way")
    code = (
        "import pathlib, sys\n"
        "from ovos_memory.core.state import open_state\n"
        f"path = pathlib.Path({str(tmp_path)!r}) / 'file'\n"
        f"store = open_state({backend!r}, path / 'm.state', kind='test', plugin='p')\n"
        "store.update('s', lambda record: {'said': ['a']})\n"
        "assert store.health()['held'] == 1\n"
        "path.unlink()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False
    )

    assert done.returncode == 0
    store = open_state(backend, tmp_path / "file" / "m.state", kind="test", plugin=PLUGIN)
    assert store.load("s") == {"said": ["a"]}


def test_a_lock_held_by_another_process_costs_no_change(tmp_path: Path):
    path = tmp_path / "m.json"
    JsonState(path, kind="test", plugin=PLUGIN).update("s", say("a"))
    store = open_state("json", path, kind="test", plugin=PLUGIN)

    with open(f"{path}.lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for text in "bcd":
            store.update("s", say(text))
        assert store.load("s") == {"said": ["a", "b", "c", "d"]}
        assert JsonState(path, kind="test", plugin=PLUGIN).load("s") == {"said": ["a"]}

    assert store.flush()
    assert JsonState(path, kind="test", plugin=PLUGIN).load("s") == {"said": ["a", "b", "c", "d"]}
