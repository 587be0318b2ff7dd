"""What a user of the memory sees, on a model and a store without libraries."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.testing.fakes.embedder import FakeEmbedder
from ovos_memory.testing.fakes.store import FakeStore
from ovos_memory.testing.messages import assistant, pair, user

FACTS = [
    "my dentist is Doctor Amari",
    "the wifi password is in the blue notebook",
    "my sister Anna arrives on Friday",
    "I am allergic to peanuts",
    "the car needs new brake pads",
    "we planted tomatoes on the balcony",
]


class Stack:
    """A memory, its model and its store; :meth:`restart` begins another process's life on the same files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store: FakeStore | None = FakeStore()
        self.embedder = FakeEmbedder({"dimension": 512})
        self.memories: list[LocalRAGMemory] = []

    def new(self, **config: Any) -> LocalRAGMemory:
        config = {"db_path": str(self.folder / "ledger.db"), "preload": False, **config}
        if self.store is None:
            config["embeddings_db_plugin"] = None
        memory = LocalRAGMemory(config, embedder=self.embedder, embeddings_db=self.store)
        self.memories.append(memory)
        return memory

    def close(self) -> None:
        for memory in self.memories:
            memory.close()
        self.memories.clear()

    def restart(self, **config: Any) -> LocalRAGMemory:
        self.close()
        return self.new(**config)

    def rows(self, name: str = "ovos_local_rag") -> dict[str, Any]:
        assert self.store is not None
        return self.store.collections.get(name, {})


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    stack = Stack(tmp_path)
    yield stack
    stack.close()


def tell(memory: LocalRAGMemory, *facts: str, session: str = "s") -> None:
    for fact in facts:
        memory.update_history(pair(fact, "noted"), session)


def found(memory: LocalRAGMemory, query: str, **kwargs: Any) -> list[str]:
    return [hit.content for hit in memory.search(query, kwargs.pop("session", "s"), **kwargs)]


def sources(memory: LocalRAGMemory, query: str) -> list[str | None]:
    return [hit.source for hit in memory.search(query, "s")]


# ---------------------------------------------------------------------- the store and the ledger
def test_an_exchange_is_in_the_store_before_the_call_returns(stack: Stack) -> None:
    memory = stack.new()

    tell(memory, "my dentist is Doctor Amari")

    ((key, (_, metadata)),) = stack.rows().items()
    assert key == "s_0"
    assert metadata == {"content": "Q: my dentist is Doctor Amari\nA: noted", "session_id": "s"}


def test_ids_go_on_after_a_restart_and_nothing_is_overwritten(stack: Stack) -> None:
    tell(stack.new(), "my dentist is Doctor Amari", session="default")

    memory = stack.restart()
    tell(memory, "my bike is blue", session="default")

    assert sorted(stack.rows()) == ["default_0", "default_1"]
    assert "Amari" in found(memory, "dentist")[0] and "bike" in found(memory, "bike")[0]


def test_session_names_never_blend(stack: Stack) -> None:
    memory = stack.new()
    for session in ("a", "a_1", "a_1_0", "", "ä", "a\0b", "a\udc81"):
        tell(memory, "the same words", "the same words", session=session)

    assert len(stack.rows()) == 14


@pytest.mark.parametrize("is_lost", ["emptied", "never there"])
def test_a_lost_store_is_filled_again_without_embedding_anything(stack: Stack, is_lost: str) -> None:
    tell(stack.new(), *FACTS)
    stack.close()
    assert stack.store is not None
    stack.store = FakeStore() if is_lost == "never there" else stack.store
    stack.store.collections.clear()
    stack.embedder.texts.clear()

    memory = stack.new()

    assert "Amari" in found(memory, "dentist")[0]
    tell(memory, "one more")
    assert len(stack.rows()) == len(FACTS) + 1
    assert not [text for text in stack.embedder.texts if "Amari" in text]


