"""Recall by meaning behind the composite: stores of every kind, useless vectors, every way of fusing."""

from __future__ import annotations

import math

import pytest

from ovos_memory.composite import CompositeMemory
from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.testing.fakes.embedder import FakeEmbedder
from ovos_memory.testing.fakes.members import install_plugin
from ovos_memory.testing.fakes.store import FakeStore
from ovos_memory.testing.messages import pair

FUSIONS = ["rrf", "weighted", "merge", "priority", "interleave"]


@pytest.fixture
def compose(tmp_path, monkeypatch):
    """Return a composite of vectors and words; the vectors' model and store are the caller's."""
    made = []

    def make(fusion, store, embedder, **vectors):
        class Vectors(LocalRAGMemory):
            def __init__(self, config=None):
                super().__init__(config, embedder=embedder, embeddings_db=store)

        install_plugin(tmp_path / f"plugins{len(made)}", monkeypatch, f"test-vectors{len(made)}", Vectors)
        folder = tmp_path / str(len(made))
        vectors = {"db_path": str(folder / "vectors.db"), "preload": False, **vectors}
        members = [
            {"module": f"test-vectors{len(made)}", "name": "meaning", "config": vectors},
            {
                "module": "ovos-memory-plugin-lexical",
                "name": "words",
                "config": {"db_path": str(folder / "l.db")},
            },
        ]
        made.append(CompositeMemory({"members": members, "fusion": fusion, "member_timeout_s": 60}))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product", "similarity"])
@pytest.mark.parametrize("min_score", [None, 0.5])
def test_the_exact_turn_is_first_whichever_way_a_store_counts(compose, fusion, distance, min_score):
    store = FakeStore({"distance": distance})
    memory = compose(fusion, store, FakeEmbedder({"dimension": 512}), retrieval={"min_score": min_score})
    memory.update_history(pair("something quite different here", "and there"), "s")
    memory.update_history(pair("the quick red lamp", "noted"), "s")

    hits = memory.search("Q: the quick red lamp A: noted", "s")

    assert hits[0].source == "s_1"
    assert all(math.isfinite(hit.score) for hit in hits)


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("mode", ["zeros", "nan", "inf"])
@pytest.mark.parametrize("min_score", [None, 0.3])
def test_a_useless_vector_costs_one_member_one_turn(compose, fusion, mode, min_score):
    embedder = FakeEmbedder({"dimension": 512, "mode": mode, "fails_on": ("broken",)})
    memory = compose(fusion, FakeStore(), embedder, retrieval={"min_score": min_score})
    for text in ("a good lamp", "a broken lamp", "a good chair"):
        memory.update_history(pair(text, "noted"), "s")

    good = memory.search("good lamp", "s")
    assert good[0].content == "Q: a good lamp\nA: noted"
    assert all(math.isfinite(hit.score) for hit in good)
    assert [hit.content for hit in memory.search("good lamp", "s")] == [hit.content for hit in good]
    # The turn reached the other member, and a query without a vector is answered by it alone.
    broken = memory.search("broken", "s")
    assert [hit.content for hit in broken] == ["Q: a broken lamp\nA: noted"]
    assert list(broken[0].metadata["retrievers"]) == ["words"]
