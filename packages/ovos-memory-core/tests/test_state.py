"""What every state store does, whatever its backend."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.core.state import JsonState, RamState, Record, SqliteState, open_state

PLUGIN = "ovos-memory-plugin-test"
HARD_SESSIONS = [
    "a", "A", "a_1", "", "a\0", "\0", "caf\u00e9", "cafe\u0301", "\ud83d", "x\udc81", "\U0001f600", "%", " a",
    "format", "version", "sessions", '"quoted\\"', "line\nbreak\u2028", "x" * 5_000,
]  # fmt: skip


def say(text: str) -> Callable[[Record | None], Record]:
    """Return a change that appends a text, as a memory appends a turn."""

    def change(record: Record | None) -> Record:
        record = record or {"said": []}
        record["said"].append(text)
        return record

    return change


@pytest.fixture(params=["json", "sqlite", "memory", "open json", "open sqlite", "open memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    path = tmp_path / "folder" / "m.state"
    if request.param.startswith("open "):
        return open_state(request.param[5:], path, kind="test", plugin=PLUGIN)
    if request.param == "memory":
        return RamState()
    return {"json": JsonState, "sqlite": SqliteState}[request.param](path, kind="test", plugin=PLUGIN)


def test_an_update_is_loaded(store: Any):
    assert store.load("s") is None

    assert store.update("s", say("a")) == {"said": ["a"]}
    assert store.update("s", say("b")) == {"said": ["a", "b"]}

    assert store.load("s") == {"said": ["a", "b"]}
    assert store.sessions() == ["s"]
    assert list(store.items()) == [("s", {"said": ["a", "b"]})]


def test_no_record_deletes_the_session(store: Any):
    store.update("s", say("a"))
    store.update("t", say("a"))

    assert store.update("s", lambda record: None) is None
    assert store.update("never", lambda record: None) is None

    assert store.load("s") is None
    assert store.sessions() == ["t"]


def test_a_change_that_raises_changes_nothing(store: Any):
    store.update("s", say("a"))

    with pytest.raises(ZeroDivisionError):
        store.update("s", lambda record: {"x": 1 // 0})

    assert store.load("s") == {"said": ["a"]}
    assert store.update("s", say("b")) == {"said": ["a", "b"]}


def test_what_is_given_and_handed_out_are_copies(store: Any):
    mine = {"deep": [{"k": []}]}
    store.update("s", lambda record: mine)
    mine["deep"][0]["k"].append("changed")
    store.load("s")["deep"].append("changed")
    for _, record in store.items():
        record["deep"].append("changed")

    assert store.load("s") == {"deep": [{"k": []}]}


def test_any_session_and_any_text_is_kept_apart(store: Any):
    for session in HARD_SESSIONS:
        store.update(session, say(f"of {session}"))

    assert store.sessions() == HARD_SESSIONS
    assert dict(store.items()) == {session: {"said": [f"of {session}"]} for session in HARD_SESSIONS}
    for session in HARD_SESSIONS:
        assert store.load(session) == {"said": [f"of {session}"]}


def test_asking_for_an_unknown_session_leaves_nothing(store: Any):
    for n in range(100):
        assert store.load(f"s{n}") is None

    assert store.sessions() == []


def test_numbers_and_nesting_come_back(store: Any):
    record = {"f": 0.1, "i": 2**60, "b": True, "n": None, "l": [[], {}, [{"": ""}]]}

    store.update("s", lambda _: record)

    assert store.load("s") == record


def test_threads_lose_no_update(store: Any):
    failures = []

    def work(name: int) -> None:
        try:
            for n in range(10):
                store.update("shared", say(f"{name}-{n}"))
                store.update(f"own{name}", say(f"{n}"))
                assert store.load(f"own{name}")["said"][-1] == f"{n}"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert len(store.load("shared")["said"]) == 160
    assert all(store.load(f"own{name}")["said"] == [f"{n}" for n in range(10)] for name in range(16))


def test_a_closed_store_is_opened_again_by_the_next_use(store: Any):
    store.update("s", say("a"))
    store.close()
    store.close()

    store.update("s", say("b"))
    assert store.load("s") == {"said": ["a", "b"]}


@pytest.mark.parametrize("backend", ["json", "sqlite"])
def test_a_new_object_finds_what_an_earlier_one_stored(tmp_path: Path, backend: Any):
    path = tmp_path / "m.state"
    for session in HARD_SESSIONS:
        open_state(backend, path, kind="test", plugin=PLUGIN).update(session, say(f"of {session}"))

    again = open_state(backend, path, kind="test", plugin=PLUGIN)
    assert dict(again.items()) == {session: {"said": [f"of {session}"]} for session in HARD_SESSIONS}


@pytest.mark.parametrize("backend", ["json", "sqlite"])
def test_opening_touches_no_file_before_the_first_use(tmp_path: Path, backend: Any):
    open_state(backend, tmp_path / "new" / "m.state", kind="test", plugin=PLUGIN)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("backend", ["json", "sqlite", "memory"])
@pytest.mark.parametrize("path", [None, ":memory:"])
def test_without_a_path_the_state_is_in_memory(
    backend: Any, path: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    store = open_state(backend, path, kind="test", plugin=PLUGIN)
    store.update("s", say("a"))

    assert store.load("s") == {"said": ["a"]}
    assert list(tmp_path.iterdir()) == []


def test_memory_holds_the_sessions_used_last():
    store = RamState(max_sessions=2)
    for session in "ab":
        store.update(session, say("x"))
    store.load("a")

    store.update("c", say("x"))

    assert sorted(store.sessions()) == ["a", "c"]


def test_a_surrogate_pair_is_the_session_that_it_spells_in_json(tmp_path: Path):
    store = JsonState(tmp_path / "m.json", kind="test", plugin=PLUGIN)
    store.update("\ud83d\ude00", say("a"))

    assert store.load("\U0001f600") == {"said": ["a"]}
    json.loads((tmp_path / "m.json").read_bytes())