@pytest.mark.parametrize("failure", ["locked", "raises"])
def test_while_the_store_fails_answers_come_from_the_ledgers_own_vectors(stack: Stack, failure: str) -> None:
    memory = stack.new()
    tell(memory, *FACTS[:3])
    assert stack.store is not None
    stack.store.failure = failure  # type: ignore[assignment]

    tell(memory, *FACTS[3:])

    assert "peanuts" in found(memory, "peanuts")[0] and "Amari" in found(memory, "dentist")[0]
    assert memory.health()["operations"]["vector store"]["failures"] >= 1
    stack.store.failure = "none"
    tell(memory, "one more")
    assert len(stack.rows()) == len(FACTS) + 1


def test_a_store_that_does_not_show_new_rows_is_not_relied_on(stack: Stack) -> None:
    stack.store = FakeStore({"is_stale": True})
    memory = stack.new()

    tell(memory, *FACTS)

    assert "peanuts" in found(memory, "peanuts")[0]


def test_rows_of_others_in_the_collection_are_no_hits(stack: Stack) -> None:
    memory = stack.new()
    tell(memory, *FACTS[:2])
    assert stack.store is not None
    for n in range(30):
        vector = stack.embedder.get_embeddings(f"dentist {n}")
        stack.store.add_embeddings(f"alien_{n}", vector, {"content": "alien"}, "ovos_local_rag")

    assert "alien" not in " ".join(found(memory, "dentist"))
    assert "Amari" in found(memory, "dentist")[0]


def test_without_a_store_the_ledgers_vectors_are_the_engine(stack: Stack) -> None:
    stack.store = None
    tell(stack.new(), *FACTS)

    assert "peanuts" in found(stack.restart(), "peanuts")[0]


# ---------------------------------------------------------------------- models
@pytest.mark.parametrize("other", [{"dimension": 128}, {"dimension": 512, "salt": "another"}])
def test_a_changed_model_finds_old_and_new(stack: Stack, other: dict[str, Any]) -> None:
    tell(stack.new(), *FACTS)
    stack.embedder = FakeEmbedder(other)

    memory = stack.restart()
    assert "Amari" in found(memory, "dentist")[0]
    tell(memory, "my bike is blue")
    memory.close()

    assert "Amari" in found(memory, "dentist")[0] and "bike" in found(memory, "bike")[0]
    assert len(stack.rows()) == len(FACTS)
    assert len(stack.rows("ovos_local_rag.model2")) == len(FACTS) + 1


def test_a_model_that_comes_back_needs_nothing_embedded_again(stack: Stack) -> None:
    first = stack.embedder
    tell(stack.new(), *FACTS)
    stack.embedder = FakeEmbedder({"dimension": 64})
    stack.restart().search("dentist", "s")
    stack.embedder = first
    first.texts.clear()

    memory = stack.restart()

    assert "Amari" in found(memory, "dentist")[0]
    assert not [text for text in first.texts if text.startswith("Q: ")]


def test_many_exchanges_are_embedded_again_in_the_background(stack: Stack) -> None:
    tell(stack.new(), *(f"fact number {n} about thing{n}" for n in range(60)))
    stack.embedder = FakeEmbedder({"dimension": 2048})

    memory = stack.restart()
    found(memory, "thing3")
    memory.close()

    assert memory.health()["vectors"]["pending"] == 0
    assert "thing3" in found(memory, "thing3")[0]


def test_a_missing_embeddings_plugin_loses_nothing(stack: Stack, tmp_path: Path) -> None:
    config = {"db_path": str(tmp_path / "ledger.db"), "embeddings_plugin": "no-such-plugin"}
    memory = LocalRAGMemory(config, embeddings_db=stack.store)
    tell(memory, *FACTS)
    assert memory.search("dentist", "s") == []
    assert len(memory.get_history("s")) == 10
    assert memory.build_conversation_context("dentist?", "s")[-1].content == "dentist?"
    memory.close()

    assert "Amari" in found(stack.new(), "dentist Doctor Amari")[0] or stack.memories[-1].reindex() >= 0


# ---------------------------------------------------------------------- vectors
def test_a_turn_longer_than_the_embedder_takes_is_found_by_its_start(stack: Stack) -> None:
    stack.embedder = FakeEmbedder({"dimension": 512, "max_chars": 500})
    memory = stack.new()

    memory.update_history(pair("start marker ALPHA " + "filler " * 5_000, "end marker OMEGA"), "s")
    tell(memory, "a normal turn")

    assert sources(memory, "start marker ALPHA")[0] == "s_0"
    assert sources(memory, "start marker ALPHA").count("s_0") == 1
    assert found(memory, "a normal turn")[0] == "Q: a normal turn\nA: noted"


