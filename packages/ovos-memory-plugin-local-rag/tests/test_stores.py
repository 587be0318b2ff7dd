"""Stores and embedders of every shape that plugins have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ovos_memory.core.errors import PluginMissing, StoreUnavailable
from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.local_rag import loading as loading_module
from ovos_memory.local_rag.loading import construct
from ovos_memory.local_rag.stores import opening
from ovos_memory.local_rag.stores.handle import StoreHandle
from ovos_memory.local_rag.stores.opening import StorePlace, adapt, open_store, store_place
from ovos_memory.testing.fakes.embedder import BatchEmbedder, FakeEmbedder
from ovos_memory.testing.fakes.store import FakePathStore, FakeStore
from ovos_memory.testing.messages import pair

UNIT = np.eye(4, dtype=np.float32)


class KeywordsStore(FakeStore):
    def __init__(self, path: str, **others: Any) -> None:
        super().__init__({"path": path, **others})


@pytest.mark.parametrize("store_class", [FakeStore, FakePathStore, KeywordsStore])
@pytest.mark.parametrize("embedder_class", [FakeEmbedder, BatchEmbedder])
@pytest.mark.parametrize("mode", ["good", "tuple", "float32", "array"])
def test_any_shape_of_store_and_embedder_recalls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store_class: type, embedder_class: type, mode: str
) -> None:
    monkeypatch.setattr(opening, "find_embeddings_db", lambda name, plugin: store_class)
    embedder = embedder_class({"mode": mode})
    config = {
        "embeddings_db_plugin": "a-store",
        "embeddings_db_config": {"path": str(tmp_path / "vectors")},
        "preload": False,
    }
    memory = LocalRAGMemory(config, embedder=embedder)

    memory.update_history(pair("my dentist is Doctor Amari", "noted"), "s")

    assert memory.search("dentist", "s")[0].source == "s_0"
    assert memory.health()["operations"] == {}
    assert FakeStore._shared[str(tmp_path / "vectors")]["ovos_local_rag"].keys() == {"s_0"}
    memory.close()


def test_a_plugin_gets_a_copy_of_its_configuration() -> None:
    config = {"path": "x"}

    assert construct(FakeStore, config).config == config
    assert construct(FakeStore, config).config is not config
    assert construct(FakePathStore, {"path": "x", "other": 1}).config == {"path": "x"}


@pytest.mark.parametrize("path", ["~/x", "$HOME/x"])
def test_paths_reach_the_store_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    place = store_place("ovos-chromadb-embeddings-plugin", {"path": path}, plugin="test")

    assert place.config["path"] == str(tmp_path / "x") and place.folder == tmp_path / "x"
    assert os.listdir(tmp_path) == []


def test_a_served_store_is_not_given_a_path() -> None:
    place = store_place("ovos-chromadb-embeddings-plugin", {"host": "h"}, plugin="test")

    assert place.is_served and place.folder is None and "path" not in place.config


def test_qdrant_is_told_the_size_of_the_vectors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[dict[str, Any]] = []

    def factory(config: dict[str, Any]) -> FakeStore:
        made.append(config)
        return FakeStore(config)

    monkeypatch.setattr(opening, "find_embeddings_db", lambda name, plugin: factory)
    place = StorePlace("ovos-qdrant-embeddings-plugin", {"path": str(tmp_path)}, tmp_path, False)

    open_store(place, "memories", 384, plugin="test")

    assert made == [{"path": str(tmp_path), "default_collection_name": "memories", "vector_size": 384}]


def test_a_missing_store_plugin_is_named_with_its_remedy() -> None:
    with pytest.raises(PluginMissing, match=r"'no-such-store' is not installed; install the package"):
        open_store(StorePlace("no-such-store", {}, None, False), "memories", 4, plugin="test")


def test_the_default_stack_is_the_remedy_for_its_own_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PluginMissing, match=r"ovos-memory-plugin-local-rag\[default-stack\]"):
        loading_module._found(
            lambda name: None, "ovos-gguf-embeddings-plugin", kind="embeddings plugin", plugin="test"
        )


class Panic(BaseException):
    """What a panic in a store's native code looks like."""


Panic.__name__ = "PanicException"


@pytest.mark.parametrize("error", [OSError("locked"), RuntimeError("broken"), Panic("native")])
def test_whatever_a_store_raises_becomes_an_error_of_ours(error: BaseException) -> None:
    db = FakeStore()
    store = adapt(db, plugin="test")
    store.open_collection("memories", 4)

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    db.query = fail  # type: ignore[method-assign]

    with pytest.raises(StoreUnavailable, match=type(error).__name__) as told:
        store.query("memories", UNIT[0], 1)
    assert "locked" not in str(told.value) and "native" not in str(told.value)


def test_interrupts_pass_through() -> None:
    db = FakeStore()

    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    db.query = interrupt  # type: ignore[method-assign]

    with pytest.raises(KeyboardInterrupt):
        adapt(db, plugin="test").query("memories", UNIT[0], 1)


