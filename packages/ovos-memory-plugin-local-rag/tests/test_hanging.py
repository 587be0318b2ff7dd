"""A model or a store that hangs for ever: turns go on, nothing is lost, and what was missed is caught up with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.testing.fakes.embedder import BatchEmbedder, FakeEmbedder
from ovos_memory.testing.fakes.store import FakeStore
from ovos_memory.testing.messages import pair

LONG = "a sentence of some length about this and that. " * 40
"""Its windows are counted with the model's own tokenizer, so cutting it needs the model too."""


class CountingModel(FakeEmbedder):
    """One on llama.cpp: counting tokens uses the model as embedding does."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        self.model = self
        self.n_batch = 64

    def tokenize(self, text: bytes) -> list[bytes]:
        if self.mode == "hangs":
            self.release.wait()
        return text.split()

    def n_ctx(self) -> int:
        return 64


class Stack:
    def __init__(self, folder: Path, embedder: FakeEmbedder) -> None:
        self.embedder = embedder
        self.store = FakeStore()
        self.memory = LocalRAGMemory(
            {"db_path": str(folder / "ledger.db"), "preload": False, "timeout_s": 0.2},
            embedder=embedder,
            embeddings_db=self.store,
        )
        tell(self.memory, "my dentist is Doctor Amari")

    def release(self) -> None:
        self.embedder.mode, self.store.failure = "good", "none"
        self.embedder.release.set()
        self.store.release.set()


@pytest.fixture(params=[FakeEmbedder, BatchEmbedder, CountingModel])
def stack(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stack]:
    stack = Stack(tmp_path, request.param({"dimension": 512}))
    yield stack
    stack.release()
    stack.memory.close()


def tell(memory: LocalRAGMemory, *facts: str) -> None:
    for fact in facts:
        memory.update_history(pair(fact, "noted"), "s")


def until(is_true: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


def threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def test_turns_go_on_while_the_model_hangs_and_all_is_embedded_when_it_is_back(stack: Stack) -> None:
    stack.embedder.mode = "hangs"

    tell(stack.memory, "my bike is blue", LONG, *(f"thing number {n}" for n in range(20)))
    context = stack.memory.build_conversation_context("who is my dentist", "s")

    assert context[-1].content == "who is my dentist"
    assert "thing number 19" in [message.content for message in context]  # the history is the ledger's
    assert stack.memory.journal.ledger.count() == 23
    assert stack.memory.health()["vectors"]["pending"] == 22

    stack.release()
    until(lambda: stack.memory.health()["vectors"]["pending"] == 0)

    assert stack.memory.search("bike", "s")[0].source == "s_1"
    until(lambda: len(stack.store.collections["ovos_local_rag"]) >= 23)


def test_a_model_that_hangs_costs_one_thread_and_one_wait(stack: Stack) -> None:
    stack.embedder.mode = "hangs"
    tell(stack.memory, "the first to wait")
    stack.memory.search("anything", "s")
    before, entered = threads(), len(stack.embedder.texts)

    for n in range(20):
        tell(stack.memory, f"thing number {n} {LONG}")
        stack.memory.build_conversation_context(f"question {n}", "s")

    assert not threads() - before
    assert len(stack.embedder.texts) == entered  # nobody else went in, so nobody else waited


def test_what_hangs_is_told_once_with_what_to_expect(stack: Stack) -> None:
    stack.embedder.mode = "hangs"
    tell(stack.memory, "the first to wait")
    stack.memory.search("anything", "s")

    operations = stack.memory.health()["operations"]
    assert operations["index"]["failures"] == 1 and operations["search"]["failures"] == 1


def test_a_store_that_hangs_holds_nobody_up_and_answers_are_exact(stack: Stack) -> None:
    stack.store.failure = "hangs"
    tell(stack.memory, "my bike is blue", "the cat is called Milo")
    entered, before = len(stack.store.calls), threads()

    for n in range(10):
        tell(stack.memory, f"thing number {n}")
        assert stack.memory.search("bike", "s")[0].source == "s_1"
        assert stack.memory.search("dentist", "s")[0].source == "s_0"

    assert len(stack.store.calls) == entered
    assert not threads() - before
    assert stack.memory.health()["vectors"]["pending"] == 0

    stack.release()
    until(
        lambda: (
            bool(stack.memory.search("bike", "s")) and len(stack.store.collections["ovos_local_rag"]) >= 13
        )
    )


def test_forgetting_and_closing_return_while_both_hang(stack: Stack) -> None:
    tell(stack.memory, "my secret is QX7781")
    stack.embedder.mode, stack.store.failure = "hangs", "hangs"
    tell(stack.memory, "the first to wait")

    stack.memory.forget(query="QX7781")

    assert stack.memory.journal.ledger.count() == 2
    stack.release()
    until(lambda: len(stack.memory.search("dentist", "s")) == 2)
    tell(stack.memory, "one more")
    until(lambda: "QX7781" not in str(stack.store.collections))


def test_a_model_that_hangs_at_the_first_question_does_not_hang_the_second_memory_of_it(
    tmp_path: Path,
) -> None:
    embedder = FakeEmbedder({"mode": "hangs"})
    memories = [
        LocalRAGMemory(
            {"db_path": str(tmp_path / f"{n}.db"), "embeddings_db_plugin": None, "timeout_s": 0.2},
            embedder=embedder,
        )
        for n in range(2)
    ]

    for memory in memories:
        tell(memory, "my bike is blue")
        assert memory.build_conversation_context("and the bike?", "s")[-1].content == "and the bike?"

    embedder.mode = "good"
    embedder.release.set()
    for memory in memories:
        until(lambda memory=memory: bool(memory.search("bike", "s")))  # type: ignore[misc]
        memory.close()