@pytest.mark.parametrize("mode", ["zeros", "nan", "inf", "empty", "echo"])
def test_bad_vectors_are_not_stored_and_the_exchange_stays(stack: Stack, mode: str) -> None:
    stack.embedder.fails_on = ("broken",)
    stack.embedder.mode = mode  # type: ignore[assignment]
    memory = stack.new()

    tell(memory, "a good turn", "a broken turn")

    assert list(stack.rows()) == ["s_0"]
    assert [m.content for m in memory.get_history("s")][2] == "a broken turn"
    hits = memory.search("a good turn", "s")
    assert [hit.source for hit in hits] == ["s_0"] and all(math.isfinite(hit.score) for hit in hits)
    assert memory.search("broken", "s") == []


@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product", "similarity"])
@pytest.mark.parametrize("min_score", [None, 0.3])
def test_the_better_one_comes_first_and_is_never_the_one_dropped(
    stack: Stack, distance: str, min_score: float | None
) -> None:
    stack.store = FakeStore({"distance": distance})
    memory = stack.new(retrieval={"min_score": min_score})
    tell(memory, "the quick red lamp", "something quite different here")

    hits = memory.search("Q: the quick red lamp A: noted", "s")

    assert hits[0].source == "s_0"
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)


def test_a_score_is_one_minus_the_distance(stack: Stack) -> None:
    memory = stack.new()
    tell(memory, "the quick red lamp")

    assert memory.search("Q the quick red lamp A noted", "s")[0].score == pytest.approx(1.0, abs=1e-5)


# ---------------------------------------------------------------------- sessions
@pytest.mark.parametrize("has_store", [True, False])
def test_a_quiet_session_gets_its_own_and_only_that(stack: Stack, has_store: bool) -> None:
    stack.store = stack.store if has_store else None
    memory = stack.new(scope="session")
    for n in range(200):
        tell(memory, "tea tea tea", session=f"loud{n}")
    tell(memory, "a cup of tea for me and the rest", session="quiet")

    assert [h.source for h in memory.search("tea", "quiet")] == ["quiet_0"]
    assert memory.search("tea", "new") == memory.search("tea", None) == memory.search("tea", "quie") == []


def test_two_hosts_on_one_served_store_keep_apart(tmp_path: Path) -> None:
    store = FakeStore()
    hosts = []
    for name in ("one", "two"):
        config = {
            "db_path": str(tmp_path / f"{name}.db"),
            "embeddings_db_config": {"host": "h"},
            "preload": False,
        }
        hosts.append(LocalRAGMemory(config, embedder=FakeEmbedder(), embeddings_db=store))
    tell(hosts[0], "my dentist is Doctor Amari", session="default")
    tell(hosts[1], "my bike is blue", session="default")

    rows = store.collections["ovos_local_rag"]
    assert len(rows) == 2 and all(key.endswith("/default_0") for key in rows)
    assert "Amari" in found(hosts[0], "dentist")[0] and "Amari" in found(hosts[1], "dentist")[0]

    hosts[0].journal.ledger.delete(["default_0"])
    tell(hosts[0], "something else", session="default")

    assert not [row for row in rows.values() if "Amari" in row[1]["content"]]
    assert "bike" in found(hosts[1], "bike")[0]
    for host in hosts:
        host.close()


def test_hosts_with_different_models_use_different_collections(tmp_path: Path) -> None:
    store = FakeStore()
    for name, dimension in (("one", 64), ("two", 128)):
        config = {
            "db_path": str(tmp_path / f"{name}.db"),
            "embeddings_db_config": {"host": "h"},
            "preload": False,
        }
        memory = LocalRAGMemory(config, embedder=FakeEmbedder({"dimension": dimension}), embeddings_db=store)
        tell(memory, "my bike is blue")
        assert "bike" in found(memory, "bike")[0]
        memory.close()

    assert len(store.collections["ovos_local_rag"]) == len(store.collections["ovos_local_rag.model2"]) == 1


