from __future__ import annotations

from typing import Any

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.testing import checks
from ovos_memory.testing.messages import assistant, call, private_copy, system, tool, user, vandalise

PROMPT = "You are Rosie."
GOOD = [
    system(PROMPT),
    AgentMessage(MessageRole.DEVELOPER, "recalled"),
    user("how warm is it"),
    assistant(None, call("c1"), call("c2")),
    tool("21", "c2"),
    tool("18", "c1"),
    assistant("21 and 18"),
    user("thanks"),
]


def _changed(place: int, *messages: Any) -> list[Any]:
    context = private_copy(GOOD)
    context[place : place + 1] = messages
    return context


def test_a_good_context_passes() -> None:
    checks.check_context(GOOD, "  thanks ", prompt=PROMPT)
    checks.check_conversation(GOOD[2:])


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        (tuple(GOOD), "a list of messages"),
        (_changed(6, {"role": "assistant"}), "only AgentMessage"),
        ([], "empty list"),
        (_changed(7), "not 'user'"),
        (_changed(7, user("thank you")), "does not end with"),
        (_changed(7, user("thanks ")), "blanks|does not end"),
        (_changed(6, system("late")), "in the middle"),
        (_changed(3), "without its call"),
        (_changed(5), "got the results"),
        (_changed(4, tool("21", "c9")), "got the results"),
        (_changed(6, assistant(None)), "no text"),
        (_changed(1, system(PROMPT)), "not once and first"),
        (_changed(0), "not once and first"),
        (_changed(0, system(f"{PROMPT} {PROMPT}")), "appears 2 times"),
    ],
)
def test_a_bad_context_is_named(context: Any, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        checks.check_context(context, "thanks", prompt=PROMPT)


def test_a_blank_prompt_must_be_no_message() -> None:
    checks.check_prompt([user("x")], " ")
    with pytest.raises(AssertionError, match="empty system messages"):
        checks.check_prompt([system(" "), user("x")], " ")


@pytest.mark.parametrize("turns", [[user("a"), user("b")], [user("a"), assistant("b"), assistant("c")]])
def test_two_turns_of_one_side_are_named(turns: list[AgentMessage]) -> None:
    with pytest.raises(AssertionError, match="in a row"):
        checks.check_conversation(turns)


def test_a_conversation_begins_with_the_user() -> None:
    with pytest.raises(AssertionError, match="begins with the user"):
        checks.check_conversation([assistant("a"), user("b")])


def test_vandalism_changes_everything_a_caller_can_reach() -> None:
    kept = [user("a"), assistant(None, call("c", rooms=["hall"]))]
    messages = private_copy(kept)
    made = (messages[1].tool_calls or [])[0]

    vandalise(messages)
    assert [m.content for m in messages] == ["vandal", "vandal", "vandal"]
    assert made.id == "vandal" and made.arguments["rooms"] == ["hall", "vandal"]
