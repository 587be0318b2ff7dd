"""The index stays exactly what a new one over the same documents would be."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import StoreUnavailable
from ovos_memory.core.types import Document, Exchange
from ovos_memory.lexical.analysis import Analyzer
from ovos_memory.lexical.index import SLICE
from ovos_memory.lexical.index_tables import MAX_COUNT, count_of, pack_terms, unpack_terms
from ovos_memory.lexical.search import MAX_WAITING
from ovos_memory.lexical.store import LexicalStore, Question

WORDS = ["harbour", "turtle", "piano", "lamp", "东京", "rain"]


def open_store(path: Path | str, language: str = "en", table: str = "lexical_memory") -> LexicalStore:
    return LexicalStore(path, plugin="test", table=table, analyzer=Analyzer(language))


def exchange(question: str, answer: str = "ok") -> Exchange:
    messages = (AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer))
    return Exchange(question, answer, messages)


def tell(store: LexicalStore, question: str, session: str = "s", created_at: float = 0.0) -> Document:
    return store.ledger.append(session, exchange(question), created_at=created_at)


def index_all(store: LexicalStore) -> None:
    store.prepare()
    while store.index_missing():
        pass


def tell_many(store: LexicalStore, numbers: Iterable[int]) -> None:
    with store.database.write() as connection:
        for number in numbers:
            told = exchange(f"turtle number{number}")
            store.ledger.append("s", told, created_at=0.0, connection=connection)


def finish(store: LexicalStore) -> None:
    """Wait for what is done in the background."""
    thread = store._rebuild._thread
    assert thread is not None
    thread.join(30)
    assert not thread.is_alive()


def found(store: LexicalStore, query: str, session: str | None = None, limit: int = 10) -> list[str]:
    question = Question(query, session, limit, (), 0.0)
    return [document.question for document, _ in store.search(question)]


def contents(store: LexicalStore) -> dict[str, object]:
    """Return all that the index holds, by words instead of numbers."""
    p = store.index.tables.p
    with store.database.read() as connection:
        words = dict(connection.execute(f"SELECT id, term FROM {p}terms"))
        counts = dict(connection.execute(f"SELECT term, documents FROM {p}terms"))
        entries = store.index.tables.entries(connection, "1 ORDER BY row", ())
        postings = {
            term: sorted(store.index.tables.newest_rows(connection, f'"{number:x}"', 10_000))
            for number, term in words.items()
        }
        state = store.index.tables.state(connection)
    assert state is not None
    return {
        "counts": counts,
        "entries": [
            (
                e.row,
                e.session,
                e.n,
                e.is_shown,
                e.words,
                sorted(words.get(t, "?") for t in unpack_terms(e.terms)),
            )
            for e in entries
        ],
        "postings": postings,
        "documents": state.documents,
        "words": state.words,
    }


def anew(store: LexicalStore) -> dict[str, object]:
    """Return what a new index over the same documents would hold."""
    with store.database.write() as connection:
        store.index.begin_anew(connection)
    while store.index_missing():
        pass
    return contents(store)


steps = st.lists(
    st.tuples(
        st.sampled_from(["tell", "delete", "extend", "edit", "index"]),
        st.integers(0, 30),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
        st.sampled_from(["s", "t"]),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=steps)
def test_whatever_is_told_deleted_extended_and_edited_the_index_equals_a_new_one(steps):
    store = open_store(":memory:")
    index_all(store)
    living: list[Document] = []
    for action, number, words, session in steps:
        document = living[number % len(living)] if living else None
        if action == "tell" or document is None:
            living.append(tell(store, " ".join(words), session))
        elif action == "index":
            index_all(store)
        else:
            living.remove(document)
            if action == "delete":
                store.ledger.delete([document.id])
            elif action == "extend":
                living.append(store.ledger.extend(document, exchange(document.question, " ".join(words))))
            else:
                living.append(store.ledger.edit(document.id, question=" ".join(words)))
    index_all(store)

    kept = contents(store)

    assert kept == anew(store)
    assert set(kept["counts"]) == set(kept["postings"])  # type: ignore[call-overload]


def test_deleting_a_session_leaves_no_word_of_it(tmp_path):
    store = open_store(tmp_path / "m.db")
    tell(store, "the harbour is closed", "s")
    tell(store, "a turtle named quixotrix", "t")
    index_all(store)

    store.ledger.delete_session("t")

    kept = contents(store)
    assert "quixotrix" not in kept["counts"]  # type: ignore[operator]
    assert found(store, "quixotrix turtle") == []
    assert found(store, "harbour") == ["the harbour is closed"]
    store.database.scrub()
    store.close()
    assert b"quixotrix" not in (tmp_path / "m.db").read_bytes()


def test_a_forgotten_repeat_brings_the_earlier_one_back():
    store = open_store(":memory:")
    first = tell(store, "good morning sunshine", created_at=1.0)
    second = tell(store, "good morning sunshine", created_at=2.0)
    index_all(store)

    [(before, _)] = store.search(Question("sunshine", None, 5, (), 0.0))
    store.ledger.delete([second.id])
    [(after, _)] = store.search(Question("sunshine", None, 5, (), 0.0))

    assert (before.id, after.id) == (second.id, first.id)


def test_documents_that_wait_are_found_and_scored_as_if_they_were_indexed():
    store = open_store(":memory:")
    for number in range(10):
        tell(store, f"the harbour and turtle number {number}")
    store.prepare()

    waiting = store.search(Question("harbour turtle number", None, 20, (), 0.0))
    index_all(store)
    indexed = store.search(Question("harbour turtle number", None, 20, (), 0.0))

    assert [document.id for document, _ in waiting] == [document.id for document, _ in indexed]
    assert [score for _, score in waiting] == pytest.approx([score for _, score in indexed])


def test_slices_are_indexed_as_documents_come_in():
    store = open_store(":memory:")
    for number in range(3 * SLICE):
        tell(store, f"exchange number{number}")
        store.recorded(1)

    with store.database.read() as connection:
        state = store.index.tables.state(connection)
        waiting = store.index.waiting(connection, state, 1_000)

    assert state is not None and state.low == 0
    assert len(waiting) < SLICE


def test_another_language_builds_the_index_anew(tmp_path):
    path = tmp_path / "m.db"
    store = open_store(path, "en")
    tell(store, "die Katzen schlafen")
    index_all(store)
    store.close()

    store = open_store(path, "de")

    assert found(store, "Katze") == ["die Katzen schlafen"]
    assert contents(store)["counts"] == {"katz": 1, "schlaf": 1, "ok": 1}


def test_a_large_ledger_without_an_index_is_searched_at_once_and_indexed_in_the_background(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("ovos_memory.lexical.store._AT_ONCE_S", 0.0)
    path = tmp_path / "m.db"
    store = open_store(path)
    tell_many(store, range(1_000))
    store.close()

    store = open_store(path)
    newest = found(store, "number999")
    finish(store)

    assert newest == ["turtle number999"]
    assert found(store, "number3") == ["turtle number3"]
    assert contents(store)["documents"] == 1_000


def test_hundreds_recorded_at_once_are_indexed_when_another_has_let_go_of_the_file(tmp_path):
    path = tmp_path / "m.db"
    store = open_store(path)
    index_all(store)
    tell_many(store, range(400))
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        store.recorded(1)
        assert store.waiting() == 400
    finish(store)

    assert store.waiting() == 0


def test_more_than_a_call_indexes_is_indexed_in_the_background(tmp_path):
    store = open_store(tmp_path / "m.db")
    index_all(store)
    tell_many(store, range(1_200))

    store.recorded(1_200)
    assert store.waiting() < 1_200
    finish(store)

    assert store.waiting() == 0
    assert contents(store) == anew(store)


def test_what_other_processes_left_unindexed_is_indexed_by_a_search_that_cannot_see_it_all(tmp_path):
    store = open_store(tmp_path / "m.db")
    index_all(store)
    tell_many(store, range(MAX_WAITING))
    assert found(store, "number0") == ["turtle number0"]
    assert store._rebuild._thread is None

    tell_many(store, [MAX_WAITING])
    found(store, "turtle")
    finish(store)

    assert found(store, "number0") == ["turtle number0"]


def test_two_stores_can_share_a_file(tmp_path):
    one, other = open_store(tmp_path / "m.db", table="one"), open_store(tmp_path / "m.db", table="other")
    tell(one, "the harbour")
    tell(other, "the turtle")

    assert (found(one, "harbour turtle"), found(other, "harbour turtle")) == (["the harbour"], ["the turtle"])


@pytest.mark.parametrize("damage", ["missing", "garbage", "dropped", "state"])
def test_a_damaged_index_is_built_anew_and_no_document_is_lost(tmp_path, damage):
    path = tmp_path / "m.db"
    store = open_store(path)
    for number in range(70):
        tell(store, f"the harbour number{number}")
    index_all(store)
    store.close()
    p = store.index.tables.p
    with sqlite3.connect(path) as connection:
        if damage == "garbage":
            connection.execute(f"UPDATE {p}postings_data SET block = x'ff00ff00ff' WHERE id > 1")
        elif damage == "state":
            connection.execute(f"DELETE FROM {p}state")
        else:
            connection.execute(
                f"DROP TABLE {p}postings_data" if damage == "missing" else f"DROP TABLE {p}entries"
            )
    connection.close()

    store = open_store(path)

    assert found(store, "number33") == ["the harbour number33"]
    index_all(store)
    assert found(store, "number34") == ["the harbour number34"]
    assert store.ledger.count() == 70


@given(st.dictionaries(st.integers(1, 2**32 - 1), st.integers(1, 400), max_size=40))
def test_packed_terms_keep_every_number_and_count(counts):
    packed = pack_terms(counts.items())

    assert unpack_terms(packed) == list(counts)
    for number, count in counts.items():
        assert count_of(packed, number.to_bytes(4, "little")) == min(count, MAX_COUNT)
    for number in (1, 255, 65_536, 2**31):
        if number not in counts:
            assert count_of(packed, number.to_bytes(4, "little")) == 0


def test_a_damaged_index_does_not_keep_what_is_to_be_forgotten(tmp_path):
    store = open_store(tmp_path / "m.db")
    document = tell(store, "a secret harbour")
    tell(store, "an open harbour")
    index_all(store)
    with store.database.write() as connection:
        connection.execute(f"UPDATE {store.index.tables.p}postings_data SET block = x'ff00ff' WHERE id > 1")
        connection.execute(f"DROP TABLE {store.index.tables.p}terms")

    store.ledger.delete([document.id])

    assert found(store, "harbour") == ["an open harbour"]


def test_without_fts5_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setattr(
        "ovos_memory.lexical.index_tables._TABLES",
        "CREATE VIRTUAL TABLE {p}postings USING fts_of_tomorrow(x)",
    )
    store = open_store(":memory:")
    tell(store, "the harbour")

    with pytest.raises(StoreUnavailable, match=r"no FTS5.*install"):
        found(store, "harbour")

    assert store.ledger.tail("s", 1)[0].question == "the harbour"