# ---------------------------------------------------------------------- the ledger follows
def test_late_pieces_of_an_answer_are_found_and_the_document_stays_one(stack: Stack) -> None:
    memory = stack.new()
    memory.update_history(pair("what time is it", "one moment"), "s")
    memory.update_history([assistant("it is noon")], "s")

    assert found(memory, "noon")[0] == "Q: what time is it\nA: one moment\nit is noon"
    assert list(stack.rows()) == ["s_0"]
    assert stack.rows()["s_0"][1]["content"].endswith("it is noon")


def test_what_is_forgotten_is_nowhere(stack: Stack) -> None:
    memory = stack.new()
    tell(memory, *FACTS)
    memory.journal.ledger.delete(["s_0"])

    assert "Amari" not in " ".join(found(memory, "dentist Amari", top_k=99))
    tell(memory, "one more")
    assert "s_0" not in stack.rows()


def test_repeats_neither_fill_the_list_nor_crowd_out_the_rest(stack: Stack) -> None:
    memory = stack.new()
    tell(memory, "my dentist is Doctor Amari", *(["what is a dentist"] * 30))

    assert sorted(sources(memory, "dentist")) == ["s_0", "s_30"]


# ---------------------------------------------------------------------- in the background
def test_an_exchange_left_to_the_worker_is_found_by_the_next_call(stack: Stack) -> None:
    memory = stack.new(background=True)

    tell(memory, "I am vegan")

    assert "vegan" in found(memory, "what may a vegan eat")[0]


def test_closing_finishes_what_was_left(stack: Stack) -> None:
    memory = stack.new(background=True)
    tell(memory, *FACTS)

    memory.close()

    assert len(stack.rows()) == len(FACTS)


# ---------------------------------------------------------------------- what hosts hand in
def test_metadata_of_any_kind_are_stored_and_the_callers_dict_is_not_touched(stack: Stack) -> None:
    stack.store = FakeStore({"rejects_none": True, "marks_metadata": True, "merges_metadata": True})
    memory = stack.new()
    for metadata in ({"a": None}, {"a": [1]}, {"a": {"b": 1}}, {}, {"a": 1.5}):
        before = copy.deepcopy(metadata)
        identifier = memory.store(f"a text with {len(stack.rows())}", None, metadata=metadata)
        assert metadata == before and identifier.startswith("default_")

    assert len(stack.rows()) == 5
    assert memory.search("a text with 4", "default")[0].metadata["a"] == 1.5


def test_tool_turns_and_missing_words_are_no_texts(stack: Stack) -> None:
    memory = stack.new()
    call = ToolCall(id="c1", name="weather", arguments={})
    memory.update_history(
        [
            user("how warm is it"),
            AgentMessage(role=MessageRole.ASSISTANT, content=None, tool_calls=[call]),  # type: ignore[arg-type]
            AgentMessage(role=MessageRole.TOOL, content="21 degrees", tool_call_id="c1"),
            assistant("It is 21"),
        ],
        "s",
    )
    memory.update_history([], "s")
    memory.update_history([AgentMessage(role=MessageRole.ASSISTANT, content=None)], "other")  # type: ignore[arg-type]

    assert found(memory, "warm") == ["Q: how warm is it\nA: It is 21"]


def test_a_context_has_what_was_recalled(stack: Stack) -> None:
    memory = stack.new(system_prompt="You are kind.", max_history=2)
    tell(memory, *FACTS)

    context = memory.build_conversation_context("who is my dentist", "s")

    assert context[0].content == "You are kind."
    assert "Amari" in context[1].content and context[1].role is MessageRole.SYSTEM
    assert context[-1].content == "who is my dentist"


def test_the_query_of_a_follow_up_holds_the_turns_before(stack: Stack) -> None:
    memory = stack.new(retrieval={"query_mode": "history", "max_num_results": 1}, max_history=2)
    tell(memory, "my dentist is Doctor Amari", "the street is far away", "tell me about the dentist")

    context = memory.build_conversation_context("and her name", "s")

    assert any("dentist" in message.content for message in context[:1])


