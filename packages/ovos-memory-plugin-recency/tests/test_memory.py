"""The recency memory: window, age, file."""

import copy
import json
import os
import stat
import subprocess
import sys
import threading

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.recency import RecencyMemory

S, U, A, T = (
    (lambda text, role=role, **more: AgentMessage(role, text, **more))
    for role in (MessageRole.SYSTEM, MessageRole.USER, MessageRole.ASSISTANT, MessageRole.TOOL)
)
KINDS = [None, "turns.json", "turns.db"]


class Clock:
    """A clock that a test moves."""

    def __init__(self, now=1_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=KINDS, ids=["ram", "json", "sqlite"])
def remember(request, tmp_path, clock):
    """Return memories on one path (each on its own RAM), closed in the end."""
    made = []

    def make(**config):
        if request.param is not None:
            config["db_path"] = str(tmp_path / "deep" / request.param)
        made.append(RecencyMemory(config, clock=clock))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.fixture(params=KINDS[1:], ids=["json", "sqlite"])
def path(request, tmp_path):
    return tmp_path / request.param


def reopened(path, **config):
    return RecencyMemory({"db_path": str(path), **config})


# ---------------------------------------------------------------------- window
def test_a_context_is_prompt_history_and_utterance(remember):
    memory = remember(system_prompt="Be kind.")
    memory.update_history([U("hello"), A("hi")], "s")

    context = memory.build_conversation_context("  what? ", "s")

    assert context == [S("Be kind."), U("hello"), A("hi"), U("what?")]


@pytest.mark.parametrize(("limit", "kept"), [(0, 24), (1, 1), (3, 3), (10, 10), (100, 24)])
def test_the_limit_counts_messages_and_zero_keeps_all(remember, limit, kept):
    memory = remember(max_history=limit)
    turns = [message for n in range(12) for message in (U(f"q{n}"), A(f"a{n}"))]
    for n in range(12):
        memory.update_history(turns[2 * n : 2 * n + 2], "s")

    assert memory.get_history("s") == turns[-kept:]


def test_messages_leave_by_their_age(remember, clock):
    memory = remember(max_age=10.5)
    memory.update_history([U("a"), A("b")], "s")
    clock.now += 6
    memory.update_history([U("c"), A("d")], "s")

    clock.now += 4.5
    assert memory.get_history("s") == [U("a"), A("b"), U("c"), A("d")]
    clock.now += 0.5
    assert memory.get_history("s") == [U("c"), A("d")]
    clock.now += 10
    assert memory.get_history("s") == []
    assert memory.build_conversation_context("e", "s") == [U("e")]


def test_a_clock_that_goes_backwards_hides_nothing(remember, clock):
    memory = remember(max_age=10)
    memory.update_history([U("a"), A("b")], "s")

    clock.now -= 500_000
    memory.update_history([U("c"), A("d")], "s")

    assert len(memory.get_history("s")) == 4


def test_questions_and_answers_in_pieces_follow_the_turn_rules(remember):
    memory = remember()
    for message in (U("turn on the"), U("my code is 4512"), A("noted"), A("anything else?")):
        memory.update_history([message], "s")

    assert memory.get_history("s") == [U("my code is 4512"), A("noted\nanything else?")]


@pytest.mark.parametrize("limit", range(1, 8))
def test_the_limit_never_tears_a_tool_call_from_its_results(remember, limit):
    memory = remember(max_history=limit)
    calls = [ToolCall("c1", "weather", {"city": "Rome"}), ToolCall("c2", "weather", {"city": "Oslo"})]
    turn = [
        U("weather?"),
        A("", tool_calls=calls),
        T("21", tool_call_id="c1", name="weather"),
        T("4", tool_call_id="c2", name="weather"),
        A("21 and 4"),
    ]
    memory.update_history([*turn, U("thanks"), A("welcome")], "s")

    for messages in (memory.get_history("s"), memory.build_conversation_context("next", "s")):
        called = [call.id for message in messages for call in message.tool_calls or ()]
        answered = [m.tool_call_id for m in messages if m.role is MessageRole.TOOL]
        assert called == answered
    assert memory.build_conversation_context("next", "s")[0].role is MessageRole.USER


def test_sessions_are_opaque_and_kept_apart(remember):
    memory = remember()
    names = ["", " ", "s", "S", "s_1", "nul\0", "half\ud83d", "é", "e\u0301", "default"]
    for name in names:
        memory.update_history([U(ascii(name)), A("ok")], name)

    for name in names:
        assert memory.get_history(name) == [U(ascii(name)), A("ok")]
    assert memory.get_history(None) == memory.get_history("default")


