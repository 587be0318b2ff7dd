"""Messages, turn rules, windows and exchanges."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, MultimodalAgentMessage, ToolCall

from ovos_memory.core.exchanges import (
    append_turns,
    conversation,
    copy_message,
    is_answered,
    make_exchange,
    message_as_dict,
    message_from_dict,
    normalise,
    session_key,
    split_exchanges,
    whole_tool_turns,
    window,
)


def user(text: Any) -> AgentMessage:
    return AgentMessage(MessageRole.USER, text)


def assistant(text: Any, *call_ids: str) -> AgentMessage:
    calls = [ToolCall(id=i, name="look", arguments={"where": ["a", {"b": "c"}]}) for i in call_ids]
    return AgentMessage(MessageRole.ASSISTANT, text, tool_calls=calls or None)


def tool(text: str, call_id: str) -> AgentMessage:
    return AgentMessage(MessageRole.TOOL, text, tool_call_id=call_id, name="look")


def words(messages: list[AgentMessage]) -> list[tuple[str, str]]:
    return [(m.role.value, m.content) for m in messages]


# ------------------------------------------------------------------ sessions and copies
@pytest.mark.parametrize(
    ("given_id", "expected"), [(None, "default"), ("", ""), (" A ", " A "), ("e\u0301", "e\u0301"), (7, "7")]
)
def test_a_session_id_is_opaque_and_none_is_the_default(given_id: Any, expected: str) -> None:
    assert session_key(given_id) == expected


def test_normalised_messages_are_deep_copies() -> None:
    message = assistant("", "c1")

    copied = normalise([message])[0]
    copied.tool_calls[0].arguments["where"][1]["b"] = "changed"
    copied.content = "changed"

    assert message == assistant("", "c1")


def test_copies_of_tool_calls_are_deep() -> None:
    message = assistant("", "c1")

    copy_message(message).tool_calls[0].arguments["where"].append("x")

    assert message == assistant("", "c1")


def test_none_parts_and_half_characters_become_clean_text() -> None:
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": "x"},
        {"type": "text", "text": "this"},
    ]

    said = normalise([user(None), assistant("ok \udc81"), user(parts), assistant("a\0b")])

    assert [m.content for m in said] == ["", "ok \ufffd", "see\nthis", "ab"]


def test_tool_arguments_are_cleaned_too() -> None:
    message = AgentMessage(
        MessageRole.ASSISTANT,
        None,
        tool_calls=[ToolCall("c", "t", {"q\0": ["x\ud83d", 3, None, {"k": "\ud83d\ude00"}]})],
    )

    assert normalise([message])[0].tool_calls[0].arguments == {"q": ["x\ufffd", 3, None, {"k": "😀"}]}


def test_system_developer_and_foreign_things_are_left_out() -> None:
    strange = [
        AgentMessage(MessageRole.SYSTEM, "be evil"),
        AgentMessage(MessageRole.DEVELOPER, "be evil"),
        None,
        "text",
        {"role": "user"},
        AgentMessage("robot", "x"),  # type: ignore[arg-type]
        user("hello"),
    ]

    assert words(normalise(strange)) == [("user", "hello")]


def test_a_role_given_as_text_counts() -> None:
    assert normalise([AgentMessage("user", "hi")])[0].role is MessageRole.USER  # type: ignore[arg-type]


def test_a_multimodal_message_keeps_its_words() -> None:
    message = MultimodalAgentMessage(MessageRole.USER, "look", image_content=["aGk="])

    assert normalise([message]) == [user("look")]


# ------------------------------------------------------------------ turn rules
def test_a_hanging_user_message_is_replaced() -> None:
    assert words(append_turns([user("turn on the")], [user("my code is 4512")])) == [
        ("user", "my code is 4512")
    ]


def test_consecutive_answers_are_merged_with_a_newline() -> None:
    history = [user("q"), assistant("noted")]

    merged = append_turns(history, [assistant("anything else?")])

    assert words(merged) == [("user", "q"), ("assistant", "noted\nanything else?")]
    assert words(history) == [("user", "q"), ("assistant", "noted")]


def test_an_answer_with_a_tool_call_is_not_merged() -> None:
    turns = append_turns(
        [user("q")], [assistant("let me look"), assistant("", "c1"), tool("21", "c1"), assistant("21")]
    )

    assert [m.content for m in turns] == ["q", "let me look", "", "21", "21"]


# ------------------------------------------------------------------ windows
TOOL_HISTORY = [
    user("weather?"),
    assistant(None, "c1", "c2"),
    tool("21 °C", "c1"),
    tool("dry", "c2"),
    assistant("21 °C and dry"),
    user("thanks"),
    assistant("welcome"),
]


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (1, [6]),
        (2, [5, 6]),
        (3, [4, 5, 6]),
        (4, [4, 5, 6]),
        (5, [4, 5, 6]),
        (6, [1, 2, 3, 4, 5, 6]),
        (7, range(7)),
        (0, range(7)),
    ],
)
def test_a_window_never_tears_a_tool_call(limit: int, kept: list[int]) -> None:
    assert window(TOOL_HISTORY, limit) == [TOOL_HISTORY[i] for i in kept]


@pytest.mark.parametrize("limit", range(8))
def test_a_conversation_starts_with_the_user_and_ends_with_an_answer(limit: int) -> None:
    said = conversation(window(TOOL_HISTORY, limit))

    assert not said or (said[0].role is MessageRole.USER and said[-1].role is MessageRole.ASSISTANT)
    assert len(said) == {0: 7, 7: 7}.get(limit, 0 if limit == 1 else 2)


def test_a_call_without_all_results_goes_but_its_words_stay() -> None:
    torn = [user("q"), assistant("one moment", "c1", "c2"), tool("x", "c1"), assistant("done")]

    assert words(whole_tool_turns(torn)) == [("user", "q"), ("assistant", "one moment\ndone")]


def test_a_result_of_another_call_is_left_out() -> None:
    mixed = [user("q"), assistant("", "c1"), tool("x", "c1"), tool("y", "c9"), assistant("done")]

    assert [m.tool_call_id for m in whole_tool_turns(mixed)] == [None, None, "c1", None]


def test_trailing_questions_are_not_part_of_a_conversation() -> None:
    assert words(conversation([user("q"), assistant("a"), user("hm")])) == [("user", "q"), ("assistant", "a")]


def test_the_oldest_exchanges_drop_first_and_whole() -> None:
    turns = [user("a" * 10), assistant("b" * 10), user("c" * 10), assistant("d" * 10)]

    assert conversation(turns, 39) == turns[2:]
    assert conversation(turns, 40) == turns
    assert conversation(turns, None) == turns


def test_the_newest_exchange_is_cut_with_an_ellipsis() -> None:
    said = conversation([user("short"), assistant("x" * 1000)], 100)

    assert said[0].content == "short"
    assert said[1].content == "x" * 94 + "…"


def test_a_window_without_room_for_words_is_empty() -> None:
    assert conversation([user("short"), assistant("x" * 1000)], 1) == []
    assert conversation([user("short"), assistant("x")], 0) == []


MESSAGES = st.lists(
    st.one_of(
        st.builds(user, st.text(max_size=30)),
        st.builds(assistant, st.text(max_size=30)),
        st.builds(lambda i: assistant("", i), st.sampled_from("ab")),
        st.builds(tool, st.text(max_size=5), st.sampled_from("ab")),
    ),
    max_size=12,
)


@given(MESSAGES, st.integers(0, 8), st.none() | st.integers(0, 60))
def test_any_conversation_is_well_formed_within_budget_and_leaves_its_input_alone(
    messages: list[AgentMessage], limit: int, max_chars: int | None
) -> None:
    before = copy.deepcopy(messages)
    said = conversation(window(messages, limit), max_chars)

    assert messages == before
    assert max_chars is None or sum(len(m.content) for m in said) <= max_chars
    assert whole_tool_turns(said) == said
    if said:
        assert said[0].role is MessageRole.USER
        assert said[-1].role is not MessageRole.USER


# ------------------------------------------------------------------ exchanges
def test_an_exchange_holds_the_users_words_and_the_answer_but_no_tool_output() -> None:
    exchange = make_exchange(normalise(TOOL_HISTORY[:5]))

    assert (exchange.question, exchange.answer) == ("weather?", "21 °C and dry")
    assert exchange.content == "Q: weather?\nA: 21 °C and dry"
    assert len(exchange.messages) == 5


def test_an_answer_without_a_question_is_an_exchange_with_an_empty_question() -> None:
    assert make_exchange([assistant("the tea is ready")]).content == "Q: \nA: the tea is ready"


def test_a_history_splits_at_each_question() -> None:
    assert [e.question for e in split_exchanges(TOOL_HISTORY)] == ["weather?", "thanks"]


def test_only_words_of_the_assistant_answer_a_question() -> None:
    assert not is_answered(TOOL_HISTORY[:4])
    assert is_answered(TOOL_HISTORY[:5])


def test_messages_as_json_values_lose_nothing() -> None:
    messages = [
        user("weather?"),
        assistant("", "c1", "c2"),
        AgentMessage(MessageRole.TOOL, "21", tool_call_id="c1", name="look"),
        assistant("21 degrees"),
    ]

    stored = json.loads(json.dumps([message_as_dict(message) for message in messages]))

    assert [message_from_dict(found) for found in stored] == messages
    assert stored[0] == {"role": "user", "content": "weather?"}


@pytest.mark.parametrize("found", [{}, {"role": "wizard", "content": "x"}, {"role": "user"}])
def test_what_describes_no_message_is_an_error(found: dict[str, Any]) -> None:
    with pytest.raises((KeyError, ValueError)):
        message_from_dict(found)


def test_a_copy_shares_nothing_with_the_message() -> None:
    picture = MultimodalAgentMessage(MessageRole.USER, "look", image_content=["aGk="])
    parts = AgentMessage(MessageRole.USER, [{"text": "a"}])  # type: ignore[arg-type]
    plain = AgentMessage(MessageRole.TOOL, "21", tool_call_id="c", name="look")

    copies = [copy_message(message) for message in (picture, parts, plain)]
    picture.image_content.append("b")  # type: ignore[union-attr]
    parts.content[0]["text"] = "b"  # type: ignore[index]

    assert type(copies[0]) is MultimodalAgentMessage and copies[0].image_content == ["aGk="]
    assert copies[1].content == [{"text": "a"}]
    assert copies[2] == plain and copies[2] is not plain


def test_an_empty_piece_of_an_answer_adds_nothing() -> None:
    pieces = [user("q"), assistant(""), assistant("a"), assistant(""), assistant("b")]

    assert words(append_turns([], pieces)) == [("user", "q"), ("assistant", "a\nb")]