# ---------------------------------------------------------------------- what is embedded
def test_prefixes_stand_in_front_of_what_is_embedded_and_nowhere_else(stack: Stack) -> None:
    memory = stack.new(document_prefix="passage: ", query_prefix="query: ")
    tell(memory, "my bike is blue")

    assert found(memory, "bike") == ["Q: my bike is blue\nA: noted"]
    assert "passage: Q: my bike is blue\nA: noted" in stack.embedder.texts
    assert "query: bike" in stack.embedder.texts


def test_another_document_prefix_embeds_again(stack: Stack) -> None:
    tell(stack.new(), *FACTS)

    memory = stack.restart(document_prefix="passage: ")

    assert "Amari" in found(memory, "dentist")[0]
    assert f"passage: Q: {FACTS[0]}\nA: noted" in stack.embedder.texts


def test_with_neighbours_the_exchange_amid_its_subject_comes_first(stack: Stack) -> None:
    facts = (
        "tea for two",
        "one cup of tea please",
        "tea is ready",
        "a",
        "b",
        "c",
        "one cup of tea please now",
        "d",
    )
    tell(stack.new(), *facts)
    query = "one cup of tea please"

    memory = stack.restart(neighbour_weight=0.5, retrieval={"max_num_results": 8})

    ranked = sources(memory, query)
    assert ranked[0] == "s_1" and set(ranked) == {f"s_{n}" for n in range(8)}
    assert all(-1 <= hit.score <= 1 for hit in memory.search(query, "s"))


def test_a_forgotten_exchange_no_longer_counts_for_its_neighbours(stack: Stack) -> None:
    memory = stack.new(neighbour_weight=1)
    tell(memory, "the violin was repaired", "it cost forty", "good night")
    beside = {hit.source: hit.score for hit in memory.search("violin repaired", "s")}

    memory.forget(query="violin")

    alone = {hit.source: hit.score for hit in memory.search("violin repaired", "s")}
    assert set(alone) == {"s_1", "s_2"} and alone["s_1"] < beside["s_1"]
    again = stack.restart(neighbour_weight=1)
    restarted = {hit.source: hit.score for hit in again.search("violin repaired", "s")}
    assert restarted == pytest.approx(alone)


def test_exchanges_of_another_session_are_no_neighbours(stack: Stack) -> None:
    memory = stack.new(neighbour_weight=1)
    for session in ("a", "b"):
        tell(memory, f"the violin was repaired in {session}", session=session)
    plain = {hit.source: hit.score for hit in stack.new().search("violin", "a")}

    assert {hit.source: hit.score for hit in memory.search("violin", "a")} == pytest.approx(plain)


def test_words_that_stand_everywhere_are_left_out_of_the_query(stack: Stack) -> None:
    memory = stack.new(drop_common_words=0.5)
    tell(memory, *(f"please remember the thing{n}" for n in range(30)))

    found(memory, "please remember thing7")

    assert "thing7" in stack.embedder.texts


def test_names_that_stand_everywhere_are_left_out_of_the_query(stack: Stack) -> None:
    memory = stack.new(drop_common_names=0.5)
    tell(memory, *(f"Caroline, please remember the thing{n}. Please!" for n in range(30)))

    found(memory, "please remember what caroline said of thing7")

    assert "please remember what said of thing7" in stack.embedder.texts


def test_the_name_of_a_few_exchanges_and_the_word_i_stay_in_the_query(stack: Stack) -> None:
    memory = stack.new(drop_common_names=0.5)
    tell(memory, *(f"I gave Melanie{n} the thing{n}, I did" for n in range(30)))

    found(memory, "what did I give Melanie7")

    assert "what did I give Melanie7" in stack.embedder.texts


def test_a_query_of_a_common_name_alone_stays_as_it_is(stack: Stack) -> None:
    memory = stack.new(drop_common_names=0.5)
    tell(memory, *(f"Caroline has the thing{n}" for n in range(30)))

    found(memory, "Caroline")

    assert "Caroline" in stack.embedder.texts


def test_a_query_of_common_words_alone_stays_as_it_is(stack: Stack) -> None:
    memory = stack.new(drop_common_words=0.5)
    tell(memory, *(f"please remember the thing{n}" for n in range(30)))

    found(memory, "please remember")

    assert "please remember" in stack.embedder.texts


