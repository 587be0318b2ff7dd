"""What holds for every context a memory returns, one function per rule.

:func:`check_context` is all of them; the suites run it on each context they get.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.text import clean

FRONT_ROLES = (MessageRole.SYSTEM, MessageRole.DEVELOPER)


def check_context(context: Any, utterance: str | None, *, prompt: str | None = None) -> None:
    """Assert all rules that need no second call.

    Args:
        context: What ``build_conversation_context`` returned.
        utterance: What it was asked with.
        prompt: The persona's prompt that the memory was given, or ``None`` when that is not known.
    """
    check_messages(context)
    check_last_is_the_utterance(context, utterance)
    check_instructions_stand_in_front(context)
    check_tool_turns_are_whole(context)
    check_content_is_text(context)
    if prompt is not None:
        check_prompt(context, prompt)


def check_messages(context: Any) -> None:
    """Assert that it is a list of messages."""
    assert isinstance(context, list), f"a context is a list of messages, got {type(context).__name__}"
    strangers = [type(m).__name__ for m in context if not isinstance(m, AgentMessage)]
    assert not strangers, f"a context holds only AgentMessage, got {strangers}"


def check_last_is_the_utterance(context: Sequence[AgentMessage], utterance: str | None) -> None:
    """Assert that the last message is the user's, and what it says is the stripped utterance.

    Recall may stand in front of the utterance in the same message (inject mode ``user``), so it must *end*
    with it.  NUL and half surrogates, which no engine can be sent, are cleaned from it.
    """
    spoken = clean(utterance).strip()
    assert context, "a context ends with the user's utterance, got an empty list"
    last = context[-1]
    assert last.role == MessageRole.USER, f"the last message has the role {last.role!r}, not 'user'"
    assert isinstance(last.content, str), "the last message's content is not text"
    assert last.content.endswith(spoken), f"the last message does not end with {spoken!r}: {last.content!r}"
    assert last.content == last.content.strip(), f"blanks around the utterance were kept: {last.content!r}"


def check_instructions_stand_in_front(context: Sequence[AgentMessage]) -> None:
    """Assert that system and developer messages come before everything else."""
    roles = [m.role for m in context]
    front = 0
    while front < len(roles) and roles[front] in FRONT_ROLES:
        front += 1
    late = [n for n, role in enumerate(roles) if n >= front and role in FRONT_ROLES]
    assert not late, f"system/developer messages in the middle, at {late}: {[str(r) for r in roles]}"


def check_tool_turns_are_whole(messages: Sequence[AgentMessage]) -> None:
    """Assert that results directly follow their call and that every call has all of its results.

    Chat servers refuse a conversation that breaks this.
    """
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        assert message.role != MessageRole.TOOL, f"a tool result without its call: {message.tool_call_id!r}"
        expected = [c.id for c in message.tool_calls or ()]
        if not expected:
            continue
        assert message.role == MessageRole.ASSISTANT, f"a {message.role!r} message carries tool calls"
        found: list[str | None] = []
        while position < len(messages) and messages[position].role == MessageRole.TOOL:
            found.append(messages[position].tool_call_id)
            position += 1
        assert sorted(map(str, found)) == sorted(expected), f"calls {expected} got the results {found}"


def check_content_is_text(messages: Sequence[AgentMessage]) -> None:
    """Assert that contents are text, but for turns that only call tools."""
    wrong = [n for n, m in enumerate(messages) if not isinstance(m.content, str) and not m.tool_calls]
    assert not wrong, f"messages {wrong} have a content that is no text"


def check_prompt(context: Sequence[AgentMessage], prompt: str) -> None:
    """Assert that the persona's prompt comes first and appears once; that a blank one is no message."""
    if not prompt.strip():
        blank = [
            n for n, m in enumerate(context[:-1]) if m.role in FRONT_ROLES and not str(m.content).strip()
        ]
        assert not blank, f"empty system messages at {blank}"
        return
    places = [n for n, m in enumerate(context) if prompt.strip() in str(m.content)]
    assert places == [0], f"the prompt stands in the messages {places}, not once and first"
    assert context[0].role in FRONT_ROLES, f"the prompt has the role {context[0].role!r}"
    count = str(context[0].content).count(prompt.strip())
    assert count == 1, f"the prompt appears {count} times in its message"


def check_conversation(messages: Sequence[AgentMessage]) -> None:
    """Assert that user and assistant take turns, the user first, and no side speaks twice in a row."""
    roles = [(m.role, bool(m.tool_calls)) for m in messages]
    plain = [(MessageRole.USER, False), (MessageRole.ASSISTANT, False)]
    twice = [n for n in range(1, len(roles)) if roles[n] == roles[n - 1] and roles[n] in plain]
    assert not twice, f"two turns of one side in a row, at {twice}: {[str(role) for role, _ in roles]}"
    assert not roles or roles[0] == (MessageRole.USER, False), "a conversation begins with the user"
