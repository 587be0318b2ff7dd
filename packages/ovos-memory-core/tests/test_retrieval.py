"""The base of the retrievers, on a small one that counts shared words."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ovos_memory.core.errors import ConfigError, StoreUnavailable
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.retrieval import BaseRetrievalMemory
from ovos_memory.core.settings import RecallSettings
from ovos_memory.core.sqlite import open_database
from ovos_memory.core.types import Document, MemoryHit
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall


def user(text: Any) -> AgentMessage:
    return AgentMessage(MessageRole.USER, text)


def assistant(text: Any) -> AgentMessage:
    return AgentMessage(MessageRole.ASSISTANT, text)


class WordMemory(BaseRetrievalMemory):
    """Scores a document by the words that it shares with the query."""

    plugin_name = "ovos-memory-plugin-words"
    asked: list[tuple[str, str | None, int]]
    indexed: list[str]

    def __init__(self, config: dict[str, Any], *, path: Path, clock: Callable[[], float] = lambda: 100.0) -> None:
        self.path = path
        self.fails: Exception | None = None
        self.asked, self.indexed = [], []
        super().__init__(config, clock=clock)

    @classmethod
    def settings_model(cls) -> type[RecallSettings]:
        return RecallSettings

    def _ledger_opener(self) -> Callable[[], SqliteLedger]:
        path = self.path
        return lambda: SqliteLedger(open_database(path, plugin="words"))

    def _index(self, documents: list[Document]) -> None:
        if self.fails is not None:
            raise self.fails
        self.indexed += [document.id for document in documents]

    def _query(self, text: str, session_id: str | None, top_k: int) -> list[MemoryHit]:
        self.asked.append((text, session_id, top_k))
        if self.fails is not None:
            raise self.fails
        wanted = set(text.lower().split())
        hits = [
            MemoryHit(d.content, d.id, float(len(wanted & set(d.content.lower().split()))), {"n": d.n})
            for d in self.journal.ledger.documents(session_id=session_id)
        ]
        return sorted((h for h in hits if h.score > 0), key=lambda h: -h.score)[:top_k]


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., WordMemory]:
    return lambda **config: WordMemory(config, path=tmp_path / "words.db")


def tell(memory: WordMemory, *pairs: tuple[str, str], session_id: str = "s") -> None:
    for question, answer in pairs:
        memory.update_history([user(question), assistant(answer)], session_id)


def roles(context: list[AgentMessage]) -> list[str]:
    return [m.role.value for m in context]


# ------------------------------------------------------------------ search
def test_hits_are_distinct_best_first_and_as_many_as_asked(make: Callable[..., WordMemory]) -> None:
    memory = make()
    tell(memory, *[("red lamp", "ok")] * 12, ("red lamp on", "ok"), ("red", "ok"), ("blue", "no"))

    hits = memory.search("red lamp on", "s", 3)

    assert [h.content for h in hits] == ["Q: red lamp on\nA: ok", "Q: red lamp\nA: ok", "Q: red\nA: ok"]


def test_top_k_has_no_upper_cap_and_none_is_the_setting(make: Callable[..., WordMemory]) -> None:
    memory = make(retrieval={"max_num_results": 2})
    tell(memory, *[(f"tea {i}", "ok") for i in range(300)])

    assert len(memory.search("tea", "s")) == 2
    assert len(memory.search("tea", "s", 250)) == 250
    assert memory.search("tea", "s", 0) == memory.search("tea", "s", -1) == []


def test_min_score_drops_the_weak(make: Callable[..., WordMemory]) -> None:
    memory = make(retrieval={"min_score": 2})
    tell(memory, ("red lamp", "ok"), ("red", "ok"))

    assert [h.score for h in memory.search("red lamp", "s")] == [2.0]


@pytest.mark.parametrize("query", ["", "   ", None, "\n\t", "\0"])
def test_a_query_without_text_asks_nothing(query: Any, make: Callable[..., WordMemory]) -> None:
    memory = make()

    assert memory.search(query, "s") == []
    assert memory.asked == []


def test_scope_decides_what_the_store_is_asked(make: Callable[..., WordMemory]) -> None:
    memory = make()
    memory.search("x", "s")
    memory.search("x")
    scoped = make(scope="session")
    scoped.search("x", "s")
    scoped.search("x")

    assert [asked[1] for asked in memory.asked] == [None, None]
    assert [asked[1] for asked in scoped.asked] == ["s"]


def test_a_stored_text_is_found_verbatim(make: Callable[..., WordMemory]) -> None:
    memory = make()

    identifier = memory.store("the garage code is 77", "s", metadata={"from": "import"})

    assert identifier == "s_0"
    assert memory.search("garage", "s")[0].content == "the garage code is 77"
    assert memory.indexed == ["s_0"]


# ------------------------------------------------------------------ contexts
def test_a_context_holds_prompt_recall_history_and_the_utterance_last(make: Callable[..., WordMemory]) -> None:
    memory = make(system_prompt=" You are kind. ", max_history=2)
    tell(memory, ("my dog is Rex", "nice"), ("hello", "hi"))

    context = memory.build_conversation_context("  dog  ", "s")

    assert roles(context) == ["system", "system", "user", "assistant", "user"]
    assert context[0].content == "You are kind."
    assert "- Q: my dog is Rex\nA: nice" in context[1].content
    assert [m.content for m in context[2:]] == ["hello", "hi", "dog"]


def test_a_context_is_the_callers_to_change(make: Callable[..., WordMemory]) -> None:
    memory = make(system_prompt="p")
    tell(memory, ("my dog is Rex", "nice"))
    first = memory.build_conversation_context("dog", "s")
    expected = [(m.role, m.content) for m in first]

    for message in first:
        message.content = "changed"
    first.insert(0, user("changed"))

    assert [(m.role, m.content) for m in memory.build_conversation_context("dog", "s")] == expected


def test_recent_exchanges_are_left_out_when_so_set(make: Callable[..., WordMemory]) -> None:
    memory = make(retrieval={"exclude_recent": True, "max_num_results": 1}, max_history=2)
    tell(memory, ("tea is green", "ok"), ("tea is black", "ok"))

    context = memory.build_conversation_context("tea is", "s")

    assert "green" in context[0].content
    assert "black" not in context[0].content


def test_the_query_folds_recent_user_turns_in_when_so_set(make: Callable[..., WordMemory]) -> None:
    memory = make(retrieval={"query_mode": "history", "query_history_turns": 1}, max_history=2)
    tell(memory, ("one", "a"), ("two", "b"))

    memory.build_conversation_context("three", "s")

    assert memory.asked[-1][0] == "two\nthree"


def test_the_id_of_the_injected_call_changes_with_the_conversation_only(make: Callable[..., WordMemory]) -> None:
    memory = make(inject_mode="tool")
    tell(memory, ("tea", "ok"), ("tea too", "ok"))

    first, again = (memory.build_conversation_context("tea", "s")[-3].tool_calls for _ in range(2))
    tell(memory, ("tea three", "ok"))
    later = memory.build_conversation_context("tea", "s")[-3].tool_calls

    assert first == again == [ToolCall(id="memrag_s_1", name="search_memory", arguments={"query": "tea"})]
    assert later is not None
    assert later[0].id == "memrag_s_2"


def test_none_is_the_empty_utterance_of_the_default_session(make: Callable[..., WordMemory]) -> None:
    memory = make()
    memory.update_history([user("q"), assistant("a")], None)

    assert [m.content for m in memory.build_conversation_context(None, None)] == ["q", "a", ""]  # type: ignore[arg-type]
    assert [m.content for m in memory.get_history("default")] == ["q", "a"]


def test_max_history_chars_bounds_the_window_of_a_context(make: Callable[..., WordMemory]) -> None:
    memory = make(max_history=0, max_history_chars=100)
    tell(memory, *[(f"question {i:04}", "answer") for i in range(500)])

    context = memory.build_conversation_context("zebra", "s")

    assert sum(len(m.content) for m in context[:-1]) <= 100
    assert context[-3].content == "question 0499"
    assert len(memory.get_history("s")) == 1000


# ------------------------------------------------------------------ failures
def test_a_failing_search_leaves_the_conversation(make: Callable[..., WordMemory]) -> None:
    memory = make(system_prompt="p")
    tell(memory, ("my dog is Rex", "nice"))
    memory.fails = RuntimeError("my dog is Rex")

    assert roles(memory.build_conversation_context("dog", "s")) == ["system", "user", "assistant", "user"]
    tell(memory, ("my cat is Tom", "nice"))
    assert [m.content for m in memory.get_history("s")][-2:] == ["my cat is Tom", "nice"]
    operations = memory.health()["operations"]
    assert operations["search"]["last_error"] == operations["index"]["last_error"] == "RuntimeError"


def test_without_a_store_the_process_remembers_in_memory(tmp_path: Path) -> None:
    class Homeless(WordMemory):
        def _ledger_opener(self) -> Callable[[], SqliteLedger]:
            def fail() -> SqliteLedger:
                raise StoreUnavailable("no such folder")

            return fail

    memory = Homeless({}, path=tmp_path)
    tell(memory, ("q", "a"))

    assert [m.content for m in memory.build_conversation_context("zebra", "s")] == ["q", "a", "zebra"]
    assert memory.health()["held"] == 1
    assert memory.health()["store_error"] == "no such folder"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_through(error: type[BaseException], make: Callable[..., WordMemory]) -> None:
    memory = make()
    memory.fails = error()  # type: ignore[assignment]

    with pytest.raises(error):
        memory.search("x", "s")


def test_a_wrong_setting_stops_the_constructor(make: Callable[..., WordMemory]) -> None:
    with pytest.raises(ConfigError, match=r"^ovos-memory-plugin-words: inject_mode must be one of"):
        make(inject_mode="shout")


def test_a_config_that_changes_later_changes_nothing(tmp_path: Path) -> None:
    config: dict[str, Any] = {"system_prompt": "p", "retrieval": {"max_num_results": 1}}
    memory = WordMemory(config, path=tmp_path / "words.db")

    config["system_prompt"] = "other"
    config["retrieval"]["max_num_results"] = 9

    assert memory.system_prompt == "p"
    assert memory.config["retrieval"]["max_num_results"] == 1
    assert memory.settings.retrieval.max_num_results == 1


def test_a_memory_without_owner_is_freed(make: Callable[..., WordMemory]) -> None:
    memory = make()
    tell(memory, ("q", "a"))
    reference = weakref.ref(memory)

    del memory
    gc.collect()

    assert reference() is None
