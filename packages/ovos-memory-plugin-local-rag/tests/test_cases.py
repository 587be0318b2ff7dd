"""Conversations that went wrong elsewhere, on a model and a store without libraries."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ovos_utils.log import LOG

from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.local_rag import embedder as embedder_module
from ovos_memory.testing.fakes.embedder import BatchEmbedder, FakeEmbedder
from ovos_memory.testing.fakes.store import FakeStore
from ovos_memory.testing.messages import pair
from ovos_memory.testing.processes import Child, Location


def light(folder: Path, embedder: FakeEmbedder | None = None, **more: Any) -> LocalRAGMemory:
    config = {"db_path": str(folder / "ledger.db"), "embeddings_db_plugin": None, "preload": False, **more}
    return LocalRAGMemory(config, embedder=embedder or FakeEmbedder({"dimension": 512}))


def in_background(config: Mapping[str, Any] | None = None) -> LocalRAGMemory:
    return LocalRAGMemory(config, embedder=FakeEmbedder({"dimension": 512}))


def tell(memory: Any, *facts: str, session: str = "s") -> None:
    for fact in facts:
        memory.update_history(pair(fact, "noted"), session)


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was logged as a warning."""
    told: list[str] = []
    monkeypatch.setattr(LOG, "warning", lambda text, *values: told.append(text % values))
    return told