# ---------------------------------------------------------------------- management
def test_forgetting_reaches_the_store_at_once(stack: Stack) -> None:
    memory = stack.new()
    tell(memory, *FACTS)

    memory.forget(query="Amari")

    assert sorted(stack.rows()) == [f"s_{n}" for n in range(1, len(FACTS))]
    assert "Amari" not in str(stack.store.collections)  # type: ignore[union-attr]


def test_a_rebuild_embeds_everything_again_and_fills_the_store(stack: Stack) -> None:
    memory = stack.new()
    tell(memory, *FACTS)
    assert stack.store is not None
    stack.store.collections.clear()
    seen: list[tuple[int, int]] = []

    assert memory.reindex(progress=lambda done, total: seen.append((done, total))) == len(FACTS)

    assert len(stack.rows()) == len(FACTS) and seen[-1] == (len(FACTS), len(FACTS))


def test_what_is_recorded_while_the_store_opens_is_not_taken_for_an_older_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ovos_memory.local_rag.mirror import StoreMirror
    from ovos_memory.local_rag.stores.base import VectorStore

    recorded = threading.Event()
    plain = StoreMirror.open

    def late_in_preload(self: StoreMirror, model: Any) -> Any:
        if threading.current_thread().name == "memory-preload":
            recorded.wait(1)
        return plain(self, model)

    monkeypatch.setattr(StoreMirror, "open", late_in_preload)
    monkeypatch.setattr(
        VectorStore,
        "rows",
        lambda self, name: iter([(k, r[1]) for k, r in self._db.collections[name].items()]),
    )
    memory = LocalRAGMemory(
        {"db_path": str(tmp_path / "ledger.db")}, embedder=FakeEmbedder(), embeddings_db=FakeStore()
    )
    tell(memory, "my dentist is Doctor Amari")
    recorded.set()
    tell(memory, "my bike is blue")
    memory.close()

    assert memory.journal.ledger.count() == 2
    memory.close()


class Killed(BaseException):
    """The process ends here."""


def test_an_interrupted_reindex_goes_on_where_it_was(stack: Stack) -> None:
    memory = stack.new()
    for n in range(100):
        memory.update_history(pair(f"fact number {n}", "noted"), "s")
    before = [(hit.source, hit.score) for hit in memory.search("fact number 70", "s", 5)]
    told: list[tuple[int, int]] = []

    def killed(done: int, of: int) -> None:
        if done > 50:
            raise Killed
        told.append((done, of))

    with pytest.raises(Killed):
        memory.reindex(progress=killed)
    memory = stack.restart()
    stack.embedder.texts.clear()
    told.clear()
    assert memory.reindex(progress=lambda done, of: told.append((done, of))) == 36
    assert told == [(96, 100), (100, 100)]
    assert len([text for text in stack.embedder.texts if text.startswith("Q: ")]) == 36
    assert [(hit.source, hit.score) for hit in memory.search("fact number 70", "s", 5)] == before
    assert memory.reindex() == 100
    assert len(stack.rows()) == 100


def test_to_forget_no_model_is_needed(stack: Stack) -> None:
    tell(stack.new(), *FACTS)
    stack.embedder = FakeEmbedder({"dimension": 512, "mode": "raises"})

    memory = stack.restart()
    done = memory.forget(query="wifi password")
    assert (done.total, done.leftovers) == (1, ())
    assert "wifi" not in str(stack.rows()) and stack.embedder.texts == []
    assert len(list(memory.records())) == len(FACTS) - 1


def test_files_that_another_process_had_are_cleaned_by_whoever_writes_next(stack: Stack) -> None:
    memory = stack.new()
    tell(memory, *FACTS)
    assert stack.store is not None
    stack.store.failure = "locked"
    memory = stack.restart()

    done = memory.forget(query="wifi password")
    assert done.total == 1 and "when it is next written to" in done.leftovers[0]
    assert "wifi" in str(stack.rows())
    stack.store.failure = "none"
    stack.store.calls.clear()
    memory = stack.restart()
    tell(memory, "good night")
    assert "wifi" not in str(stack.rows()) and len(stack.rows()) == len(FACTS)
    assert (
        "delete_collection" in stack.store.calls
    )  # all of it is written anew, so that its files can be cleaned
    stack.store.calls.clear()
    tell(memory, "good morning")
    assert "delete_collection" not in stack.store.calls
