"""The hybrid of the examples: words and meaning, as persona_hybrid.json puts them together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.composite import CompositeMemory
from ovos_memory.testing.fakes.embedder import FakeEmbedder
from ovos_memory.testing.fakes.members import install_plugin

EXAMPLE = Path(__file__).parents[1] / "examples" / "persona_hybrid.json"
LEXICAL, DENSE = "ovos-memory-plugin-lexical", "ovos-memory-plugin-local-rag"
DAY_S = 86_400.0
NEW_YEAR_2024 = 1_704_067_200.0


@pytest.fixture
def hybrid(tmp_path, monkeypatch):
    """Return a hybrid on files of the test's own, with another embedder, in a time that the test sets."""
    install_plugin(tmp_path, monkeypatch, "bag-of-words", FakeEmbedder, group="opm.embeddings.text")
    made = []

    def make(embedder="bag-of-words", clock=lambda: NEW_YEAR_2024, **settings):
        persona = json.loads(EXAMPLE.read_text(encoding="utf-8"))
        block = {**persona[persona["memory_module"]], **settings}
        for place, member in enumerate(block["members"]):
            member["config"]["db_path"] = str(tmp_path / f"{place}.db")
            if member["module"] == DENSE:
                member["config"] |= {"embeddings_plugin": embedder, "embeddings_config": {}}
        made.append(CompositeMemory(block, clock=clock))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


def tell(memory, question, answer="noted"):
    messages = [AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer)]
    memory.update_history(messages, "s")


def asked(memory, query, top_k=5):
    return [hit.content.split("\n")[0].removeprefix("Q: ") for hit in memory.search(query, "s", top_k)]


def test_a_named_day_prefers_what_was_said_then(hybrid):
    now = [0.0]
    memory = hybrid(clock=lambda: now[0])
    for day in range(1, 26):
        now[0] = NEW_YEAR_2024 + day * DAY_S
        tell(memory, f"we cooked a meal, dish {chr(64 + day)}")

    assert asked(memory, "what did we cook on 10 January 2024", 1) == ["we cooked a meal, dish I"]
    assert asked(memory, "what did we cook yesterday", 1) == ["we cooked a meal, dish X"]


def test_what_both_find_comes_before_what_one_finds(hybrid):
    memory = hybrid()
    for city in ("Lisbon", "Oslo", "Riga", "Turin"):
        tell(memory, f"the weather in {city} is fine")
    tell(memory, "my cello is being repaired in Porto")

    hits = memory.search("who repairs the cello", "s")

    assert hits[0].content.startswith("Q: my cello")
    assert set(hits[0].metadata["retrievers"]) == {LEXICAL, DENSE}
    assert all(0 <= hit.score <= 1 for hit in hits)


def test_words_go_on_without_meaning(hybrid):
    memory = hybrid(embedder="no-such-embedder")
    tell(memory, "my cello is being repaired in Porto")

    assert asked(memory, "where is my cello") == ["my cello is being repaired in Porto"]


def test_an_exchange_is_recalled_once_whichever_member_found_it(hybrid):
    memory = hybrid()
    for _ in range(3):
        tell(memory, "my cello is being repaired in Porto")

    assert asked(memory, "cello Porto") == ["my cello is being repaired in Porto"]