def until(is_true: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


# ---------------------------------------------------------------------- C09: a turn longer than the embedder takes
@pytest.mark.parametrize("beyond", ["raises", "empty", "echo"])
def test_a_long_turn_is_found_however_the_model_refuses_it_and_its_length_is_told_once(
    tmp_path: Path, beyond: str, warnings: list[str]
) -> None:
    embedder = FakeEmbedder({"dimension": 512, "max_chars": 500, "beyond": beyond})
    memory = light(tmp_path, embedder)
    for n in range(2):
        text = f"start marker ALPHA{n} " + "filler " * 5_000
        memory.update_history(pair(text, "end marker OMEGA"), "s")
    tell(memory, "a normal turn")

    assert memory.search("start marker ALPHA0", "s")[0].source == "s_0"
    assert memory.search("a normal turn", "s")[0].source == "s_2"
    told = [text for text in warnings if "refuses texts of" in text]
    assert len(told) == 1 and "filler" not in told[0]
    memory.close()


# ---------------------------------------------------------------------- C11: ids
def test_ids_are_of_their_session_and_never_repeat_though_the_clock_goes_back(tmp_path: Path) -> None:
    for seconds in (1_000.0, 500.0, 0.0):
        memory = LocalRAGMemory(
            {"db_path": str(tmp_path / "ledger.db"), "embeddings_db_plugin": None, "preload": False},
            embedder=FakeEmbedder(),
            clock=lambda seconds=seconds: seconds,  # type: ignore[misc]
        )
        for session in ("a", "a_1"):
            tell(memory, "the very same turn", "the very same turn", session=session)
        memory.close()

    ids = [document.id for document in memory.journal.ledger.documents()]
    assert sorted(ids) == sorted(f"{s}_{n}" for s in ("a", "a_1") for n in range(6))
    memory.close()


# ---------------------------------------------------------------------- C17: ~ in a path
@pytest.mark.parametrize("path", ["~/x y/ü", "$HOME/x y/ü", "x y/ü"])
@pytest.mark.parametrize("key", ["db_path", "embeddings_db_config"])
def test_data_lie_where_the_path_says_and_nothing_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, key: str
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.chdir(work)
    value: Any = path if key == "db_path" else {"path": path}

    memory = LocalRAGMemory(
        {key: value, "preload": False}, embedder=FakeEmbedder(), embeddings_db=FakeStore()
    )
    tell(memory, "my bike is blue")
    memory.close()

    assert os.listdir(work) == []
    expected = home / "x y" / "ü"
    assert expected.is_file() if key == "db_path" else (expected / "ovos_local_rag.ledger.db").is_file()


# ---------------------------------------------------------------------- C19: the model changed
def test_a_changed_model_says_once_how_much_is_left_and_recalls_what_is_ready(
    tmp_path: Path, warnings: list[str]
) -> None:
    memory = light(tmp_path, FakeEmbedder({"dimension": 64}))
    tell(memory, *(f"fact number {n} about thing{n}" for n in range(60)))
    memory.close()

    memory = light(tmp_path, BatchEmbedder({"dimension": 2048}))
    for _ in range(3):
        assert (
            memory.search("thing59", "s")[0].source == "s_59"
        )  # of the newest, which a search embeds itself
    until(lambda: memory.health()["vectors"]["pending"] == 0)

    told = [text for text in warnings if "have no vectors of this embeddings model" in text]
    assert len(told) == 1 and " 60 exchanges " in told[0]
    assert memory.search("thing3", "s")[0].source == "s_3"
    memory.close()


def test_re_embedding_that_was_stopped_goes_on_with_what_is_left(tmp_path: Path) -> None:
    memory = light(tmp_path, FakeEmbedder({"dimension": 64}))
    tell(memory, *(f"fact number {n} about thing{n}" for n in range(60)))
    memory.close()
    first = FakeEmbedder({"dimension": 128})
    memory = light(tmp_path, first)
    index = memory._source.index()
    documents = list(memory.journal.ledger.documents())[:40]
    index.keep(documents, index.embed(documents))  # as far as an earlier run came
    memory.close()

    second = FakeEmbedder({"dimension": 128})
    memory = light(tmp_path, second)
    memory.search("thing3", "s")
    until(lambda: memory.health()["vectors"]["pending"] == 0)

    embedded = [text for text in [*first.texts, *second.texts] if text.startswith("Q: fact")]
    assert len(embedded) == len(set(embedded)) == 60
    memory.close()


# ---------------------------------------------------------------------- C45: the very next question, and a kill
def test_after_a_kill_what_was_left_to_the_worker_is_embedded_and_nothing_is_missing(tmp_path: Path) -> None:
    config = {"db_path": str(tmp_path / "ledger.db"), "embeddings_db_plugin": None, "background": True}
    child = Child(Location.of(in_background), config)
    tell(child, *(f"thing number {n}" for n in range(20)))
    child.kill()

    memory = in_background(config)
    assert "thing number 19" in [message.content for message in memory.get_history("s")]
    until(lambda: bool(memory.search("thing", "s")) and memory.health()["vectors"]["pending"] == 0)
    assert len(memory.search("thing number", "s", 50)) == 20
    memory.close()


# ---------------------------------------------------------------------- missing parts
def test_a_model_that_could_not_be_loaded_is_tried_again_and_the_vectors_catch_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    monkeypatch.setattr(embedder_module, "_RETRY_FROM_S", 0.05)
    monkeypatch.setattr(embedder_module, "_RETRY_TO_S", 0.05)
    embedder = FakeEmbedder({"dimension": 512, "mode": "raises"})
    memory = light(tmp_path, embedder)
    tell(memory, *(f"thing number {n}" for n in range(20)))

    assert memory.journal.ledger.count() == 20 and len(memory.get_history("s")) == 10
    told = [text for text in warnings if "index failed" in text]
    assert len(told) == 1 and "embeddings_config, the model file and the network" in told[0]

    embedder.mode = "good"
    until(lambda: memory.health()["vectors"]["pending"] == 0)
    assert memory.search("thing number 3", "s")[0].source == "s_3"
    memory.close()


# ---------------------------------------------------------------------- the first turn, and one model per process
def test_the_model_is_loaded_behind_the_construction_unless_it_shall_not(tmp_path: Path) -> None:
    loaded, idle = FakeEmbedder(), FakeEmbedder()
    store = FakeStore()
    config = {"db_path": str(tmp_path / "one.db")}
    memory = LocalRAGMemory(config, embedder=loaded, embeddings_db=store)
    until(lambda: bool(loaded.texts) and "get_collection" in store.calls)

    calm = LocalRAGMemory({"db_path": str(tmp_path / "two.db"), "preload": False}, embedder=idle)
    assert list(calm.records()) == [] and idle.texts == []
    for each in (memory, calm):
        each.close()


def test_personas_with_one_configuration_share_one_model_with_the_users_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[FakeEmbedder] = []

    def factory(config: dict[str, Any]) -> FakeEmbedder:
        made.append(FakeEmbedder(config))
        return made[-1]

    monkeypatch.setattr(embedder_module, "find_text_embedder", lambda name, plugin: factory)
    given = {"model": "m", "n_threads": 3}
    memories = [
        LocalRAGMemory(
            {
                "db_path": str(tmp_path / f"{n}.db"),
                "embeddings_db_plugin": None,
                "embeddings_config": {**given, "model": name},
            }
        )
        for n, name in enumerate(("m", "m", "other"))
    ]
    for memory in memories:
        tell(memory, "my bike is blue")
        assert memory.search("bike", "s")
        memory.close()

    assert sorted(each.config["model"] for each in made) == ["m", "other"]
    assert all(each.config == {**given, "model": each.config["model"]} for each in made)
