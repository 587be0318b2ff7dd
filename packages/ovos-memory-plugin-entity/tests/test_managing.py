"""Facts as records: seen, corrected, forgotten with the words they rest on, taken along."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.core.llm.server import ServerChat
from ovos_memory.core.management_types import Trace
from ovos_memory.entity import EntityMemory
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.messages import pair


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(['["Has a dog called Rex", "Likes tea"]', "[]"]) as fake:
        yield fake


def memory_on(server: FakeServer, path: Path, **config: Any) -> EntityMemory:
    chat = ServerChat(server.url, model="m", pauses_s=(0.02, 0.05))
    return EntityMemory({"db_path": str(path), "request_timeout": 1, **config}, chat=chat)


@pytest.fixture
def memory(server: FakeServer, tmp_path: Path) -> Iterator[EntityMemory]:
    made = memory_on(server, tmp_path / "facts.json")
    made.update_history(pair("I have a dog called Rex and I like tea", "nice"), "s")
    assert made.workplace.worker.drain(20)
    yield made
    made.close()


def test_facts_are_records_with_the_words_they_rest_on(memory: EntityMemory) -> None:
    assert {r.text: (r.kind, r.session_id) for r in memory.records()} == {
        "Has a dog called Rex": ("fact", "s"),
        "Likes tea": ("fact", "s"),
    }
    assert memory.stats()["kinds"] == {"fact": 2} and memory.stats()["waiting"] == 0


def test_a_fact_is_forgotten_by_its_text_and_by_its_words(memory: EntityMemory, tmp_path: Path) -> None:
    done = memory.forget(query="called REX")
    left = {r.text for r in memory.records()}

    assert done.total >= 1 and "Has a dog called Rex" not in left
    assert "Rex" not in (tmp_path / "facts.json").read_text()


def test_facts_go_with_the_exchange_that_another_memory_forgot(memory: EntityMemory) -> None:
    said = "I have a dog called Rex and I like tea"

    assert memory.forget_related([Trace("other", said, said, "nice")]).total == 0
    assert memory.forget_related([Trace("s", said, said, "nice")]).total == 2
    assert memory.facts("s") == []


def test_a_corrected_fact_stands_in_the_next_context(memory: EntityMemory) -> None:
    record = next(r for r in memory.records() if "Rex" in r.text)

    assert memory.edit(record.id, text="Has a dog called Max").id == record.id
    assert "Has a dog called Max" in memory.build_conversation_context("hi", "s")[0].content
    assert next(r for r in memory.records() if "Max" in r.text).details["words"] == ""
    with pytest.raises(ValueError, match="neither question nor answer"):
        memory.edit(record.id, question="x")


@pytest.mark.parametrize("scope", ["global", "session"])
def test_facts_are_taken_along_as_they_are(
    memory: EntityMemory, server: FakeServer, tmp_path: Path, scope: str
) -> None:
    lines = json.loads(json.dumps(list(memory.export())))
    other = memory_on(server, tmp_path / "other.json", scope=scope)

    assert other.import_records(lines).total == 2
    assert other.import_records(lines).known == 2
    exported = [{**line, "id": ""} for line in other.export()]
    assert exported == [{**line, "id": ""} for line in lines]
    assert {fact.text for fact in other.facts("s")} == {"Has a dog called Rex", "Likes tea"}
    other.close()


def test_a_history_is_not_given_to_the_model_again(memory: EntityMemory, server: FakeServer) -> None:
    asked = len(server.chats)
    line = {"kind": "exchange", "session_id": "s", "created_at": 5.0, "question": "I am Bob", "answer": "hi"}

    assert memory.import_records([line]).refused == {"exchange": 1}
    assert memory.workplace.worker.drain(20) and len(server.chats) == asked


def test_facts_of_1x_are_taken_in(server: FakeServer, tmp_path: Path) -> None:
    memory = memory_on(server, tmp_path / "new.json")
    lines = [
        {"kind": "fact", "session_id": "s", "created_at": 5.0, "text": text}
        for text in ("Name: Bob", "Likes tea")
    ]

    assert memory.import_records(lines).total == 2
    assert {fact.text for fact in memory.facts("s")} == {"Name: Bob", "Likes tea"}
    memory.close()


def test_a_session_without_facts_leaves_no_name(server: FakeServer, tmp_path: Path) -> None:
    memory = memory_on(server, tmp_path / "scoped.json", scope="session")
    memory.import_records([{"kind": "fact", "session_id": "ann", "created_at": 5.0, "text": "Likes tea"}])
    assert "ann" in (tmp_path / "scoped.json").read_text()

    memory.forget(query="likes tea")
    assert "ann" not in (tmp_path / "scoped.json").read_text()
    memory.close()
