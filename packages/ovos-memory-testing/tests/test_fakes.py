from __future__ import annotations

import math
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from ovos_plugin_manager.agents import load_memory_plugin

from ovos_memory.testing.fakes import (
    BatchEmbedder,
    FakeEmbedder,
    FakePathStore,
    FakeStore,
    HangingMember,
    InterruptingMember,
    PlainMember,
    RaisingMember,
    RestingChat,
    WrongTypesMember,
    install_plugin,
)
from ovos_memory.testing.messages import pair, said
from ovos_memory.testing.processes import run_python


def _cosine(a: Any, b: Any) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


# ---------------------------------------------------------------------- embedders


def test_texts_that_share_words_are_near() -> None:
    embedder = FakeEmbedder()
    tea, more, ficus = map(embedder.get_embeddings, ("the green tea", "more green TEA?", "water a ficus"))

    assert len(tea) == 256 and math.isclose(_cosine(tea, tea), 1.0)
    assert _cosine(tea, more) > 0.5 > _cosine(tea, ficus)
    assert embedder.texts == ["the green tea", "more green TEA?", "water a ficus"]


def test_a_text_without_words_is_a_zero_vector() -> None:
    assert set(FakeEmbedder().get_embeddings("?!")) == {0.0}


def test_another_salt_is_another_model() -> None:
    assert FakeEmbedder().get_embeddings("tea") != FakeEmbedder({"salt": "2"}).get_embeddings("tea")


@pytest.mark.parametrize(
    ("mode", "is_meant"),
    [
        ("wrong_dimension", lambda v: len(v) == 255),
        ("zeros", lambda v: set(v) == {0.0}),
        ("nan", lambda v: all(map(math.isnan, v))),
        ("inf", lambda v: set(v) == {math.inf}),
        ("empty", lambda v: v == []),
        ("tuple", lambda v: isinstance(v, tuple)),
        ("echo", lambda v: v == {"input": "tea"}),
    ],
)
def test_an_embedder_breaks_as_told(mode: str, is_meant: Any) -> None:
    assert is_meant(FakeEmbedder({"mode": mode}).get_embeddings("tea"))


def test_an_embedder_breaks_for_certain_texts_only() -> None:
    embedder = FakeEmbedder({"mode": "raises", "fails_on": ["ficus"]})

    assert embedder.get_embeddings("tea")
    with pytest.raises(RuntimeError):
        embedder.get_embeddings("a ficus")


@pytest.mark.parametrize(("beyond", "answer"), [("empty", []), ("echo", {"input": "x" * 11})])
def test_a_text_that_is_too_long_is_answered_as_told(beyond: str, answer: Any) -> None:
    embedder = FakeEmbedder({"max_chars": 10, "beyond": beyond})

    assert embedder.get_embeddings("x" * 11) == answer
    assert len(embedder.get_embeddings("x" * 10)) == 256


