"""On the real parts: MiniLM as GGUF through llama.cpp, chromadb in process and served, Qdrant in its local mode.

``nox -s models`` makes the model and sets ``OVOS_MEMORY_TEST_MODELS`` to its folder.
"""

from __future__ import annotations

import copy
import gc
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.testing.messages import pair
from ovos_memory.testing.processes import Child, Location, environment

pytestmark = pytest.mark.models

CHROMA, QDRANT = "ovos-chromadb-embeddings-plugin", "ovos-qdrant-embeddings-plugin"
FACTS = [
    "My dentist is Doctor Amari on Oak Street",
    "The wifi password is written in the blue notebook",
    "My sister Anna arrives on Friday",
    "I am allergic to peanuts",
    "The car needs new brake pads",
    "We planted tomatoes on the balcony",
    "My favourite colour is green",
    "The cat is called Milo",
    "I work as a nurse in the city hospital",
    "The meeting with the bank is on Monday",
    "Grandma lives in Lisbon",
    "I want to learn to play the cello",
]
QUESTIONS = {
    "who looks after my teeth?": FACTS[0],
    "what food is dangerous for me?": FACTS[3],
    "what is the name of my pet?": FACTS[7],
    "where does my grandmother live?": FACTS[10],
}


def embeddings_config() -> dict[str, Any]:
    model = Path(os.environ["OVOS_MEMORY_TEST_MODELS"]) / "all-minilm-l6-v2.gguf"
    return {"model": str(model), "n_threads": 1, "n_threads_batch": 1}


def config(folder: Path, store: str | None = CHROMA, **more: Any) -> dict[str, Any]:
    return {
        "embeddings_config": embeddings_config(),
        "embeddings_db_plugin": store,
        "embeddings_db_config": {"path": str(folder / "vectors")},
        "db_path": str(folder / "ledger.db"),
        "timeout_s": 60,  # what is found is asserted here; on a busy machine chromadb takes seconds to be imported
        **more,
    }


def tell(memory: Any, facts: list[str], session: str = "default") -> None:
    for fact in facts:
        memory.update_history(pair(fact, "Noted."), session)


def first(memory: Any, question: str) -> str:
    hit = memory.search(question, "default")[0]
    content: str = hit.content if hasattr(hit, "content") else hit[0]
    return content.removeprefix("Q: ").removesuffix("\nA: Noted.")


@pytest.fixture
def texts_embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from ovos_gguf_plugin.embeddings import GGUFEmbeddings

    texts: list[str] = []
    plain = GGUFEmbeddings.get_embeddings

    def noting(self: Any, text: str) -> Any:
        texts.append(text)
        return plain(self, text)

    monkeypatch.setattr(GGUFEmbeddings, "get_embeddings", noting)
    return texts


def test_the_right_exchange_comes_first_and_again_after_a_restart_with_all_of_both_runs(
    tmp_path: Path,
) -> None:
    for half in (FACTS[:6], FACTS[6:]):
        run = Child(Location.of(LocalRAGMemory), config(tmp_path))
        tell(run, half)
        run.end()

    fresh = Child(Location.of(LocalRAGMemory), config(tmp_path))
    for question, fact in QUESTIONS.items():
        assert first(fresh, question) == fact
    assert sorted(source for _, source in fresh.search("what?", "default", 50)) == sorted(
        f"default_{n}" for n in range(12)
    )
    fresh.end()
    from ovos_chromadb_embeddings import ChromaEmbeddingsDB

    assert (
        ChromaEmbeddingsDB({"path": str(tmp_path / "vectors")}).count_embeddings_in_collection(
            "ovos_local_rag"
        )
        == 12
    )