def test_rows_whose_number_is_none_are_no_hits() -> None:
    db = FakeStore()
    rows = [("a_0", 0.1, {}), ("a_1", float("nan")), ("a_2", float("inf"), None)]
    db.query = lambda *_, **__: rows  # type: ignore[method-assign]

    assert [found.key for found in adapt(db, plugin="test").query("memories", UNIT[0], 9)] == ["a_0"]


def test_a_store_is_used_by_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_embeddings_db", lambda name, plugin: FakeStore)
    place = StorePlace("a-store", {"path": str(tmp_path)}, tmp_path, False)
    handle = StoreHandle(place, plugin="test")
    handle.store("memories", 4)
    if (child := os.fork()) == 0:
        try:
            handle.store("memories", 4)
        except StoreUnavailable as error:
            os._exit(0 if "used by another process" in str(error) else 2)
        os._exit(1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    handle.close()


def test_a_store_that_cannot_be_opened_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def factory(config: dict[str, Any]) -> Any:
        tries.append(config)
        raise OSError

    monkeypatch.setattr(opening, "find_embeddings_db", lambda name, plugin: factory)
    handle = StoreHandle(StorePlace("a-store", {"path": str(tmp_path)}, tmp_path, False), plugin="test")

    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            handle.store("memories", 4)
    assert len(tries) == 1

    handle._retry_at = 0.0
    with pytest.raises(StoreUnavailable):
        handle.store("memories", 4)
    assert len(tries) == 2


def opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[StoreHandle, Any, Any]:
    """Return a handle with the store that it closed and the one that it has now."""
    monkeypatch.setattr(opening, "find_embeddings_db", lambda name, plugin: FakeStore)
    place = StorePlace("a-store", {"path": str(tmp_path / "vectors")}, tmp_path / "vectors", False)
    handle = StoreHandle(place, plugin="test")
    old = handle.store("memories", 4)
    handle.close()
    return handle, old, handle.store("memories", 4)


def test_the_late_failure_of_a_store_that_was_closed_leaves_its_successor_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, old, new = opened_again(tmp_path, monkeypatch)

    handle.failed(old, StoreUnavailable("the call began before the store was closed"))

    assert new is not old
    assert handle.store("memories", 4) is new
    handle.failed(new, StoreUnavailable("and this one is its own"))
    with pytest.raises(StoreUnavailable, match="its own"):
        handle.store("memories", 4)


def test_the_late_success_of_a_store_that_was_closed_does_not_shorten_the_rest_of_its_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, old, new = opened_again(tmp_path, monkeypatch)
    handle.failed(new, StoreUnavailable("first"))
    rest_s = handle._delay_s

    handle.succeeded(old)

    assert handle._delay_s == rest_s > 1.0
    handle._retry_at = 0.0
    handle.succeeded(handle.store("memories", 4))
    assert handle._delay_s == 1.0


def test_memories_that_share_a_store_do_not_close_each_others_new_one_by_an_old_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[FakeStore] = []
    meanwhile: list[LocalRAGMemory] = []

    class Store(FakeStore):
        def __init__(self, config: dict[str, Any]) -> None:
            super().__init__(config)
            opened.append(self)

        def query(self, *given: Any, **named: Any) -> Any:
            if meanwhile:  # another memory has closed and opened the store before this call fails
                other = meanwhile.pop()
                other._source.index().mirror.close()
                assert other.search("dentist", "s")
                raise OSError
            return super().query(*given, **named)

    monkeypatch.setattr(opening, "find_embeddings_db", lambda name, plugin: Store)
    first, second = (
        LocalRAGMemory(
            {
                "embeddings_db_plugin": "a-store",
                "embeddings_db_config": {"path": str(tmp_path / "vectors")},
                "collection": collection,
                "preload": False,
            },
            embedder=FakeEmbedder({}),
        )
        for collection in ("first", "second")
    )
    for memory in (first, second):
        memory.update_history(pair("my dentist is Doctor Amari", "noted"), "s")
        assert memory.search("dentist", "s")
    before = len(opened)
    meanwhile.append(second)

    assert first.search("dentist", "s"), "the ledger's own vectors answer"
    assert second.search("dentist", "s")

    assert len(opened) == before + 1, (
        "the store that the second memory opened was closed by the first's failure"
    )
    assert second.health()["operations"] == {}
    first.close()
    second.close()


def test_a_key_that_is_to_be_deleted_twice_is_handed_over_once() -> None:
    class Strict(FakeStore):
        def delete_embeddings_batch(self, keys: Any, collection_name: str | None = None) -> None:
            assert len(set(keys)) == len(keys), "chromadb refuses a key that comes twice"
            super().delete_embeddings_batch(keys, collection_name)

    store = adapt(Strict({"path": "twice"}), plugin="p")
    store.open_collection("c", 4)
    store.upsert("c", ["a", "b"], list(UNIT[:2]), [{}, {}])

    store.delete("c", ["a", "a"])

    assert store.count("c") == 1 and store.vector("c", "a") is None
