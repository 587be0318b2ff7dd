"""The ledger: what was recorded stays, numbers are never used again, forgetting leaves nothing."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, MultimodalAgentMessage, ToolCall

from ovos_memory.core.errors import DocumentGone, StoreLocked, StoreTooNew
from ovos_memory.core.ledger import Ledger, SqliteLedger
from ovos_memory.core.sqlite import Database, open_database
from ovos_memory.core.types import Document, Exchange

PLUGIN = "ovos-memory-plugin-test"
USER, ASSISTANT, TOOL = MessageRole.USER, MessageRole.ASSISTANT, MessageRole.TOOL
HARD_SESSIONS = [
    "a",
    "A",
    "a_1",
    "a_1_0",
    "",
    "_",
    "a\0",
    "\0",
    "caf\u00e9",
    "cafe\u0301",
    "\ud83d",
    "\ud83d\ude00",
    "\U0001f600",
    "%",
    "a%",
    " a",
    "' OR 1=1 --",
    "x" * 10_000,
]


def said(question: str, answer: str) -> Exchange:
    return Exchange(question, answer, (AgentMessage(USER, question), AgentMessage(ASSISTANT, answer)))


def with_tools() -> Exchange:
    call = ToolCall("c1", "weather", {"city": "Zürich", "days": [1, 2], "deep": {"a": None}})
    messages = (
        AgentMessage(USER, "how warm is it"),
        AgentMessage(ASSISTANT, "", tool_calls=[call]),
        AgentMessage(TOOL, "21 °C", tool_call_id="c1", name="weather"),
        AgentMessage(ASSISTANT, "It is 21"),
    )
    return Exchange("how warm is it", "It is 21", messages)


@pytest.fixture(params=["file", "memory"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    database = open_database(tmp_path / "m.db" if request.param == "file" else ":memory:", plugin=PLUGIN)
    yield database
    database.close()


@pytest.fixture
def ledger(database: Database) -> SqliteLedger:
    return SqliteLedger(database, prefix="t_")


def file_ledger(path: Path, **options: object) -> SqliteLedger:
    return SqliteLedger(open_database(path, plugin=PLUGIN), **options)  # type: ignore[arg-type]


def test_the_ledger_is_what_the_protocol_says(database: Database):
    ledger: Ledger = SqliteLedger(database)

    offered = {name for kind in Ledger.__mro__ for name in vars(kind) if not name.startswith("_")}
    assert offered
    assert all(callable(getattr(ledger, name)) for name in offered)


# ---------------------------------------------------------------------- recording
def test_a_document_comes_back_as_it_was_recorded(ledger: SqliteLedger):
    written = ledger.append("s", said("q", "a"), created_at=12.5, metadata={"k": [1, {"x": None}]})

    assert written.id == "s_0"
    assert written == Document(
        "s", 0, "q", "a", said("q", "a").messages, 12.5, None, {"k": [1, {"x": None}]}, 1, 1
    )
    assert ledger.get("s_0") == written


def test_tool_calls_come_back_exactly(ledger: SqliteLedger):
    ledger.append("s", with_tools(), created_at=1.0)

    found = ledger.get("s_0")
    assert found is not None
    assert found.messages == with_tools().messages
    assert [type(m) for m in found.messages] == [AgentMessage] * 4
    assert (found.question, found.answer) == ("how warm is it", "It is 21")


def test_messages_are_stored_only_where_the_two_texts_do_not_say_it_all(database: Database):
    ledger = SqliteLedger(database)
    ledger.append("s", said("q", "a"), created_at=1.0)
    ledger.append("s", Exchange("", "hello", (AgentMessage(ASSISTANT, "hello"),)), created_at=1.0)
    ledger.append("s", with_tools(), created_at=1.0)
    named = (AgentMessage(USER, "q", name="ann"), AgentMessage(ASSISTANT, "a"))
    ledger.append("s", Exchange("q", "a", named), created_at=1.0)

    with database.read() as connection:
        rows = connection.execute("SELECT messages IS NULL FROM documents ORDER BY row").fetchall()
    assert [row[0] for row in rows] == [1, 0, 0, 0]
    assert [d.messages for d in ledger.documents()] == [
        said("q", "a").messages,
        (AgentMessage(ASSISTANT, "hello"),),
        with_tools().messages,
        named,
    ]


def test_a_multimodal_message_is_reduced_to_its_text(ledger: SqliteLedger):
    picture = MultimodalAgentMessage(USER, "what is this", image_content=["aGk="])
    ledger.append(
        "s", Exchange("what is this", "a cat", (picture, AgentMessage(ASSISTANT, "a cat"))), created_at=1.0
    )

    found = ledger.get("s_0")
    assert found is not None
    assert found.messages == said("what is this", "a cat").messages


def test_documents_are_private_copies(ledger: SqliteLedger):
    ledger.append("s", with_tools(), created_at=1.0, metadata={"k": []})

    first = ledger.get("s_0")
    assert first is not None
    first.messages[1].tool_calls[0].arguments["city"] = "changed"
    first.metadata["k"].append(1)

    assert ledger.get("s_0") == Document(
        "s", 0, "how warm is it", "It is 21", with_tools().messages, 1.0, None, {"k": []}, 1, 1
    )


@pytest.mark.parametrize(
    "text", ["", "NUL\0inside", "half \ud83d", "é\u0301 \U0001f600", "{}'\";--", "x" * 300_000]
)
def test_any_text_is_stored(ledger: SqliteLedger, text: str):
    expected = text.replace("\ud83d", "\ufffd")
    call = Exchange(
        text, text, (AgentMessage(ASSISTANT, text, tool_calls=[ToolCall(text, text, {text: text})]),)
    )
    ledger.append("s", said(text, text), created_at=1.0)
    ledger.append("s", call, created_at=1.0, metadata={text: text})
    ledger.append_text("s", text, created_at=1.0)

    plain, tool, verbatim = ledger.tail("s", 3)
    assert (plain.question, plain.answer) == (expected, expected)
    assert tool.messages == call.messages
    assert tool.metadata == {text: text}
    assert (verbatim.text, verbatim.content, verbatim.messages) == (expected, expected, ())


def test_a_surrogate_pair_in_a_text_becomes_the_character_that_it_spells(ledger: SqliteLedger):
    ledger.append("s", said("\ud83d\ude00", "ok"), created_at=1.0)

    assert ledger.tail("s", 1)[0].question == "\U0001f600"


def test_sessions_never_blend(ledger: SqliteLedger):
    for round_ in range(2):
        for session in HARD_SESSIONS:
            written = ledger.append(session, said(f"q{round_} {session[:9]!a}", "a"), created_at=1.0)
            assert written.n == round_

    for session in HARD_SESSIONS:
        questions = [d.question for d in ledger.documents(session_id=session)]
        assert questions == [f"q{n} {session[:9]!a}" for n in range(2)]
        assert [d.session_id for d in ledger.tail(session, 9)] == [session] * 2
        assert ledger.count(session) == 2
        found = ledger.get(f"{session}_1")
        assert found is not None
        assert (found.session_id, found.n) == (session, 1)
    assert [s.session_id for s in ledger.sessions()] == HARD_SESSIONS
    assert len({d.id for d in ledger.documents()}) == ledger.count() == 2 * len(HARD_SESSIONS)


def test_documents_of_many_sessions_come_in_the_order_in_which_they_are_asked_for(ledger: SqliteLedger):
    for number in range(600):
        ledger.append(f"s{number % 7}", said(f"q{number}", "a"), created_at=1.0)
    ids = [f"s{number % 7}_{number // 7}" for number in reversed(range(600))]

    found = ledger.get_many([*ids, "s0_0", "s0_600"])

    assert [document.question for document in found] == [*(f"q{n}" for n in reversed(range(600))), "q0"]


@pytest.mark.parametrize(
    "identifier",
    ["", "s", "s_", "s_-1", "s_01", "s_1.0", "s_ 1", "s_\u0661", "s_" + "9" * 19, "s_" + "9" * 5000, "s_2"],
)
def test_what_is_no_id_finds_nothing(ledger: SqliteLedger, identifier: str):
    ledger.append("s", said("q", "a"), created_at=1.0)

    assert ledger.get(identifier) is None
    assert ledger.get_many([identifier, "s_0"]) == [ledger.get("s_0")]
    assert ledger.delete([identifier]) == []


def test_asking_for_an_unknown_session_leaves_nothing(ledger: SqliteLedger):
    for n in range(100):
        assert ledger.newest(f"s{n}") is None
        assert ledger.tail(f"s{n}", 5) == []
        assert ledger.count(f"s{n}") == 0
        assert ledger.delete_session(f"s{n}") == []

    with ledger.database.read() as connection:
        for table in ("sessions", "counters", "documents", "work", "consumers"):
            assert connection.execute(f"SELECT count(*) FROM t_{table}").fetchone()[0] == 0


def test_two_ledgers_of_one_file_do_not_see_each_other(tmp_path: Path):
    database = open_database(tmp_path / "m.db", plugin=PLUGIN)
    one, two = SqliteLedger(database, prefix="one_"), SqliteLedger(database, prefix="two_")
    one.append("s", said("q", "1"), created_at=1.0)
    two.append("s", said("q", "2"), created_at=1.0)

    assert [d.answer for d in one.documents()] == ["1"]
    assert [d.answer for d in two.documents()] == ["2"]


@pytest.mark.parametrize("prefix", ["1", "a-b", "a b", "a;", 'a"', "é"])
def test_a_prefix_that_is_no_name_is_refused(database: Database, prefix: str):
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        SqliteLedger(database, prefix=prefix)


def test_many_documents_can_be_one_transaction(ledger: SqliteLedger):
    with pytest.raises(ZeroDivisionError), ledger.database.write() as connection:
        for n in range(3):
            ledger.append("s", said(f"q{n}", "a"), created_at=1.0, connection=connection)
        raise ZeroDivisionError
    assert ledger.count() == 0

    with ledger.database.write() as connection:
        for n in range(3):
            ledger.append("s", said(f"q{n}", "a"), created_at=1.0, connection=connection)
    assert [d.id for d in ledger.tail("s", 9)] == ["s_0", "s_1", "s_2"]


# ---------------------------------------------------------------------- numbers
def test_a_number_is_never_used_again(tmp_path: Path):
    """Whatever is deleted: the newest, all, the whole session; across restarts as well."""
    ledger = file_ledger(tmp_path / "m.db")
    for n in range(3):
        assert ledger.append("s", said("q", "a"), created_at=1.0).n == n
    ledger.delete(["s_2"])
    assert ledger.append("s", said("q", "a"), created_at=1.0).n == 3
    ledger.delete_session("s")
    ledger.close()

    ledger = file_ledger(tmp_path / "m.db")
    assert ledger.append("s", said("q", "a"), created_at=1.0).n == 4
    ledger.delete(["s_4"])
    assert ledger.append("s", said("q", "a"), created_at=1.0).n == 5
    assert ledger.append("other", said("q", "a"), created_at=1.0).n == 0


def test_rows_and_changes_are_never_used_again(ledger: SqliteLedger):
    seen: list[int] = []
    for n in range(6):
        document = ledger.append("s", said("q", "a"), created_at=1.0)
        seen += [document.row, document.change]
        ledger.delete([document.id]) if n % 2 else ledger.delete_session("s")

    rows, changes = seen[::2], seen[1::2]
    assert rows == sorted(set(rows))
    assert changes == sorted(set(changes))


def test_session_numbers_are_never_used_again(ledger: SqliteLedger):
    ledger.append("a", said("q", "a"), created_at=1.0)
    first = ledger.session_number("a")
    ledger.delete_session("a")
    ledger.append("b", said("q", "a"), created_at=1.0)

    assert first is not None
    assert ledger.session_number("a") is None
    assert ledger.session_number("b") != first


def test_a_clock_that_is_set_back_changes_no_order(ledger: SqliteLedger):
    for n, moment in enumerate([100.0, 50.0, 75.0]):
        ledger.append("s", said(f"q{n}", "a"), created_at=moment)

    assert [d.question for d in ledger.tail("s", 2)] == ["q1", "q2"]
    assert [(d.n, d.created_at) for d in ledger.documents()] == [(0, 100.0), (1, 50.0), (2, 75.0)]


# ---------------------------------------------------------------------- looking
def filled(ledger: SqliteLedger, sessions: int = 3, each: int = 4) -> None:
    for n in range(each):
        for s in range(sessions):
            ledger.append(f"s{s}", said(f"question {n} of {s}", f"answer {n}"), created_at=10.0 * n + s)


def test_tail_and_newest_are_the_end_of_the_session_oldest_first(ledger: SqliteLedger):
    filled(ledger)

    assert [d.id for d in ledger.tail("s1", 3)] == ["s1_1", "s1_2", "s1_3"]
    assert [d.id for d in ledger.tail("s1", 99)] == ["s1_0", "s1_1", "s1_2", "s1_3"]
    assert ledger.tail("s1", 0) == []
    newest = ledger.newest("s1")
    assert newest is not None
    assert newest.id == "s1_3"


def test_documents_come_in_order_of_arrival_and_are_filtered(ledger: SqliteLedger):
    filled(ledger)

    assert [d.id for d in ledger.documents()] == [f"s{s}_{n}" for n in range(4) for s in range(3)]
    assert [d.id for d in ledger.documents(after=11.0, before=21.0)] == ["s1_1", "s2_1", "s0_2"]
    assert [d.id for d in ledger.documents(session_id="s2", before=20.0)] == ["s2_0", "s2_1"]
    assert [d.id for d in ledger.documents(limit=2)] == ["s0_0", "s1_0"]
    assert [d.id for d in ledger.documents(limit=0)] == []
    rows = [d.row for d in ledger.documents()]
    assert [d.row for d in ledger.documents(start=rows[5])] == rows[5:]
    assert [d.n for d in ledger.documents(session_id="s1", start=rows[5])] == [2, 3]


def test_a_phrase_is_found_in_any_case_and_unicode_form(ledger: SqliteLedger):
    ledger.append("s", said("Ich war im CAFÉ", "schön"), created_at=1.0)
    ledger.append("s", said("no", "in a cafe\u0301, too"), created_at=1.0)
    ledger.append_text("s", "Café Müller", created_at=1.0)
    ledger.append("s", said("%_%", "tea"), created_at=1.0)

    assert [d.n for d in ledger.documents(phrase="café")] == [0, 1, 2]
    assert [d.n for d in ledger.documents(phrase="café", limit=2)] == [0, 1]
    assert [d.n for d in ledger.documents(phrase="%_%")] == [3]
    assert [d.n for d in ledger.documents(phrase="coffee")] == []


@pytest.mark.parametrize("phrase", ["", "ab", "é\u0301"[:1]])
def test_a_phrase_that_would_choose_too_much_is_refused_at_once(ledger: SqliteLedger, phrase: str):
    with pytest.raises(ValueError, match="at least 3 characters"):
        ledger.documents(phrase=phrase)


def test_listing_goes_on_while_others_write_and_delete(ledger: SqliteLedger):
    with ledger.database.write() as connection:
        for n in range(700):
            ledger.append("s", said(f"q{n}", "a"), created_at=1.0, connection=connection)

    for session in (None, "s"):
        seen = []
        for document in ledger.documents(session_id=session):
            if document.n == 300:
                ledger.delete(["s_650"])
                ledger.append("s", said("late", "a"), created_at=1.0)
            seen.append(document.n)
        assert seen[:650] == list(range(650))
        assert 650 not in seen
        assert seen == sorted(set(seen))


def test_documents_are_found_by_row_in_the_order_asked_for(ledger: SqliteLedger):
    with ledger.database.write() as connection:
        for n in range(600):
            ledger.append("s", said(f"q{n}", "a"), created_at=1.0, connection=connection)

    found = ledger.by_rows([500, 3, 99_999, *range(100, 400)])

    assert list(found) == [500, 3, *range(100, 400)]
    assert found[500].n == 499


def test_sessions_tell_how_much_and_from_when(ledger: SqliteLedger):
    filled(ledger, sessions=2)
    ledger.delete(["s0_0", "s0_3"])

    assert [(s.session_id, s.documents, s.first_at, s.last_at) for s in ledger.sessions()] == [
        ("s0", 2, 10.0, 20.0),
        ("s1", 4, 1.0, 31.0),
    ]
    assert (ledger.count(), ledger.count("s0"), ledger.count("nobody")) == (6, 2, 0)


# ---------------------------------------------------------------------- growing, correcting
def test_a_late_piece_makes_the_same_document_longer(ledger: SqliteLedger):
    first = ledger.append("s", said("q", "noted"), created_at=7.0, metadata={"k": 1})

    longer = ledger.extend(first, said("q", "noted\nanything else?"))

    assert (longer.id, longer.row, longer.created_at, longer.metadata) == ("s_0", first.row, 7.0, {"k": 1})
    assert longer.answer == "noted\nanything else?"
    assert longer.change > first.change
    assert ledger.get("s_0") == longer
    assert ledger.count("s") == 1


def test_a_document_that_was_forgotten_cannot_grow(ledger: SqliteLedger):
    first = ledger.append("s", said("q", "a"), created_at=1.0)
    ledger.delete_session("s")

    with pytest.raises(DocumentGone):
        ledger.extend(first, said("q", "a\nb"))

    assert ledger.count() == 0


def test_a_document_that_changed_meanwhile_is_not_overwritten(ledger: SqliteLedger):
    first = ledger.append("s", said("q", "a"), created_at=1.0)
    edited = ledger.edit("s_0", answer="corrected")

    with pytest.raises(DocumentGone):
        ledger.extend(first, said("q", "a\nb"))

    assert ledger.get("s_0") == edited


def test_an_edit_changes_texts_and_messages_and_keeps_tool_calls(ledger: SqliteLedger):
    ledger.append("s", with_tools(), created_at=1.0)

    edited = ledger.edit("s_0", question="how cold", answer="It is 3")

    assert edited == ledger.get("s_0")
    assert (edited.question, edited.answer) == ("how cold", "It is 3")
    assert [(m.role.value, m.content) for m in edited.messages] == [
        ("user", "how cold"),
        ("assistant", ""),
        ("tool", "21 °C"),
        ("assistant", "It is 3"),
    ]
    assert edited.messages[1].tool_calls == with_tools().messages[1].tool_calls


def test_an_edit_leaves_what_is_not_named(ledger: SqliteLedger):
    ledger.append("s", said("q", "a"), created_at=1.0)
    ledger.append("s", Exchange("", "hello", (AgentMessage(ASSISTANT, "hello"),)), created_at=1.0)

    assert ledger.edit("s_0", answer="b").messages == said("q", "b").messages
    assert ledger.edit("s_0", question="").messages == said("", "b").messages
    assert ledger.edit("s_1", question="hi").messages == said("hi", "hello").messages


def test_a_verbatim_text_is_edited_as_a_text(ledger: SqliteLedger):
    ledger.append_text("s", "old", created_at=1.0, metadata={"k": 1})
    ledger.append("s", said("q", "a"), created_at=1.0)

    edited = ledger.edit("s_0", text="new")

    assert (edited.text, edited.content, edited.metadata) == ("new", "new", {"k": 1})
    assert ledger.get("s_0") == edited
    for identifier, wrong in (("s_0", {"answer": "x"}), ("s_1", {"text": "x"})):
        with pytest.raises(ValueError, match="an exchange has a question and an answer"):
            ledger.edit(identifier, **wrong)
    with pytest.raises(DocumentGone):
        ledger.edit("s_9", question="x")


# ---------------------------------------------------------------------- forgetting
def test_deleting_returns_what_there_was(ledger: SqliteLedger):
    filled(ledger, sessions=2)

    gone = ledger.delete(["s0_1", "s1_0", "s0_1", "s9_9"])

    assert [d.id for d in gone] == ["s0_1", "s1_0"]
    assert [d.id for d in ledger.documents()] == ["s0_0", "s1_1", "s0_2", "s1_2", "s0_3", "s1_3"]
    assert [d.id for d in ledger.delete_session("s0")] == ["s0_0", "s0_2", "s0_3"]
    assert [s.session_id for s in ledger.sessions()] == ["s1"]
    assert ledger.count() == 3


def test_a_forgotten_session_leaves_no_trace_of_its_name_or_words(tmp_path: Path):
    ledger = file_ledger(tmp_path / "m.db")
    ledger.append("keep", said("q", "a"), created_at=1.0)
    for n in range(50):
        ledger.append("Ann-Secret", said(f"my pin is 4512 {n}", "noted " * 50), created_at=1.0)
    ledger.claim("vectors", "f", limit=99, lease_s=9, owner="o", now=1.0)

    ledger.delete_session("Ann-Secret")
    ledger.database.scrub(is_thorough=True)

    data = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert b"Secret" not in data
    assert b"4512" not in data
    assert [d.id for d in ledger.documents()] == ["keep_0"]


class Index:
    def __init__(self) -> None:
        self.gone: list[tuple[str, str]] = []

    def removed(self, connection: sqlite3.Connection, documents: Sequence[Document]) -> None:
        assert connection.in_transaction
        self.gone += [(d.id, d.answer) for d in documents]


def test_an_attached_index_is_told_of_what_goes_as_it_was(database: Database):
    index = Index()
    ledger = SqliteLedger(database, index=index)
    first = ledger.append("s", said("q", "a0"), created_at=1.0)
    for n in range(1, 4):
        ledger.append("s", said("q", f"a{n}"), created_at=1.0)

    ledger.extend(first, said("q", "a0 longer"))
    ledger.edit("s_1", answer="edited")
    ledger.delete(["s_1"])
    ledger.delete_session("s")

    assert index.gone == [
        ("s_0", "a0"), ("s_1", "a1"), ("s_1", "edited"), ("s_0", "a0 longer"), ("s_2", "a2"), ("s_3", "a3"),
    ]  # fmt: skip


def test_a_deletion_that_the_index_refuses_does_not_happen(database: Database):
    class Refusing:
        def removed(self, connection: sqlite3.Connection, documents: Sequence[Document]) -> None:
            raise sqlite3.OperationalError("no such table: words")

    ledger = SqliteLedger(database, index=Refusing())
    ledger.append("s", said("q", "a"), created_at=1.0)

    with pytest.raises(sqlite3.OperationalError):
        ledger.delete(["s_0"])

    assert ledger.count() == 1


# ---------------------------------------------------------------------- notes
def test_failures_are_counted_where_other_processes_see_them(tmp_path: Path):
    ledger = file_ledger(tmp_path / "m.db")
    ledger.note_failure("search", "StoreLocked", 5.0)
    ledger.note_failure("search", "StoreDamaged", 6.0)
    ledger.note_failure("write", "OSError", 7.0)

    assert file_ledger(tmp_path / "m.db").failures() == {
        "search": {"failures": 2, "last_error": "StoreDamaged", "last_at": 6.0},
        "write": {"failures": 1, "last_error": "OSError", "last_at": 7.0},
    }


def test_notes_are_kept(ledger: SqliteLedger):
    assert ledger.meta_get("origin") is None

    ledger.meta_set("origin", "1")
    ledger.meta_set("origin", "2")

    assert ledger.meta_get("origin") == "2"


# ---------------------------------------------------------------------- threads and processes
def test_threads_lose_nothing_and_keep_each_sessions_order(ledger: SqliteLedger):
    failures = []

    def work(session: str, name: int) -> None:
        try:
            for n in range(20):
                ledger.append(session, said(f"{name}-{n}", "a"), created_at=1.0, wait_s=30)
        except BaseException as error:
            failures.append(error)

    jobs = [("shared", name) for name in range(8)] + [(f"own{name}", name) for name in range(16)]
    threads = [threading.Thread(target=work, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    shared = [d.question for d in ledger.documents(session_id="shared")]
    assert [d.n for d in ledger.documents(session_id="shared")] == list(range(160))
    for name in range(8):
        assert [q for q in shared if q.startswith(f"{name}-")] == [f"{name}-{n}" for n in range(20)]
    for name in range(16):
        assert [d.question for d in ledger.documents(session_id=f"own{name}")] == [
            f"{name}-{n}" for n in range(20)
        ]


def test_two_processes_append_four_hundred_documents(tmp_path: Path):
    file_ledger(tmp_path / "m.db").close()
    children = []
    for name in "ab":
        child = os.fork()
        if child == 0:
            try:
                mine = file_ledger(tmp_path / "m.db")
                for n in range(200):
                    mine.append("default", said(f"{name}{n}", "a"), created_at=1.0, wait_s=30)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

    documents = list(file_ledger(tmp_path / "m.db").documents())
    assert statuses == [0, 0]
    assert [d.n for d in documents] == list(range(400))
    for name in "ab":
        assert [d.question for d in documents if d.question[0] == name] == [f"{name}{n}" for n in range(200)]


def test_a_killed_process_costs_no_document_that_it_had_been_promised(tmp_path: Path):
    chance = random.Random(5)
    promised: list[str] = []
    for round_ in range(30):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            mine = file_ledger(tmp_path / "m.db")
            for n in range(1_000_000):
                document = mine.append("s", said(f"{round_}-{n}", "a" * 2000), created_at=1.0)
                os.write(writing, f"{document.id} {document.question}\n".encode())
                if n % 3 == 2:
                    mine.edit(document.id, answer="edited")
        os.close(writing)
        with os.fdopen(reading) as told:
            promised += [told.readline().strip() for _ in range(chance.randrange(1, 12))]
            os.kill(child, 9)
            os.waitpid(child, 0)
            promised += [line.strip() for line in told if line.endswith("\n")]

    ledger = file_ledger(tmp_path / "m.db")
    found = [f"{d.id} {d.question}" for d in ledger.documents()]
    with ledger.database.read() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert [line for line in promised if line not in set(found)] == []
    assert [d.n for d in ledger.documents()] == list(range(len(found)))
    assert ledger.count() == ledger.count("s") == len(found)


def test_a_newer_ledger_stays_untouched(tmp_path: Path):
    ledger = file_ledger(tmp_path / "m.db")
    ledger.append("s", said("q", "a"), created_at=1.0)
    with ledger.database.write() as connection:
        connection.execute("UPDATE ovos_memory_components SET steps = 9 WHERE name = 'ledger:'")
    ledger.close()
    before = (tmp_path / "m.db").read_bytes()

    with pytest.raises(StoreTooNew):
        file_ledger(tmp_path / "m.db")

    assert (tmp_path / "m.db").read_bytes() == before


def test_a_ledger_goes_on_in_a_new_file_when_its_own_is_damaged(tmp_path: Path):
    ledger = file_ledger(tmp_path / "m.db", prefix="x_")
    ledger.append("s", said("q", "a"), created_at=1.0)
    ledger.close()
    (tmp_path / "m.db").write_bytes(b"not a database at all" * 50)

    assert ledger.append("s", said("q", "b"), created_at=1.0).n == 0
    assert [d.answer for d in ledger.documents()] == ["b"]


def test_an_append_waits_for_a_bounded_time(ledger: SqliteLedger):
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with ledger.database.write():
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    with pytest.raises(StoreLocked):
        ledger.append("s", said("q", "a"), created_at=1.0, wait_s=0.02)
    done.set()
    thread.join()


# ---------------------------------------------------------------------- cost
def plans(ledger: SqliteLedger, work: str) -> list[str]:
    """Return how SQLite finds its rows in all statements that a call runs."""
    statements: list[str] = []
    found = []
    with ledger.database.write() as connection:
        connection.set_trace_callback(statements.append)
        try:
            exec(work, {"ledger": ledger, "connection": connection, "said": said})
        finally:
            connection.set_trace_callback(None)
        for statement in statements:
            if statement.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE"):
                found += [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    return found


@pytest.mark.parametrize(
    "work",
    [
        "ledger.append('s', said('q', 'a'), created_at=1.0, connection=connection)",
        "ledger.append('new', said('q', 'a'), created_at=1.0, connection=connection)",
        "ledger.tail('s', 10, connection=connection)",
        "ledger.newest('s', connection=connection)",
        "ledger.get('s_3', connection=connection)",
        "ledger.by_rows([1, 2, 3], connection=connection)",
        "ledger.changed(3, 10, connection=connection)",
        "ledger.last_change(connection=connection)",
        "ledger.count(connection=connection)",
        "ledger.count('s', connection=connection)",
        "ledger.extend(ledger.newest('s', connection=connection), said('q', 'b'), connection=connection)",
        "ledger.delete(['s_1'], connection=connection)",
    ],
)
def test_no_call_of_a_turn_reads_more_than_it_needs(tmp_path: Path, work: str):
    ledger = file_ledger(tmp_path / "m.db")
    filled(ledger)
    ledger.append("s", said("q", "a"), created_at=1.0)

    found = plans(ledger, work)

    scans = [
        line for line in found if line.startswith("SCAN") and "clock" not in line and "consumers" not in line
    ]
    sorts = [line for line in found if "TEMP B-TREE" in line]
    assert found
    assert (scans, sorts) == ([], [])