def test_parallel_sessions_and_two_personas_share_one_model_and_lose_nothing(tmp_path: Path) -> None:
    one = LocalRAGMemory(config(tmp_path / "one"))
    two = LocalRAGMemory(config(tmp_path / "two"))

    def talk(memory: LocalRAGMemory, session: str) -> None:
        for n in range(25):
            memory.update_history(pair(f"{session} says {FACTS[n % 12]} {n}", "Noted."), session)
            memory.build_conversation_context(f"what did {session} say", session)

    threads = [threading.Thread(target=talk, args=(m, f"session{n}")) for m in (one, two) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    from llama_cpp import Llama

    assert sum(isinstance(each, Llama) for each in gc.get_objects()) == 1
    for memory in (one, two):
        assert len(memory.search("what did they say", None, 500)) == 100
        assert memory.health()["operations"] == {}
        memory.close()


@pytest.mark.parametrize("min_score", [None, 0.5])
def test_every_store_ranks_alike(tmp_path: Path, min_score: float | None) -> None:
    ranked: dict[str | None, list[list[tuple[str | None, float]]]] = {}
    for store in (CHROMA, QDRANT, None):
        memory = LocalRAGMemory(config(tmp_path / str(store), store, retrieval={"min_score": min_score}))
        tell(memory, FACTS)
        ranked[store] = [
            [(h.source, round(h.score, 3)) for h in memory.search(q, "x", 12)] for q in QUESTIONS
        ]
        assert memory.health()["operations"] == {}
        memory.close()

    assert ranked[CHROMA] == ranked[QDRANT] == ranked[None]
    if min_score is None:
        assert all(len(hits) == 12 for hits in ranked[None])
    else:
        assert all(score >= min_score for hits in ranked[None] for _, score in hits)
        assert ("default_10", ranked[None][3][0][1]) == ranked[None][3][0]


@pytest.mark.parametrize("store", [CHROMA, QDRANT, None])
def test_a_quiet_session_gets_its_own_and_only_that(tmp_path: Path, store: str | None) -> None:
    memory = LocalRAGMemory(config(tmp_path, store, scope="session"))
    for n in range(200):
        tell(memory, ["I would like a cup of tea"], f"loud{n}")
    tell(memory, ["The old bridge is closed, they said over tea"], "quiet")

    assert [h.source for h in memory.search("a cup of tea", "quiet")] == ["quiet_0"]
    assert memory.search("a cup of tea", "new") == []
    memory.close()


@pytest.mark.parametrize("damage", ["deleted", "garbage", "a file", "deleted while in use"])
def test_a_lost_chromadb_is_rebuilt_without_embedding_anything(
    tmp_path: Path, damage: str, texts_embedded: list[str]
) -> None:
    memory = LocalRAGMemory(config(tmp_path))
    tell(memory, FACTS)
    if damage != "deleted while in use":
        memory.close()
        del memory
        gc.collect()
    texts_embedded.clear()
    folder = tmp_path / "vectors"
    if damage == "garbage":
        (folder / "chroma.sqlite3").write_bytes(b"no database" * 999)
    else:
        shutil.rmtree(folder)
    if damage == "a file":
        folder.write_text("no folder")
    if damage != "deleted while in use":
        memory = LocalRAGMemory(config(tmp_path))

    for question, fact in QUESTIONS.items():
        assert first(memory, question) == fact
    tell(memory, ["One more"])

    from ovos_chromadb_embeddings import ChromaEmbeddingsDB

    assert ChromaEmbeddingsDB({"path": str(folder)}).count_embeddings_in_collection("ovos_local_rag") == 13
    assert [text for text in texts_embedded if text.startswith("Q: ")] == ["Q: One more\nA: Noted."]
    memory.close()


def test_what_another_process_records_meanwhile_is_found(tmp_path: Path) -> None:
    memory = LocalRAGMemory(config(tmp_path))
    tell(memory, FACTS[:6])
    other = Child(Location.of(LocalRAGMemory), config(tmp_path))
    tell(other, FACTS[6:])

    for question, fact in QUESTIONS.items():
        assert first(memory, question) == fact
        assert first(other, question) == fact
    other.end()
    tell(memory, ["One more"])
    memory.close()

    from ovos_chromadb_embeddings import ChromaEmbeddingsDB

    count = ChromaEmbeddingsDB({"path": str(tmp_path / "vectors")}).count_embeddings_in_collection(
        "ovos_local_rag"
    )
    assert count == 13


class OtherModel:
    """Vectors of the real model, told in another order of numbers, or fewer of them."""

    def __init__(self, dimension: int) -> None:
        from ovos_gguf_plugin.embeddings import GGUFEmbeddings

        self._order = np.random.default_rng(7).permutation(384)[:dimension]
        self._model = GGUFEmbeddings(embeddings_config())

    def get_embeddings(self, text: str) -> Any:
        return self._model.get_embeddings(text)[self._order]


@pytest.mark.parametrize("dimension", [300, 384])
def test_after_a_change_of_the_model_old_facts_are_found(tmp_path: Path, dimension: int) -> None:
    memory = LocalRAGMemory(config(tmp_path))
    tell(memory, FACTS)
    memory.close()
    del memory
    gc.collect()

    memory = LocalRAGMemory(config(tmp_path), embedder=OtherModel(dimension))
    memory.search("what?", "default")
    tell(memory, ["One more"])
    memory.close()

    for question, fact in QUESTIONS.items():
        assert first(memory, question) == fact
    assert memory.health()["vectors"] == {"pending": 0, "parked": 0}
    memory.close()


def test_the_same_model_at_another_precision_is_the_same_model(tmp_path: Path) -> None:
    memory = LocalRAGMemory(config(tmp_path))
    tell(memory, FACTS)
    memory.close()
    smaller = embeddings_config()
    smaller["model"] = smaller["model"].replace(".gguf", "-q8_0.gguf")

    memory = LocalRAGMemory(config(tmp_path, embeddings_config=smaller))

    assert first(memory, "who looks after my teeth?") == FACTS[0]
    assert memory.health()["vectors"] == {"pending": 0, "parked": 0}
    memory.close()


def test_a_long_turn_is_found_by_its_beginning_and_its_end(tmp_path: Path) -> None:
    memory = LocalRAGMemory(config(tmp_path))
    tell(memory, FACTS)
    long = (
        "My uncle repairs accordions. "
        + "Then we talked about this and that. " * 400
        + " The boat is called Nautilus."
    )
    memory.update_history(pair(long, "Noted."), "default")

    for question in ("who repairs accordions?", "what is the name of the boat?"):
        assert memory.search(question, "default")[0].source == "default_12"
    memory.close()


@pytest.fixture
def chroma_server(tmp_path: Path) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("chroma")),
        "run",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    server = subprocess.Popen(
        [*command, "--path", str(tmp_path / "served")], stdout=subprocess.DEVNULL, env=environment()
    )
    ends_at = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1).close()
            break
        except OSError:
            assert server.poll() is None and time.monotonic() < ends_at, "the chromadb server does not start"
            time.sleep(0.1)
    yield port
    server.terminate()
    server.wait(10)


