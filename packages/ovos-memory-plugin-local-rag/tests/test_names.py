from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.core.types import Document, document_id
from ovos_memory.local_rag.names import (
    file_stem,
    from_store_text,
    legal_collection_name,
    model_collection_name,
    parse_vector_key,
    plain_metadata,
    store_text,
    vector_key,
    vector_metadata,
)

LEGAL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
any_text = st.text(st.characters(exclude_categories=()), max_size=40)


@pytest.mark.parametrize("name", ["ovos_local_rag", "abc", "a.b-c_d", "X" * 512, "AbC"])
def test_a_legal_name_stays_as_it_is(name: str) -> None:
    assert legal_collection_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "a", "ab", "Küche", "my memory", "a/b", "-ab", "a..b", "1.2.3.4", "x" * 513]
)
def test_any_other_name_becomes_a_legal_one(name: str) -> None:
    legal = legal_collection_name(name)

    assert LEGAL.fullmatch(legal) and ".." not in legal
    assert legal_collection_name(name) == legal


@given(any_text, any_text)
def test_two_names_never_become_one(one: str, other: str) -> None:
    assert (legal_collection_name(one) == legal_collection_name(other)) == (one == other)


@given(any_text)
def test_a_name_that_looks_derived_is_derived_again(name: str) -> None:
    derived = legal_collection_name(name)

    assert derived == name or legal_collection_name(derived) != derived


def test_each_model_has_a_collection_of_its_own() -> None:
    names = [model_collection_name("ovos_local_rag", n) for n in range(1, 5)]

    assert names[0] == "ovos_local_rag"
    assert len(set(names)) == 4
    assert all(LEGAL.fullmatch(model_collection_name("x" * 512, n)) for n in range(1, 5))


def test_a_long_collection_name_still_names_a_file() -> None:
    assert file_stem("short") == "short"
    assert len(file_stem("x" * 512)) < 200
    assert file_stem("x" * 512) != file_stem("x" * 511)


@given(any_text)
def test_ids_come_back_from_a_store_unchanged(text: str) -> None:
    kept = store_text(text)

    kept.encode()
    assert "\0" not in kept
    assert from_store_text(kept) == text


@given(any_text, st.integers(0, 10**9), st.integers(0, 99), st.sampled_from(["", "0a1b2c3d"]))
def test_keys_tell_document_and_window(session: str, n: int, window: int, origin: str) -> None:
    key = vector_key(document_id(session, n), window, origin)

    assert parse_vector_key(key, origin) == (document_id(session, n), window)


def test_a_key_of_a_store_of_ones_own_is_the_document_id() -> None:
    assert vector_key("default_7") == "default_7"
    assert vector_key("default_7", 2, "0a1b2c3d") == "0a1b2c3d/default_7#2"
    assert parse_vector_key("ffffffff/default_7", "0a1b2c3d") is None


def test_metadata_are_values_that_every_store_takes() -> None:
    given_metadata = {
        "a": None,
        "b": [1],
        "c": {"d": 1},
        "e": 1.5,
        "f": True,
        "g": "x",
        "h": float("nan"),
        "i": 2**70,
    }

    plain = plain_metadata(given_metadata)

    assert plain == {"b": "[1]", "c": '{"d": 1}', "e": 1.5, "f": True, "g": "x", "h": "nan", "i": str(2**70)}
    assert given_metadata["b"] == [1]


def test_content_and_session_win_over_the_callers_metadata() -> None:
    document = Document(
        "s", 0, "q", "a", (), 0.0, metadata={"content": "no", "session_id": "no", "topic": "tea"}
    )

    assert vector_metadata(document) == {"content": "Q: q\nA: a", "session_id": "s", "topic": "tea"}
    assert vector_metadata(document, "0a1b2c3d")["origin"] == "0a1b2c3d"
