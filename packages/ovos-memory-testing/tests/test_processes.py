from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.testing.messages import assistant, call, pair, tool, user
from ovos_memory.testing.processes import Child, Location, pack, run_python, unpack
from ovos_memory.testing.reference import ReferenceMemory


class _Raising(ReferenceMemory):
    def get_history(self, session_id: str | None = None) -> Any:
        raise ValueError("broken on purpose")


@pytest.fixture
def child(tmp_path: Path) -> Any:
    child = Child(Location.of(ReferenceMemory), {"db_path": str(tmp_path / "events.jsonl")})
    yield child
    child.kill()


def test_messages_travel_whole() -> None:
    for message in (user("lamp \ud83d 😀"), assistant(None, call("c", rooms=["a"])), tool("21", "c")):
        assert unpack(pack(message)) == message


def test_another_process_keeps_a_memory(child: Child) -> None:
    child.update_history(pair("tea", "noted"))

    assert child.pid != os.getpid()
    assert [m.content for m in child.get_history()] == ["tea", "noted"]
    assert child.build_conversation_context("hello")[-1] == user("hello")
    assert child.search("tea") == [("Q: tea\nA: noted", "s_0")]


def test_a_memory_that_raises_fails_the_test_with_its_traceback() -> None:
    child = Child(Location.of(_Raising), {})
    try:
        with pytest.raises(AssertionError, match="broken on purpose"):
            child.get_history()
    finally:
        child.kill()


def test_a_killed_process_answers_no_more(child: Child) -> None:
    child.send("burst", first=0, count=10_000, session_id="s")
    assert child.reply() == 0
    os.kill(child.pid, 9)

    with pytest.raises(EOFError):
        for _ in range(10_001):
            child.reply()


def test_a_process_ends_by_itself(child: Child) -> None:
    child.get_history()
    child.end()

    child.kill()


def test_a_local_factory_cannot_be_found_elsewhere() -> None:
    with pytest.raises(TypeError, match="importable"):
        Location.of(lambda config: None)


def test_a_fresh_interpreter_that_fails_says_why() -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run_python("1 / 0")