def test_two_hosts_on_one_served_chromadb_keep_apart(tmp_path: Path, chroma_server: int) -> None:
    served = {"host": "127.0.0.1", "port": chroma_server}
    one, two = (
        LocalRAGMemory(
            {**config(tmp_path), "embeddings_db_config": served, "db_path": str(tmp_path / f"{name}.db")}
        )
        for name in ("one", "two")
    )
    tell(one, FACTS[:6])
    tell(two, FACTS[6:])

    for memory in (one, two):
        for question, fact in QUESTIONS.items():
            assert first(memory, question) == fact
    from ovos_chromadb_embeddings import ChromaEmbeddingsDB

    collection = ChromaEmbeddingsDB(served).get_collection("ovos_local_rag")
    assert collection.count() == 12
    one.journal.ledger.delete([f"default_{n}" for n in range(6)])
    tell(one, ["One more"])
    assert collection.count() == 7
    assert first(two, "where does my grandmother live?") == FACTS[10]
    assert "Amari" not in " ".join(h.content for h in two.search("who looks after my teeth?", "default", 20))
    for memory in (one, two):
        assert memory.health()["operations"] == {}
        memory.close()


def test_on_a_server_rows_are_deleted_and_its_files_are_not_ours_to_prove(
    tmp_path: Path, chroma_server: int
) -> None:
    served = {"host": "127.0.0.1", "port": chroma_server}
    one, two = (
        LocalRAGMemory(
            {**config(tmp_path), "embeddings_db_config": served, "db_path": str(tmp_path / f"{name}.db")}
        )
        for name in ("one", "two")
    )
    tell(one, FACTS[:6])
    tell(two, FACTS[:6])

    done = one.forget(query="allergic to peanuts")
    assert (done.total, done.leftovers) == (1, ())
    assert f"127.0.0.1:{chroma_server}" in done.unproven[0] and "not ours to prove" in done.unproven[0]
    from ovos_chromadb_embeddings import ChromaEmbeddingsDB

    rows = ChromaEmbeddingsDB(served).get_collection("ovos_local_rag").get(include=["metadatas"])
    origins = [facts["origin"] for facts in rows["metadatas"] if "peanuts" in facts["content"]]
    assert len(rows["ids"]) == 11 and len(origins) == 1  # the other host's, which only that host forgets
    assert first(two, "what food is dangerous for me?") == FACTS[3]
    for memory in (one, two):
        memory.close()


