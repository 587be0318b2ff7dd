"""The journal: pairing across calls, late pieces, held exchanges, the window."""

from __future__ import annotations

import copy
import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.core import backlog as backlog_module
from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import StoreLocked, StoreUnavailable
from ovos_memory.core.journal import Journal
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.sqlite import open_database
from ovos_memory.core.types import Document


def user(text: str | None) -> AgentMessage:
    return AgentMessage(MessageRole.USER, text)  # type: ignore[arg-type]


def assistant(text: str | None, *call_ids: str) -> AgentMessage:
    calls = [ToolCall(id=i, name="look", arguments={"q": "x"}) for i in call_ids]
    return AgentMessage(MessageRole.ASSISTANT, text, tool_calls=calls or None)  # type: ignore[arg-type]


def tool(text: str, call_id: str) -> AgentMessage:
    return AgentMessage(MessageRole.TOOL, text, tool_call_id=call_id, name="look")


class Store:
    """A ledger on disk that can be told to fail."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error: Exception | None = None

    def open(self) -> SqliteLedger:
        if self.error is not None:
            raise self.error
        ledger = SqliteLedger(open_database(self.path, plugin="p"))
        for name in ("append", "append_text", "extend"):
            setattr(ledger, name, self._guarded(getattr(ledger, name)))
        return ledger

    def _guarded(self, method: Callable[..., object]) -> Callable[..., object]:
        def call(*values: object, **named: object) -> object:
            if self.error is not None:
                raise self.error
            return method(*values, **named)

        return call

    def journal(self, **named: object) -> Journal:
        return Journal(self.open, boundary=Boundary("p"), **named)  # type: ignore[arg-type]

    def contents(self, session_id: str = "s") -> list[tuple[str, str]]:
        """Return what is on disk, read by a ledger of its own."""
        ledger = SqliteLedger(open_database(self.path, plugin="reader"))
        found = [(d.id, d.content) for d in ledger.documents(session_id=session_id)]
        ledger.close()
        return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "ledger.db")


@pytest.fixture
def journal(store: Store) -> Journal:
    return store.journal(clock=lambda: 100.0)


def words(messages: list[AgentMessage]) -> list[tuple[str, str]]:
    return [(m.role.value, m.content) for m in messages]


# ------------------------------------------------------------------ pairing
def test_an_exchange_is_on_disk_when_record_returns(store: Store, journal: Journal) -> None:
    journal.record([user("my dentist is Dr A"), assistant("ok")], "s")

    assert store.contents() == [("s_0", "Q: my dentist is Dr A\nA: ok")]


def test_question_and_answer_are_paired_across_calls(store: Store, journal: Journal) -> None:
    assert journal.record([user("q")], "s") == []
    assert [d.id for d in journal.record([assistant("a")], "s")] == ["s_0"]

    assert store.contents() == [("s_0", "Q: q\nA: a")]


def test_sessions_are_paired_apart(store: Store, journal: Journal) -> None:
    journal.record([user("q1")], "s")
    journal.record([user("q2")], "t")
    journal.record([assistant("a1")], "s")
    journal.record([assistant("a2")], "t")

    assert (store.contents("s"), store.contents("t")) == (
        [("s_0", "Q: q1\nA: a1")],
        [("t_0", "Q: q2\nA: a2")],
    )


def test_an_answer_in_pieces_is_one_document(store: Store, journal: Journal) -> None:
    journal.record([user("turn on the…")], "s")
    journal.record([user("my code is 4512")], "s")
    journal.record([assistant("noted")], "s")
    journal.record([assistant("anything else?")], "s")

    assert store.contents() == [("s_0", "Q: my code is 4512\nA: noted\nanything else?")]
    assert words(journal.window("s", 0)) == [
        ("user", "my code is 4512"),
        ("assistant", "noted\nanything else?"),
    ]


def test_later_pieces_extend_the_document_after_a_restart(store: Store, journal: Journal) -> None:
    journal.record([user("q"), assistant("a")], "s")
    journal.close()

    store.journal().record([assistant("b")], "s")

    assert store.contents() == [("s_0", "Q: q\nA: a\nb")]


def test_an_answer_without_a_question_is_a_document_of_its_own(store: Store, journal: Journal) -> None:
    journal.record([assistant("the tea is ready")], "s")

    assert store.contents() == [("s_0", "Q: \nA: the tea is ready")]


def test_a_very_long_answer_is_not_extended_for_ever(store: Store, journal: Journal) -> None:
    journal.record([user("q"), assistant("x" * 70_000)], "s")
    journal.record([assistant("more")], "s")

    assert [identifier for identifier, _ in store.contents()] == ["s_0", "s_1"]


def test_tool_calls_belong_to_their_exchange_and_their_output_is_nobodys_words(
    store: Store, journal: Journal
) -> None:
    turns = [user("weather?"), assistant(None, "c1"), tool("21 °C", "c1"), assistant("It is 21")]

    for turn in turns:
        journal.record([turn], "s")

    assert store.contents() == [("s_0", "Q: weather?\nA: It is 21")]
    said = journal.window("s", 0)
    assert [m.role.value for m in said] == ["user", "assistant", "tool", "assistant"]
    assert said[1].tool_calls == turns[1].tool_calls
    assert said[2].tool_call_id == "c1"


def test_a_call_that_follows_words_stays_in_the_exchange(store: Store, journal: Journal) -> None:
    journal.record(
        [user("q"), assistant("one moment"), assistant("", "c1"), tool("x", "c1"), assistant("done")], "s"
    )

    assert store.contents() == [("s_0", "Q: q\nA: one moment\ndone")]


def test_a_call_nobody_answered_is_kept_with_its_question(store: Store, journal: Journal) -> None:
    journal.record([user("q"), assistant("", "c1"), tool("x", "c1"), user("next"), assistant("a")], "s")

    assert store.contents() == [("s_0", "Q: q\nA: "), ("s_1", "Q: next\nA: a")]


@pytest.mark.parametrize(
    "messages", [[], None, [assistant(None)], [user(None), assistant(None)], [tool("x", "c9")]]
)
def test_silence_is_no_document(messages: list[AgentMessage] | None, store: Store, journal: Journal) -> None:
    journal.record([user("q"), assistant("a")], "t")

    assert journal.record(messages, "s") == []
    assert store.contents() == []


def test_what_was_injected_is_not_recorded(store: Store, journal: Journal) -> None:
    journal.record(
        [
            user("q"),
            assistant("", "memrag_s_0"),
            tool("<recalled-memory>\n- Q: old\n</recalled-memory>", "memrag_s_0"),
            assistant("a"),
        ],
        "s",
    )

    assert store.contents() == [("s_0", "Q: q\nA: a")]
    assert words(journal.window("s", 0)) == [("user", "q"), ("assistant", "a")]


def test_inputs_and_outputs_are_copies(journal: Journal) -> None:
    given = [user("q"), assistant(None, "c1"), tool("x", "c1"), assistant("a")]
    before = copy.deepcopy(given)

    journal.record(given, "s")
    first = journal.window("s", 0)
    first[1].tool_calls[0].arguments["q"] = "changed"  # type: ignore[index]
    first[0].content = "changed"

    assert given == before
    assert journal.window("s", 0)[1].tool_calls[0].arguments == {"q": "x"}  # type: ignore[index]
    assert journal.window("s", 0)[0].content == "q"


# ------------------------------------------------------------------ the window
def test_the_window_is_the_end_of_the_session(journal: Journal) -> None:
    for i in range(200):
        journal.record([user(f"q{i}"), assistant(f"a{i}")], "s")

    assert [m.content for m in journal.window("s", 3)] == ["a198", "q199", "a199"]
    assert len(journal.window("s", 0)) == 400
    assert 50 <= len(journal.window("s", 0, enough_chars=200)) < 400


def test_a_long_window_reads_each_document_once(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(700):
        journal.record([user(f"q{i}"), assistant(f"a{i}")], "s")
    read: list[int] = []
    tail = SqliteLedger.tail

    def counted(self: SqliteLedger, session_id: str, documents: int, **how: int) -> list[Document]:
        found = tail(self, session_id, documents, **how)  # type: ignore[arg-type]
        read.extend(document.n for document in found)
        return found

    monkeypatch.setattr(SqliteLedger, "tail", counted)
    said = words(journal.window("s", 0))

    assert said == [pair for i in range(700) for pair in (("user", f"q{i}"), ("assistant", f"a{i}"))]
    assert sorted(read) == list(range(700))


def test_an_unanswered_question_is_in_the_window(journal: Journal) -> None:
    journal.record([user("q"), assistant("a")], "s")
    journal.record([user("and now?")], "s")

    assert words(journal.window("s", 2)) == [("assistant", "a"), ("user", "and now?")]


def test_texts_are_documents_but_no_part_of_the_conversation(store: Store, journal: Journal) -> None:
    journal.record([user("q"), assistant("a")], "s")
    for i in range(70):
        journal.store_text(f"note {i}", "s", {"kind": "note"})

    assert words(journal.window("s", 2)) == [("user", "q"), ("assistant", "a")]
    assert store.contents()[1] == ("s_1", "note 0")


# ------------------------------------------------------------------ stores that fail
def test_what_cannot_be_written_is_held_visible_and_written_in_order(store: Store, journal: Journal) -> None:
    journal.record([user("q0"), assistant("a0")], "s")
    store.error = StoreUnavailable("no space")

    journal.record([user("q1"), assistant("a1")], "s")
    journal.record([user("q2"), assistant("a2")], "s")
    journal.record([assistant("more")], "s")

    assert [m.content for m in journal.window("s", 0)] == ["q0", "a0", "q1", "a1", "q2", "a2\nmore"]
    assert [d.id for d in journal.held("s")] == ["s_1", "s_2"]
    assert journal.health()["held"] == 2

    store.error = None
    journal.record([user("q3"), assistant("a3")], "s")

    assert [content for _, content in store.contents()] == [
        "Q: q0\nA: a0",
        "Q: q1\nA: a1",
        "Q: q2\nA: a2\nmore",
        "Q: q3\nA: a3",
    ]
    assert journal.health() == {"held": 0, "lost": 0, "store_error": None}


def test_all_documents_come_with_what_is_held_in_its_newest_form(store: Store, journal: Journal) -> None:
    journal.record([user("q0"), assistant("a0")], "s")
    journal.record([user("other"), assistant("a")], "t")
    store.error = StoreLocked("held by another process")
    journal.record([assistant("more")], "s")
    journal.record([user("q1"), assistant("a1")], "s")

    assert [(d.id, d.answer) for d in journal.documents("s")] == [("s_0", "a0\nmore"), ("s_1", "a1")]
    assert {d.session_id for d in journal.documents()} == {"s", "t"}


def test_documents_of_a_store_that_cannot_be_read_are_those_held(store: Store) -> None:
    store.error = StoreUnavailable("no such disk")
    boundary = Boundary("p")
    journal = Journal(store.open, boundary=boundary)
    journal.record([user("q"), assistant("a")], "s")

    assert [d.question for d in journal.documents()] == ["q"]
    assert boundary.counts()["search"]["failures"] == 1


def test_a_store_that_cannot_be_opened_is_opened_later(store: Store) -> None:
    store.error = StoreUnavailable("no such folder")
    journal = store.journal()

    journal.record([user("q"), assistant("a")], "s")
    assert [m.content for m in journal.held_window("s", 0)] == ["q", "a"]
    assert journal.health()["store_error"] == "no such folder"

    store.error = None
    journal.record([user("q2"), assistant("a2")], "s")

    assert [identifier for identifier, _ in store.contents()] == ["s_0", "s_1"]


def test_held_exchanges_are_written_without_another_call(store: Store, journal: Journal) -> None:
    arrived = threading.Event()
    journal = store.journal(on_stored=lambda documents: arrived.set())
    store.error = StoreLocked("held by another process")
    journal.record([user("q"), assistant("a")], "s")

    store.error = None

    assert arrived.wait(10)
    assert store.contents() == [("s_0", "Q: q\nA: a")]


def test_a_later_piece_of_a_stored_exchange_is_held_too(store: Store, journal: Journal) -> None:
    journal.record([user("q"), assistant("a")], "s")
    store.error = StoreLocked("held by another process")
    journal.record([assistant("b")], "s")

    assert words(journal.window("s", 0)) == [("user", "q"), ("assistant", "a\nb")]

    store.error = None
    journal.close()

    assert store.contents() == [("s_0", "Q: q\nA: a\nb")]


def test_at_most_a_thousand_exchanges_are_held_and_the_rest_is_counted(
    store: Store, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog_module, "MAX_HELD", 3)
    store.error = StoreUnavailable("no space")

    for i in range(5):
        journal.record([user(f"q{i}"), assistant("a")], "s")

    assert [d.question for d in journal.held()] == ["q2", "q3", "q4"]
    assert journal.health()["lost"] == 2


def test_a_document_that_no_store_takes_does_not_stop_those_behind_it(store: Store, journal: Journal) -> None:
    store.error = StoreUnavailable("no space")
    journal.record([user("poison"), assistant("a")], "s")
    store.error = TypeError("cannot bind")
    journal._backlog.flush()
    store.error = None

    journal.record([user("q"), assistant("a")], "s")

    assert [content for _, content in store.contents()] == ["Q: q\nA: a"]
    assert journal.health()["lost"] == 1


def test_a_forgotten_document_is_not_brought_back_by_a_later_piece(store: Store, journal: Journal) -> None:
    document = journal.record([user("secret"), assistant("a")], "s")[0]
    journal.ledger.delete([document.id])

    journal._backlog.extend(document, [assistant("b")])

    assert store.contents() == [("s_1", "Q: \nA: b")]


def test_what_is_held_is_written_when_the_journal_goes(store: Store) -> None:
    journal = store.journal()
    journal.record([user("q0"), assistant("a0")], "s")
    store.error = StoreLocked("held")
    journal.record([user("q"), assistant("a")], "s")
    store.error = None

    del journal
    gc.collect()

    assert [content for _, content in store.contents()] == ["Q: q0\nA: a0", "Q: q\nA: a"]


def test_a_failing_store_is_not_waited_for_by_every_thread(store: Store, journal: Journal) -> None:
    journal.record([user("q"), assistant("a")], "s")
    store.error = StoreLocked("held")

    started = time.monotonic()
    threads = [
        threading.Thread(target=journal.record, args=([user(f"q{i}"), assistant("a")], f"s{i}"))
        for i in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(journal.held()) == 16
    assert time.monotonic() - started < 5


# ------------------------------------------------------------------ many threads
def test_eight_threads_on_one_session_lose_nothing_and_keep_pairs(journal: Journal) -> None:
    def talk(number: int) -> None:
        for i in range(50):
            journal.record([user(f"q{number}-{i}"), assistant(f"a{number}-{i}")], "s")

    threads = [threading.Thread(target=talk, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    said = journal.window("s", 0)
    assert len(said) == 800
    for question, answer in zip(said[::2], said[1::2], strict=True):
        assert question.content[1:] == answer.content[1:]
    for number in range(8):
        own = [m.content for m in said[::2] if m.content.startswith(f"q{number}-")]
        assert own == [f"q{number}-{i}" for i in range(50)]


def test_a_forgotten_late_question_waits_only_for_so_many_sessions(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(8_100):
        journal.record([user("q")], f"s{i}")

    assert len(journal._open) == 8_000
