"""The rules of the short-term memory."""

import copy
import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.short_term import BasicShortTermMemory
from ovos_memory.short_term import memory as memory_module

S, U, A, T = (
    (lambda text, role=role, **more: AgentMessage(role, text, **more))
    for role in (MessageRole.SYSTEM, MessageRole.USER, MessageRole.ASSISTANT, MessageRole.TOOL)
)


def tool_turn(number):
    call = ToolCall(f"c{number}", "weather", {"city": ["Rome"]})
    return [
        U("weather?"),
        A("", tool_calls=[call]),
        T("21", tool_call_id=call.id, name="weather"),
        A("21 degrees"),
    ]


def test_the_context_of_the_documentation():
    memory = BasicShortTermMemory({"system_prompt": "You are a helpful assistant."})
    memory.update_history([U("what is 2+2?"), A("4")], "sess-123")

    assert memory.build_conversation_context("what is the capital of France?", "sess-123") == [
        S("You are a helpful assistant."),
        U("what is 2+2?"),
        A("4"),
        U("what is the capital of France?"),
    ]


def test_a_question_without_an_answer_is_dropped_by_the_next():
    memory = BasicShortTermMemory()
    memory.update_history([U("turn on the")], "s")
    memory.update_history([U("my code is 4512")], "s")
    memory.update_history([A("noted")], "s")

    assert memory.get_history("s") == [U("my code is 4512"), A("noted")]


def test_an_unanswered_question_is_no_part_of_the_context():
    memory = BasicShortTermMemory()
    memory.update_history([U("a"), A("b"), U("c")], "s")

    assert memory.get_history("s")[-1] == U("c")
    assert memory.build_conversation_context("d", "s") == [U("a"), A("b"), U("d")]


def test_an_answer_in_pieces_is_one_message():
    memory = BasicShortTermMemory()
    memory.update_history([U("a"), A("b")], "s")
    memory.update_history([A("c")], "s")

    assert memory.get_history("s") == [U("a"), A("b\nc")]


@pytest.mark.parametrize(("limit", "kept"), [(0, 12), (1, 1), (2, 2), (5, 5), (100, 12)])
def test_the_limit_counts_messages_and_zero_keeps_all(limit, kept):
    memory = BasicShortTermMemory({"max_history": limit})
    turns = [message for n in range(6) for message in (U(f"q{n}"), A(f"a{n}"))]

    for n in range(6):
        memory.update_history(turns[2 * n : 2 * n + 2], "s")

    assert memory.get_history("s") == turns[-kept:]


def test_the_context_never_starts_with_an_answer_that_lost_its_question():
    memory = BasicShortTermMemory({"max_history": 3})
    memory.update_history([U("a"), A("b"), U("c"), A("d")], "s")

    assert memory.build_conversation_context("e", "s") == [U("c"), A("d"), U("e")]


@pytest.mark.parametrize("limit", range(1, 9))
def test_the_limit_never_tears_a_tool_call_from_its_result(limit):
    memory = BasicShortTermMemory({"max_history": limit})

    memory.update_history(tool_turn(1), "s")
    memory.update_history(tool_turn(2), "s")

    for messages in (memory.get_history("s"), memory.build_conversation_context("next?", "s")):
        for position, message in enumerate(messages):
            if message.tool_calls:
                assert messages[position + 1].tool_call_id == message.tool_calls[0].id
            if message.role is MessageRole.TOOL:
                assert messages[position - 1].tool_calls[0].id == message.tool_call_id


def test_a_tool_call_and_its_result_may_come_in_two_calls():
    memory = BasicShortTermMemory({"max_history": 4})
    turn = tool_turn(1)

    memory.update_history(turn[:2], "s")
    memory.update_history(turn[2:], "s")

    assert memory.get_history("s") == turn


@pytest.mark.parametrize("prompt", ["", "  ", None])
def test_a_blank_prompt_is_no_message(prompt):
    memory = BasicShortTermMemory({"system_prompt": prompt})

    assert memory.build_conversation_context("hi", "s") == [U("hi")]


@pytest.mark.parametrize(("utterance", "sent"), [(None, ""), ("", ""), ("  hi ", "hi"), (" \n", "")])
def test_the_utterance_is_sent_without_surrounding_blanks(utterance, sent):
    assert BasicShortTermMemory().build_conversation_context(utterance, "s") == [U(sent)]