def test_what_cannot_be_written_is_cleaned(remember):
    memory = remember()
    memory.update_history([U("half \ud83d and \0"), A(None)], "s")

    assert memory.get_history("s") == [U("half \ufffd and "), A("")]


@pytest.mark.parametrize("nothing", [[], None])
def test_no_messages_change_nothing(remember, nothing):
    memory = remember()

    memory.update_history(nothing, "s")
    memory.update_history([U("a"), A("b")], "s")
    memory.update_history(nothing, "s")

    assert memory.get_history("s") == [U("a"), A("b")]


def test_the_callers_messages_stay_and_ours_are_copies(remember):
    memory = remember()
    mine = [
        U("weather?"),
        A("", tool_calls=[ToolCall("c", "weather", {"city": ["Rome"]})]),
        T("21", tool_call_id="c"),
        A("21"),
    ]
    before = copy.deepcopy(mine)
    memory.update_history(mine, "s")
    expected = memory.build_conversation_context("x", "s")
    assert mine == before

    for got in (mine, memory.get_history("s"), memory.build_conversation_context("x", "s")):
        got[0].content = "changed"
        got[1].tool_calls[0].arguments["city"].append("Oslo")
        got.insert(0, S("engine's prompt"))

    assert memory.build_conversation_context("x", "s") == expected


def test_threads_on_one_session_lose_nothing_and_keep_pairs_together(remember):
    memory = remember(max_history=0)
    start, failures = threading.Barrier(8), []

    def talk(name):
        start.wait()
        try:
            for n in range(10):
                memory.update_history([U(f"{name}.{n}"), A(f"to {name}.{n}")], "s")
                memory.get_history("s")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    said = [message.content for message in memory.get_history("s")]
    assert (failures, len(said)) == ([], 160)
    assert all(answer == f"to {question}" for question, answer in zip(said[::2], said[1::2], strict=True))


def test_reading_allocates_nothing_and_ram_is_bounded():
    memory = RecencyMemory()
    for n in range(9_000):
        memory.build_conversation_context("x", f"read {n}")
    assert memory._state.sessions() == []

    for n in range(8_010):
        memory.update_history([U("a"), A("b")], f"s{n}")

    assert len(memory._state.sessions()) == 8_000
    assert memory.get_history("s8009") and not memory.get_history("s0")


# ---------------------------------------------------------------------- file
def test_history_survives_a_restart_tool_calls_included(path):
    said = [
        U("weather?"),
        A("", tool_calls=[ToolCall("c1", "weather", {"city": ["Rome"]})]),
        T("21", tool_call_id="c1", name="weather"),
        A("21 degrees"),
    ]
    first = reopened(path)
    first.update_history(said, "s")
    first.close()

    assert reopened(path).get_history("s") == said


def test_ages_count_across_a_restart(path):
    RecencyMemory({"db_path": str(path)}, clock=Clock(100)).update_history([U("a"), A("b")], "s")

    assert len(RecencyMemory({"db_path": str(path), "max_age": 10}, clock=Clock(110)).get_history("s")) == 2
    assert RecencyMemory({"db_path": str(path), "max_age": 10}, clock=Clock(111)).get_history("s") == []


def test_what_left_the_window_is_not_on_disk(path):
    memory = reopened(path, max_history=2)
    memory.update_history([U("my old secret"), A("ok")], "s")
    memory.update_history([U("c"), A("d")], "s")
    memory.close()

    assert b"secret" not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_a_wider_window_after_a_restart_shows_what_was_kept(path):
    reopened(path, max_history=2).update_history([U("a"), A("b"), U("c"), A("d")], "s")

    assert reopened(path, max_history=10).get_history("s") == [U("c"), A("d")]


@pytest.mark.parametrize(
    ("name", "backend", "is_sqlite"),
    [
        ("t.db", None, True),
        ("t.json", None, False),
        ("t", None, False),
        ("t", "sqlite", True),
        ("t.db", "json", False),
    ],
)
def test_the_ending_chooses_the_backend_unless_it_is_set(tmp_path, name, backend, is_sqlite):
    memory = RecencyMemory({"db_path": str(tmp_path / name), "backend": backend})
    memory.update_history([U("a"), A("b")], "s")
    memory.close()

    assert (tmp_path / name).read_bytes().startswith(b"SQLite format 3") is is_sqlite


@pytest.mark.parametrize("given", ["~/x/turns.json", "$HOME/x/turns.json", "with space/ümlaut.json"])
def test_a_path_never_lands_in_the_working_directory(tmp_path, monkeypatch, given):
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.chdir(work)

    RecencyMemory({"db_path": given}).update_history([U("a"), A("b")], "s")

    expected = home / "x" / "turns.json" if "x/" in given else home / "data" / "with space" / "ümlaut.json"
    assert expected.exists()
    assert list(work.iterdir()) == []