def test_a_hanging_embedder_counts_who_is_inside() -> None:
    embedder = FakeEmbedder({"mode": "hangs"})
    threads = [threading.Thread(target=embedder.get_embeddings, args=("tea",), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    while embedder.most_at_once < 2:
        pass
    embedder.release.set()
    for thread in threads:
        thread.join(5)

    assert not any(thread.is_alive() for thread in threads)


def test_batches_are_counted() -> None:
    embedder = BatchEmbedder()

    assert len(embedder.get_embeddings_batch(["a", "b"])) == 2 and embedder.batches == [2]


def test_no_fake_imports_numpy() -> None:
    code = "import sys, ovos_memory.testing.fakes; print('numpy' in sys.modules)"
    if "numpy" not in sys.modules:
        assert run_python(code).split()[-1] == "False"


# ---------------------------------------------------------------------- stores


def _filled(**config: Any) -> FakeStore:
    store, embedder = FakeStore(config), FakeEmbedder()
    store.create_collection("texts")
    for key, text in (("a", "green tea"), ("b", "green ficus"), ("c", "nothing alike")):
        store.add_embeddings(key, embedder.get_embeddings(text), {"content": text}, "texts")
    return store


@pytest.mark.parametrize("distance", ["cosine", "similarity", "l2", "inner_product"])
def test_the_nearest_comes_first_by_any_measure(distance: str) -> None:
    query = FakeEmbedder().get_embeddings("green tea")
    found = _filled(distance=distance).query(query, 3, True, "texts")

    assert [row[0] for row in found] == ["a", "b", "c"]
    numbers = [row[1] for row in found]
    assert numbers == sorted(numbers, reverse=distance == "similarity")
    assert math.isclose(numbers[0], 1.0 if distance == "similarity" else 0.0, abs_tol=1e-6)


def test_a_store_keeps_its_rows_for_the_next_instance(tmp_path: Path) -> None:
    store = _filled(path=str(tmp_path))
    store.delete_embeddings("b", "texts")
    again = FakePathStore(str(tmp_path))

    assert again.count_embeddings_in_collection("texts") == 2
    assert again.get_embeddings("a", "texts", True)[1] == {"content": "green tea"}
    assert again.get_embeddings("b", "texts") is None
    assert [row[0] for row in again.get_embeddings_batch(["a", "b"], "texts")] == ["a"]


def test_a_stale_store_does_not_show_new_rows(tmp_path: Path) -> None:
    _filled(path=str(tmp_path))
    stale = FakeStore({"path": str(tmp_path), "is_stale": True})
    vector = FakeEmbedder().get_embeddings("green tea")
    FakeStore({"path": str(tmp_path)}).add_embeddings("d", vector, {}, "texts")

    assert "d" not in [row[0] for row in stale.query(vector, 9, False, "texts")]


def test_a_store_has_the_habits_it_is_told() -> None:
    vector = FakeEmbedder().get_embeddings("tea")
    facts: dict[str, Any] = {"a": 1}
    store = FakeStore({"marks_metadata": True, "merges_metadata": True})
    store.create_collection("texts")
    store.add_embeddings_batch(["k"], [vector], [facts], "texts")
    store.add_embeddings("k", vector, {"b": 2}, "texts")

    assert facts == {"a": 1, "original_key": "k"}
    assert store.get_embeddings("k", "texts", True)[1] == {"a": 1, "b": 2, "original_key": "k"}
    with pytest.raises(ValueError, match="expected 256"):
        store.add_embeddings("short", vector[:9], {}, "texts")
    with pytest.raises(ValueError, match="not found"):
        store.get_collection("others")


def test_a_store_refuses_what_it_is_told() -> None:
    vector = FakeEmbedder().get_embeddings("tea")
    strict = FakeStore({"limits_names": True, "rejects_none": True})

    for name in ("ab", "with blank", "ü" * 5):
        with pytest.raises(ValueError, match="3-512"):
            strict.create_collection(name)
    assert strict.create_collection("a.b-c_1") == "a.b-c_1" and strict.list_collections() == ["a.b-c_1"]
    for facts in ({}, {"a": None}, {"a": []}):
        with pytest.raises(ValueError, match="flat"):
            strict.add_embeddings("k", vector, facts, "a.b-c_1")


@pytest.mark.parametrize(("failure", "error"), [("locked", OSError), ("raises", RuntimeError)])
def test_a_store_fails_as_told(failure: Any, error: type[Exception]) -> None:
    store = _filled()
    store.failure = failure

    with pytest.raises(error):
        store.query([0.0] * 256, 1, False, "texts")
    assert store.calls[-1] == "query"


# ---------------------------------------------------------------------- members and models


def test_a_plain_member_keeps_everything() -> None:
    member = PlainMember({"block": "the summary"})
    member.update_history(pair("tea", "noted"), "s")

    context = member.build_conversation_context("hi", "s")
    assert said(context) == [
        ("system", "the summary"),
        ("user", "tea"),
        ("assistant", "noted"),
        ("user", "hi"),
    ]


@pytest.mark.parametrize(
    ("member", "error"),
    [
        (RaisingMember(), RuntimeError),
        (InterruptingMember(), KeyboardInterrupt),
        (InterruptingMember({"exits": True}), SystemExit),
    ],
)
def test_bad_members_are_bad_in_every_method(member: Any, error: type[BaseException]) -> None:
    calls: list[Any] = [
        lambda: member.search("tea"),
        lambda: member.get_history("s"),
        lambda: member.update_history(pair("tea", "noted"), "s"),
        lambda: member.build_conversation_context("tea", "s"),
    ]
    for each in calls:
        with pytest.raises(error):
            each()


def test_a_member_of_wrong_types_returns_what_it_is_told() -> None:
    assert WrongTypesMember({"value": 7}).search("tea") == 7
    assert WrongTypesMember().build_conversation_context("tea", "s") is None


def test_a_hanging_member_comes_back_when_released() -> None:
    HangingMember.release.set()
    try:
        assert HangingMember().search("tea") == []
    finally:
        HangingMember.release.clear()


def test_a_resting_model_is_never_ready() -> None:
    assert RestingChat().ready_in_s() > 60
    with pytest.raises(AssertionError):
        RestingChat().ask("hello")


def test_an_installed_plugin_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch, "memory-of-somebody", PlainMember)

    assert load_memory_plugin("memory-of-somebody") is PlainMember