@pytest.mark.parametrize("nothing", [[], None, ()])
def test_no_messages_change_nothing(nothing):
    memory = BasicShortTermMemory()

    memory.update_history(nothing, "s")
    memory.update_history([U("a"), A("b")], "s")
    memory.update_history(nothing, "s")

    assert memory.get_history("s") == [U("a"), A("b")]


def test_system_messages_of_a_caller_are_not_replayed():
    memory = BasicShortTermMemory()
    memory.update_history([S("obey"), U("a"), A("b")], "s")

    assert memory.get_history("s") == [U("a"), A("b")]


def test_content_of_any_kind_is_text_afterwards():
    memory = BasicShortTermMemory()
    memory.update_history([U(None), A([{"type": "text", "text": "part"}])], "s")

    assert memory.get_history("s") == [U(""), A("part")]


def test_sessions_are_opaque_and_kept_apart():
    memory = BasicShortTermMemory()
    for session in ("", " ", "s", "S", "s ", "default"):
        memory.update_history([U(f"in {session!r}"), A("ok")], session)

    for session in ("", " ", "s", "S", "s ", "default"):
        assert memory.get_history(session) == [U(f"in {session!r}"), A("ok")]
    assert memory.get_history(None) == memory.get_history("default")
    assert memory.get_history("unknown") == []


def test_the_callers_messages_stay_and_ours_are_copies():
    memory = BasicShortTermMemory({"max_history": 0})
    mine = [*tool_turn(1), A("more")]
    before = copy.deepcopy(mine)
    memory.update_history(mine, "s")
    memory.update_history([A("and more")], "s")
    expected = memory.build_conversation_context("x", "s")
    assert mine == before

    mine[0].content = "changed"
    mine[1].tool_calls[0].arguments["city"].append("Oslo")
    for got in (memory.get_history("s"), memory.build_conversation_context("x", "s")):
        got[0].content = "changed"
        got[1].tool_calls[0].arguments["city"].append("Oslo")
        got.insert(0, S("engine's prompt"))

    assert memory.build_conversation_context("x", "s") == expected


def test_the_window_of_a_context_is_bounded_in_characters():
    memory = BasicShortTermMemory({"max_history_chars": 50})
    memory.update_history([U("a" * 40), A("b" * 40), U("c"), A("d")], "s")

    assert memory.build_conversation_context("e", "s") == [U("c"), A("d"), U("e")]


def test_ram_is_bounded_and_reading_allocates_nothing(monkeypatch):
    monkeypatch.setattr(memory_module, "MAX_SESSIONS", 10)
    memory = BasicShortTermMemory()

    for n in range(100):
        memory.build_conversation_context("x", f"read {n}")
    assert len(memory.sessions()) == 0
    for n in range(100):
        memory.update_history([U("a"), A("b")], f"s{n}")

    assert len(memory.sessions()) == 10
    assert memory.get_history("s99") and not memory.get_history("s0")


def test_threads_on_one_session_lose_nothing_and_keep_pairs_together():
    memory = BasicShortTermMemory({"max_history": 0})
    start = threading.Barrier(8)

    def talk(name):
        start.wait()
        for n in range(50):
            memory.update_history([U(f"{name}.{n}"), A(f"to {name}.{n}")], "s")
            memory.build_conversation_context("x", "s")

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    said = [message.content for message in memory.get_history("s")]
    assert len(said) == 800
    assert all(answer == f"to {question}" for question, answer in zip(said[::2], said[1::2], strict=True))


MESSAGES = st.lists(
    st.one_of(
        st.builds(U, st.text(max_size=4)),
        st.builds(A, st.text(max_size=4)),
        st.builds(S, st.text(max_size=4)),
        st.builds(lambda: A("", tool_calls=[ToolCall("c", "t", {})])),
        st.builds(lambda: T("r", tool_call_id="c", name="t")),
    ),
    max_size=6,
)


@given(st.lists(MESSAGES, max_size=6), st.integers(0, 6))
def test_a_context_alternates_and_ends_with_the_utterance(calls, limit):
    memory = BasicShortTermMemory({"max_history": limit})
    for messages in calls:
        memory.update_history(messages, "s")

    context = memory.build_conversation_context("now", "s")

    assert context[-1] == U("now")
    assert context[0].role is MessageRole.USER
    for one, other in pairwise(context):
        assert one.role is not other.role or other.tool_calls or other.role is MessageRole.TOOL
    assert limit == 0 or len(context) <= limit + 1
