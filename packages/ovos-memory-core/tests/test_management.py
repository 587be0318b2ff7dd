"""Selections, traces, held exchanges, work between processes: what the contract suites do not reach."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import StoreError
from ovos_memory.core.management import Management
from ovos_memory.core.management_types import Selection, Trace, searchable
from ovos_memory.core.record_types import Record
from ovos_memory.testing.managed_reference import ManagedReference

SECRET = "xylophonist"


def said(question: str, answer: str = "noted") -> list[AgentMessage]:
    return [AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer)]


def record(text: str = "tea", **changes: Any) -> Record:
    return Record(
        **{"id": "s_0", "kind": "text", "session_id": "s", "created_at": 5.0, "text": text, **changes}
    )


def block(path: Path) -> None:
    """Put something at a path that no store can be."""
    path.parent.write_text("not a folder")


def free(path: Path) -> None:
    path.parent.unlink()


# ---------------------------------------------------------------------- selections
@pytest.mark.parametrize(
    ("conditions", "is_meant"),
    [
        ({}, True),
        ({"session_id": "s"}, True),
        ({"session_id": "S"}, False),
        ({"record_id": "s_0"}, True),
        ({"record_id": "s_1"}, False),
        ({"before": 5.0}, False),
        ({"before": 5.1}, True),
        ({"after": 5.0}, True),
        ({"after": 5.1}, False),
        ({"query": "RED tea"}, True),
        ({"query": "tea red"}, False),
        ({"query": "\uff54ea"}, True),
        ({"query": "tea", "session_id": "t"}, False),
    ],
)
def test_conditions_choose_records(conditions: dict[str, Any], is_meant: bool) -> None:
    assert Selection(**conditions)(record("my Red tea")) is is_meant


@given(st.text(), st.text(), st.text(min_size=3))
def test_a_text_contains_every_phrase_that_is_in_it(before: str, after: str, phrase: str) -> None:
    try:
        chosen = Selection(query=phrase)
    except ValueError:
        return
    # Neighbours may compose with the phrase's edges to other characters; lines keep them apart.
    assert chosen(record(f"{before}\n{phrase}\n{after}"))


def test_all_that_a_record_says_is_searched() -> None:
    details = {
        "messages": [
            {"role": "assistant", "tool_calls": [{"name": "find", "arguments": {"who": ["ann", 7]}}]}
        ],
        "metadata": {"page": "seven"},
        "words": "the user's own",
    }

    told = searchable(record("tea", details=details))
    assert all(word in told for word in ("tea", "find", "ann", "7", "page", "seven", "the user's own"))


def test_a_trace_means_the_same_words_of_the_same_session() -> None:
    trace = Trace("s", "Q: a\nA: b", "a", "b")

    assert trace.is_exchange("s", "a", " b ") and not trace.is_exchange("t", "a", "b")
    assert not trace.is_exchange("s", "a", "c") and not Trace("s", "x").is_exchange("s", "", "")
    assert trace.means("s", "x", "Q: a\nA: b ") and not trace.means("t", "Q: a\nA: b")


def test_the_reference_keeps_the_protocol() -> None:
    assert isinstance(ManagedReference(), Management)


# ---------------------------------------------------------------------- what is not on disk yet
def test_exchanges_that_wait_for_the_store_are_records_too(tmp_path: Path) -> None:
    path = tmp_path / "store" / "x.db"
    block(path)
    memory = ManagedReference({"db_path": str(path)})
    memory.update_history(said(f"a {SECRET}"), "s")
    memory.update_history(said("tea"), "s")

    with pytest.raises(StoreError):
        memory.forget(query=SECRET)  # nothing can be said about the store itself
    free(path)
    memory.journal.flush()
    assert [r.text for r in memory.records()] == ["Q: tea\nA: noted"]
    assert memory.forget(query=SECRET).leftovers == ()
    memory.close()


def test_later_pieces_of_an_answer_do_not_outlive_their_exchange(tmp_path: Path) -> None:
    memory = ManagedReference({"db_path": str(tmp_path / "x.db")})
    memory.update_history(said("tea"), "s")
    with memory.journal.ledger.database.write():
        piece = [AgentMessage(MessageRole.ASSISTANT, f"says the {SECRET}")]
        writer = threading.Thread(target=memory.update_history, args=(piece, "s"))
        writer.start()
        writer.join()
    assert [r.text for r in memory.records()] == [f"Q: tea\nA: noted\nsays the {SECRET}"]

    assert memory.forget(query=SECRET).total == 1
    memory.journal.flush()
    assert not list(memory.records()) and not memory.get_history("s")
    memory.close()


def test_nobody_writes_while_something_is_forgotten(tmp_path: Path) -> None:
    """What is recorded at the same time is either forgotten or was said later, and never half."""
    memory = ManagedReference({"db_path": str(tmp_path / "x.db"), "max_history": 0})
    stop = threading.Event()

    def talk(session: str) -> None:
        number = 0
        while not stop.is_set():
            memory.update_history(said(f"{SECRET} {number}"), session)
            number += 1

    writers = [threading.Thread(target=talk, args=(f"s{n}",)) for n in range(3)]
    for writer in writers:
        writer.start()
    for _ in range(5):
        memory.forget(query=SECRET)
    stop.set()
    for writer in writers:
        writer.join()

    memory.forget(query=SECRET)
    assert not list(memory.records())
    memory.close()


def test_a_reader_that_stays_is_named_as_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ovos_memory.core.management_ledger._SCRUB_WAIT_S", 0.1)
    import sqlite3

    from ovos_memory.core.management_ledger import scrub_database

    memory = ManagedReference({"db_path": str(tmp_path / "x.db")})
    memory.update_history(said(f"a {SECRET}"), "s")
    reader = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM documents").fetchall()

    cleaned = scrub_database(memory.journal.ledger.database, wait_s=0.1)
    assert "repeat the call" in cleaned.leftovers[0]
    reader.close()
    assert scrub_database(memory.journal.ledger.database, wait_s=0.1).leftovers == ()
    memory.close()


def test_a_thousand_sessions_are_forgotten_in_one_go(tmp_path: Path) -> None:
    memory = ManagedReference({"db_path": str(tmp_path / "x.db")})
    lines = [
        {"id": f"s{n}_{k}", "kind": "text", "session_id": f"s{n}", "created_at": 1.0, "text": f"tea {n}"}
        for n in range(1000)
        for k in range(2)
    ]
    memory.import_records(lines)

    assert memory.forget(query="tea").total == 2000
    assert memory.sessions() == []
    memory.close()


# ---------------------------------------------------------------------- what another memory has forgotten
@pytest.mark.parametrize(
    ("question", "answer", "stays"),
    [("I like tea", "noted", True), ("I like coffee", "noted", False), ("I like coffee", "noted\nso", False)],
)
def test_another_memorys_number_alone_forgets_nothing(
    question: str, answer: str, stays: bool, tmp_path: Path
) -> None:
    """Memories number on their own: one that missed an exchange gives the next one its number."""
    memory = ManagedReference({"db_path": str(tmp_path / "store.db")})
    memory.update_history(said(question, answer), "s")
    (own,) = memory.records("s")

    memory.forget_related(
        [Trace("s", "Q: I like coffee\nA: noted", "I like coffee", "noted", own.id, own.created_at)]
    )

    assert bool(list(memory.records("s"))) is stays
