"""Summaries as records: seen, corrected, begun anew when what they cover is forgotten, taken along."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.core.llm.server import ServerChat
from ovos_memory.core.management_types import Trace
from ovos_memory.longterm import LongTermMemory
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.messages import pair

GOOD = "The user and the assistant talked about the garden and the weather."
AGAIN = "They talked about the weather, and the garden came up again."


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([GOOD, AGAIN]) as fake:
        yield fake


def memory_on(server: FakeServer, path: Path) -> LongTermMemory:
    chat = ServerChat(server.url, model="m", pauses_s=(0.02, 0.05))
    config = {"db_path": str(path), "request_timeout": 1, "recent_window": 2, "summarize_every": 4}
    return LongTermMemory(config, chat=chat)


@pytest.fixture
def memory(server: FakeServer, tmp_path: Path) -> Iterator[LongTermMemory]:
    made = memory_on(server, tmp_path / "gist.json")
    talk(made, 0, 4)
    assert made.summary("s") == GOOD
    yield made
    made.close()


def talk(memory: LongTermMemory, first: int, behind: int) -> None:
    for number in range(first, behind):
        memory.update_history(pair(f"question {number}", f"answer {number}"), "s")
        assert memory.workplace.worker.drain(20)


def trace(number: int, **changes: Any) -> Trace:
    question, answer = f"question {number}", f"answer {number}"
    return Trace("s", f"Q: {question}\nA: {answer}", question, answer, **changes)


def test_the_summary_is_a_record(memory: LongTermMemory) -> None:
    found = [r for r in memory.records() if r.kind == "summary"]

    assert [(r.id, r.text, r.details["covered"]) for r in found] == [("s_summary", GOOD, 3)]
    assert [r.id for r in memory.records() if r.kind == "exchange"] == ["s_2", "s_3"]


def test_a_summary_that_covers_what_another_memory_forgot_begins_anew(memory: LongTermMemory) -> None:
    assert memory.forget_related([trace(0)]).total == 1
    assert memory.summary("s") == ""
    assert [m.content for m in memory.get_history("s")][::2] == ["question 2", "question 3"]

    talk(memory, 4, 6)
    assert memory.summary("s") == AGAIN


def test_an_exchange_that_is_not_covered_leaves_the_summary_alone(memory: LongTermMemory) -> None:
    talk(memory, 4, 5)

    assert memory.forget_related([trace(4)]).total == 1
    assert memory.summary("s") == GOOD
    assert memory.forget_related([trace(0, created_at=9e9)]).total == 0


def test_forgetting_a_covered_exchange_takes_the_summary_along(
    memory: LongTermMemory, tmp_path: Path
) -> None:
    assert memory.forget(query="question 3").total == 2
    assert memory.summary("s") == "" and "garden" not in (tmp_path / "gist.json").read_text()


def test_a_corrected_summary_stands_in_the_next_context(memory: LongTermMemory) -> None:
    memory.edit("s_summary", text="They talked about boats.")

    assert "They talked about boats." in memory.build_conversation_context("hi", "s")[0].content


def test_a_summary_is_taken_along_and_never_mixed(
    memory: LongTermMemory, server: FakeServer, tmp_path: Path
) -> None:
    lines = json.loads(json.dumps(list(memory.export())))
    other = memory_on(server, tmp_path / "other.json")

    assert other.import_records(lines).total == 3
    assert list(other.export()) == lines and other.summary("s") == GOOD
    assert other.import_records(lines).known == 3
    line = {"kind": "summary", "session_id": "s", "created_at": 5.0, "text": "something else"}
    assert other.import_records([line]).refused == {"summary": 1} and other.summary("s") == GOOD
    other.close()