def test_a_collection_of_version_1x_is_taken_over(tmp_path: Path) -> None:
    from ovos_chromadb_embeddings import ChromaEmbeddingsDB

    old = ChromaEmbeddingsDB({"path": str(tmp_path / "vectors")})
    old.create_collection("ovos_local_rag")
    rng = np.random.default_rng(1)
    for n, fact in enumerate(FACTS):
        metadata = {"content": f"Q: {fact}\nA: Noted.", "session_id": "default"}
        old.add_embeddings(f"default_{n}", rng.normal(size=768), metadata, "ovos_local_rag")
    del old

    memory = LocalRAGMemory(config(tmp_path))
    memory.close()

    for question, fact in QUESTIONS.items():
        assert first(memory, question) == fact
    tell(memory, ["One more"])
    assert (
        ChromaEmbeddingsDB({"path": str(tmp_path / "vectors")}).count_embeddings_in_collection(
            "ovos_local_rag"
        )
        == 13
    )
    memory.close()


@pytest.mark.parametrize("store", [CHROMA, QDRANT])
def test_metadata_that_a_store_would_refuse_cost_no_text_and_stay_as_they_are(
    tmp_path: Path, store: str
) -> None:
    memory = LocalRAGMemory(config(tmp_path, store))
    for metadata in ({"a": None}, {"a": [1, "b"]}, {"a": {"b": 1}}, {}, None, {"a": 1.5}):
        before = copy.deepcopy(metadata)
        memory.store(f"{FACTS[len(memory.search('what?', None, 50))]} of note", None, metadata=metadata)
        assert metadata == before

    assert memory.search("who looks after my teeth?", None)[0].source == "default_0"
    assert memory.search("what is growing outside?", None)[0].metadata["a"] == 1.5
    assert len(memory.search("what?", None, 50)) == 6
    assert memory.health()["operations"] == {}
    memory.close()


@pytest.mark.parametrize("store", [CHROMA, QDRANT])
def test_what_is_forgotten_is_in_no_file(tmp_path: Path, store: str) -> None:
    memory = LocalRAGMemory(config(tmp_path, store))
    tell(memory, [*FACTS, "My secret number is QX7781"])

    memory.forget(query="QX7781")
    tell(memory, ["One more"])
    assert len(memory.search("what?", "default", 50)) == 13
    memory.close()

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"QX7781" in path.read_bytes()]