def test_memory_as_a_path_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory = RecencyMemory({"db_path": ":memory:"})
    memory.update_history([U("a"), A("b")], "s")

    assert memory.get_history("s") == [U("a"), A("b")]
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_private(path):
    memory = reopened(path.parent / "deep" / path.name)
    memory.update_history([U("a"), A("b")], "s")

    assert stat.S_IMODE(os.stat(path.parent / "deep").st_mode) == 0o700
    assert stat.S_IMODE(os.stat(path.parent / "deep" / path.name).st_mode) == 0o600


def test_a_path_that_cannot_be_used_loses_no_conversation(tmp_path):
    (tmp_path / "file").write_text("in the way")
    memory = RecencyMemory({"db_path": str(tmp_path / "file" / "turns.json")})

    memory.update_history([U("a"), A("b")], "s")

    assert memory.build_conversation_context("c", "s") == [U("a"), A("b"), U("c")]
    assert memory.health()["held"] == 1


def test_what_was_held_is_written_once_the_path_recovers(tmp_path):
    blocker, path = tmp_path / "dir", tmp_path / "dir" / "turns.json"
    blocker.write_text("in the way")
    memory = reopened(path)
    memory.update_history([U("a"), A("b")], "s")

    blocker.unlink()
    memory.update_history([U("c"), A("d")], "s")
    memory.close()

    assert reopened(path).get_history("s") == [U("a"), A("b"), U("c"), A("d")]


def test_a_damaged_file_is_set_aside(path):
    path.write_bytes(b"not what it was\0" * 100)

    memory = reopened(path)
    memory.update_history([U("a"), A("b")], "s")
    memory.close()

    assert reopened(path).get_history("s") == [U("a"), A("b")]
    assert any(".corrupt-" in file.name for file in path.parent.iterdir())


def test_a_1x_file_is_taken_over_and_a_copy_stays(tmp_path):
    path = tmp_path / "recency.json"
    old = {
        "kitchen": {
            "buffer": [
                {"ts": 1.0, "role": "user", "content": "hello"},
                {"ts": 2.0, "role": "assistant", "content": "hi"},
            ]
        }
    }
    path.write_text(json.dumps(old), encoding="utf-8")

    memory = reopened(path)
    assert memory.get_history("kitchen") == [U("hello"), A("hi")]
    memory.update_history([U("how are you?"), A("fine")], "kitchen")
    memory.close()

    assert len(reopened(path).get_history("kitchen")) == 4
    assert json.loads((tmp_path / "recency.json.1x.bak").read_text(encoding="utf-8")) == old


def test_two_memories_on_one_file_see_each_other(path):
    one, other = reopened(path), reopened(path)
    one.update_history([U("a"), A("b")], "s")
    other.update_history([U("c"), A("d")], "s")
    one.update_history([U("e"), A("f")], "s")

    assert [m.content for m in other.get_history("s")] == list("abcdef")


WRITER = """
import sys
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole
from ovos_memory.recency import RecencyMemory
path, name = sys.argv[1:]
memory = RecencyMemory({"db_path": path, "max_history": 0})
for n in range(40):
    turn = [AgentMessage(MessageRole.USER, f"{name}.{n}"), AgentMessage(MessageRole.ASSISTANT, "ok")]
    memory.update_history(turn, f"{name} {n}")
    memory.update_history(turn, "shared")
memory.close()
"""


def test_two_processes_on_one_file_lose_nothing(path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("a", "b")]

    assert [writer.wait(120) for writer in writers] == [0, 0]

    memory = reopened(path, max_history=0)
    for name in ("a", "b"):
        for n in range(40):
            assert memory.get_history(f"{name} {n}")[0] == U(f"{name}.{n}")
    shared = [m.content for m in memory.get_history("shared") if m.role is MessageRole.USER]
    assert sorted(shared) == sorted(f"{name}.{n}" for name in ("a", "b") for n in range(40))


def test_the_answer_goes_with_a_question_that_another_memory_forgot():
    from ovos_memory.core.management_types import Trace

    memory = RecencyMemory({}, clock=lambda: 1_000.0)
    for question, answer in (("tea?", "noted"), ("my code is 4512", "noted"), ("milk?", "noted")):
        memory.update_history([U(question), A(answer)], "s")

    memory.forget(query="4512")
    assert memory.forget_related([Trace("s", "", "my code is 4512", "noted", created_at=1_000.5)]).total == 1
    assert [m.content for m in memory.get_history("s")] == ["tea?", "noted", "milk?", "noted"]
    assert memory.forget_related([Trace("s", "", "milk?", "noted", created_at=1_000.5)]).total == 2
