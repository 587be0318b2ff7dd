from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from ovos_memory.core.errors import BadReply, ModelUnavailable, PluginMissing
from ovos_memory.local_rag import embedder as module
from ovos_memory.local_rag.embedder import Embedder
from ovos_memory.local_rag.replies import unit_vector
from ovos_memory.testing.fakes.embedder import BatchEmbedder, FakeEmbedder


def wrapped(**config: Any) -> tuple[Embedder, FakeEmbedder]:
    fake = FakeEmbedder(config)
    return Embedder("fake", {}, plugin="test", instance=fake), fake


@pytest.mark.parametrize("mode", ["good", "tuple", "float32", "array"])
def test_vectors_of_any_type_become_float32_of_unit_length(mode: str) -> None:
    embedder, _ = wrapped(mode=mode)

    (vector,) = embedder.document_vectors("hello there")

    assert vector.dtype == np.float32 and vector.shape == (256,)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "reply", [None, "text", ["a", "b"], [], [[1.0], [2.0]], [0.0, 0.0], [float("nan")], {"a": 1}, 3.0]
)
def test_what_is_no_vector_is_none(reply: Any) -> None:
    assert unit_vector(reply) is None


@pytest.mark.parametrize("mode", ["zeros", "nan", "inf", "empty", "echo", "wrong_dimension"])
def test_a_useless_vector_is_never_handed_on(mode: str) -> None:
    embedder, fake = wrapped(fails_on=("bad",))
    fake.mode = mode  # type: ignore[assignment]

    assert embedder.batch(["a good text", "a bad text"])[1] == []
    assert len(embedder.batch(["a good text"])[0]) == 1
    with pytest.raises(BadReply):
        embedder.document_vectors("a bad text")
    assert embedder.query_vector("bad") is None


def test_a_query_that_had_no_vector_is_tried_again() -> None:
    """A model that answered nonsense once has not made its queries unanswerable."""
    embedder, fake = wrapped(fails_on=("tea",))
    fake.mode = "zeros"
    assert embedder.query_vector("tea") is None

    fake.mode = "good"

    assert embedder.query_vector("tea") is not None


@pytest.mark.parametrize("beyond", ["raises", "empty", "echo"])
def test_a_text_that_is_too_long_is_embedded_in_pieces_that_are_not(beyond: str) -> None:
    embedder, fake = wrapped(max_chars=500, beyond=beyond)

    vectors = embedder.document_vectors(
        "Q: start marker ALPHA " + " ".join(map(str, range(9_000))) + "\nA: end marker OMEGA"
    )
    query = embedder.query_vector("start marker ALPHA")

    assert len(vectors) > 1 and query is not None
    assert max(float(v @ query) for v in vectors) > 0.15
    assert max(map(len, fake.texts[-3:])) <= 500
    assert len(embedder.document_vectors("one normal turn")) == 1


def test_what_a_model_can_hold_is_learnt_once() -> None:
    embedder, fake = wrapped(max_chars=500)
    embedder.document_vectors("word " * 3_000)
    before = len(fake.texts)

    embedder.document_vectors("other " * 3_000)

    assert all(len(text) <= 500 for text in fake.texts[before:])


def test_a_failing_model_is_told_from_a_text_it_refuses() -> None:
    embedder, fake = wrapped()
    embedder.ensure()
    fake.mode = "raises"

    with pytest.raises(ModelUnavailable):
        embedder.document_vectors("hello")


def test_a_query_is_embedded_once_in_a_turn() -> None:
    embedder, fake = wrapped()
    embedder.query_vector("what about tea")
    count = len(fake.texts)

    embedder.query_vector("what about tea")

    assert len(fake.texts) == count


def test_many_texts_go_in_one_batch_where_the_plugin_can() -> None:
    fake = BatchEmbedder()
    embedder = Embedder("fake", {}, plugin="test", instance=fake)

    vectors = embedder.batch([f"text {n}" for n in range(20)])

    assert fake.batches == [20] and all(len(v) == 1 for v in vectors)


def test_one_bad_text_does_not_spoil_a_batch() -> None:
    fake = BatchEmbedder({"fails_on": ("bad",)})
    embedder = Embedder("fake", {}, plugin="test", instance=fake)
    embedder.ensure()
    fake.mode = "raises"

    assert [len(v) for v in embedder.batch(["one", "bad", "three"])] == [1, 0, 1]


def test_a_model_is_used_by_one_thread_at_a_time() -> None:
    embedder, fake = wrapped()
    threads = [
        threading.Thread(target=lambda n=n: [embedder.batch([f"text {n} {k}"]) for k in range(20)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert fake.most_at_once == 1


def test_gguf_models_share_one_lock() -> None:
    one = Embedder("ovos-gguf-embeddings-plugin", {"model": "a"}, plugin="test", instance=FakeEmbedder())
    other = Embedder("ovos-gguf-embeddings-plugin", {"model": "b"}, plugin="test", instance=FakeEmbedder())
    else_ = Embedder("other", {}, plugin="test", instance=FakeEmbedder())

    assert one._lock is other._lock is not else_._lock


def test_a_missing_plugin_is_named_with_its_remedy() -> None:
    embedder = Embedder("no-such-embeddings-plugin", {}, plugin="test")

    with pytest.raises(PluginMissing, match=r"no-such-embeddings-plugin.*is not installed"):
        embedder.ensure()


def test_a_slow_model_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOAD_WAIT_S", 0.05)
    embedder, fake = wrapped(mode="hangs")

    for _ in range(2):
        with pytest.raises(ModelUnavailable, match="still being loaded"):
            embedder.ensure()
    fake.release.set()
    embedder._loaded.wait(5)

    embedder.ensure()
    assert embedder.is_ready


def test_a_load_that_failed_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder, fake = wrapped(mode="raises")
    with pytest.raises(ModelUnavailable, match="could not load its model"):
        embedder.ensure()
    fake.mode = "good"
    with pytest.raises(ModelUnavailable):
        embedder.ensure()

    embedder._retry_at = 0.0

    embedder.ensure()
    assert embedder.dimension == 256
