"""Messages as they are said: cleaned copies, the turn rules, windows that never cut a tool call, exchanges.

The turn rules (a hanging user message is dropped, consecutive answers are merged) are those of ovos-persona's short-term
memory, so that a persona sees the same history whichever memory it uses.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.core.text import clean, share, truncate
from ovos_memory.core.types import DEFAULT_SESSION, Exchange

_CONVERSATION_ROLES = (MessageRole.USER, MessageRole.ASSISTANT, MessageRole.TOOL)


def session_key(session_id: object) -> str:
    """Return the session that a caller means: ``None`` is ``"default"``, everything else is taken as it is."""
    if session_id is None:
        return DEFAULT_SESSION
    return session_id if isinstance(session_id, str) else str(session_id)


def copy_message(message: AgentMessage) -> AgentMessage:
    """Return a deep copy, tool calls and their arguments included."""
    is_plain = type(message) is AgentMessage and message.tool_calls is None and type(message.content) is str
    if not is_plain:
        return copy.deepcopy(message)
    result = AgentMessage.__new__(AgentMessage)  # a fifth of what copy.copy takes; windows hold thousands
    vars(result).update(vars(message))
    return result


def message_as_dict(message: AgentMessage) -> dict[str, Any]:
    """Return a message as JSON values, the form in which the stores keep it.

    Tool calls, their ids and tool names are in it; what a multimodal subclass adds is not.
    """
    found: dict[str, Any] = {"role": MessageRole(message.role).value, "content": message.content}
    if message.tool_calls:
        found["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        found["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        found["name"] = message.name
    return found


def message_from_dict(found: Mapping[str, Any]) -> AgentMessage:
    """Return the message that :func:`message_as_dict` described, the same tool arguments in it.

    Raises:
        KeyError, TypeError, ValueError: It describes none.
    """
    calls = [ToolCall(c["id"], c["name"], c["arguments"]) for c in found.get("tool_calls") or ()]
    return AgentMessage(
        role=MessageRole(found["role"]),
        content=found["content"],
        tool_calls=calls or None,
        tool_call_id=found.get("tool_call_id"),
        name=found.get("name"),
    )


def normalise(messages: Iterable[Any] | None) -> list[AgentMessage]:
    """Return private, cleaned copies of the messages of a conversation.

    System and developer messages are left out: the persona's prompt comes from the settings, and replayed in the
    middle of a history it would become an instruction that nobody gave.  What is not a message is left out too.
    """
    return [found for message in messages or () if (found := _normalised(message)) is not None]


def _normalised(message: Any) -> AgentMessage | None:
    try:
        role = MessageRole(getattr(message, "role", None))
    except ValueError:
        return None
    if role not in _CONVERSATION_ROLES:
        return None
    calls = [
        ToolCall(id=clean(call.id), name=clean(call.name), arguments=_cleaned(call.arguments))
        for call in getattr(message, "tool_calls", None) or ()
    ]
    call_id, name = getattr(message, "tool_call_id", None), getattr(message, "name", None)
    return AgentMessage(
        role=role,
        content=clean(message.content),
        tool_calls=calls if calls and role is MessageRole.ASSISTANT else None,
        tool_call_id=None if call_id is None else clean(call_id),
        name=None if name is None else clean(name),
    )


def _cleaned(value: Any) -> Any:
    """Copy tool arguments (JSON values) with every text in them cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(part) for part in value]
    return copy.deepcopy(value)


def append_turns(history: Sequence[AgentMessage], new: Iterable[AgentMessage]) -> list[AgentMessage]:
    """Return ``history`` with ``new`` behind it, by the turn rules.

    A user message that follows a user message replaces it (an utterance that got no answer); an answer that follows
    an answer is merged into it with a newline (an empty one adds nothing). Neither input is changed; messages are
    shared, not copied.
    """
    result, new = list(history), list(new)
    if not result and _alternates(new):
        return new
    for message in new:
        _append_turn(result, message)
    return result


def _append_turn(history: list[AgentMessage], message: AgentMessage) -> None:
    last = history[-1] if history else None
    if last is not None and last.role is message.role is MessageRole.USER:
        history.pop()
    elif last is not None and _is_answer(last) and _is_answer(message):
        history.pop()
        pieces = [piece for piece in (last.content, message.content) if piece]
        message = AgentMessage(role=MessageRole.ASSISTANT, content="\n".join(pieces))
    history.append(message)


def _is_answer(message: AgentMessage) -> bool:
    return message.role is MessageRole.ASSISTANT and not message.tool_calls


def window(messages: Sequence[AgentMessage], max_messages: int) -> list[AgentMessage]:
    """Return the last ``max_messages`` messages (0: all), without torn tool calls.

    A tool result whose call fell out of the window goes too, and a call without all of its results: chat servers
    refuse both.
    """
    return whole_tool_turns(messages[-max_messages:] if max_messages else messages)


def whole_tool_turns(messages: Sequence[AgentMessage]) -> list[AgentMessage]:
    """Return the messages without orphaned tool results and without calls that lack a result.

    What the assistant said beside a torn call stays; where two turns of one side come together so, the turn rules
    hold again.
    """
    if _alternates(messages):
        return list(messages)
    result: list[AgentMessage] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if message.role is MessageRole.TOOL:
            continue
        if not message.tool_calls:
            _append_turn(result, message)
            continue
        start = position
        while position < len(messages) and messages[position].role is MessageRole.TOOL:
            position += 1
        expected = {call.id for call in message.tool_calls}
        results = [m for m in messages[start:position] if m.tool_call_id in expected]
        if {m.tool_call_id for m in results} == expected:
            result += [message, *results]
        elif message.content:
            _append_turn(result, AgentMessage(role=message.role, content=message.content))
    return result


def _alternates(messages: Iterable[AgentMessage]) -> bool:
    """Tell whether no message is about tools and none follows one of its own role: most histories are like that."""
    last = None
    for message in messages:
        role = message.role
        if role is last or role is MessageRole.TOOL or message.tool_calls:
            return False
        last = role
    return True


def conversation(messages: Sequence[AgentMessage], max_chars: int | None = None) -> list[AgentMessage]:
    """Return the part of a history that can stand in front of a new user turn.

    It starts with a user message and ends with an answer, whatever the window cut.

    Args:
        messages: A history, oldest first.
        max_chars: Characters of content at most; whole exchanges drop, oldest first, and the newest is cut.
            ``None``: no limit.
    """
    kept = whole_tool_turns(messages)
    while kept and kept[-1].role is MessageRole.USER:
        kept.pop()
    while kept and kept[0].role is not MessageRole.USER:
        kept.pop(0)
    return kept if max_chars is None else _within(kept, max_chars)


def _within(messages: list[AgentMessage], max_chars: int) -> list[AgentMessage]:
    total = sum(len(m.content) for m in messages)
    if total <= max_chars:
        return messages
    turns = group_exchanges(messages)
    while len(turns) > 1 and total > max_chars:
        total -= sum(len(m.content) for m in turns.pop(0))
    if not turns or total <= max_chars:
        return [m for turn in turns for m in turn]
    newest = turns[0]
    allotted = share([len(m.content) for m in newest], max_chars)
    if any(size == 0 and m.content for m, size in zip(newest, allotted, strict=True)):
        return []  # a turn without words says nothing
    return [_cut(m, size) for m, size in zip(newest, allotted, strict=True)]


def _cut(message: AgentMessage, max_chars: int) -> AgentMessage:
    if len(message.content) <= max_chars:
        return message
    result = copy_message(message)
    result.content = truncate(message.content, max_chars)
    return result


def group_exchanges(messages: Iterable[AgentMessage]) -> list[list[AgentMessage]]:
    """Return the messages in groups, each starting with a user message (the first perhaps without one)."""
    groups: list[list[AgentMessage]] = []
    for message in messages:
        if message.role is MessageRole.USER or not groups:
            groups.append([])
        groups[-1].append(message)
    return groups


def make_exchange(messages: Sequence[AgentMessage]) -> Exchange:
    """Return the exchange that these messages are; tool output is not part of its words."""
    answers = [
        m.content for m in messages if m.role is MessageRole.ASSISTANT and (m.content or not m.tool_calls)
    ]
    return Exchange(
        question="\n".join(m.content for m in messages if m.role is MessageRole.USER),
        answer="\n".join(answers),
        messages=tuple(messages),
    )


def split_exchanges(messages: Iterable[AgentMessage]) -> list[Exchange]:
    """Return the exchanges of a history, oldest first."""
    return [make_exchange(group) for group in group_exchanges(messages)]


def is_answered(messages: Iterable[AgentMessage]) -> bool:
    """Tell whether an exchange holds an answer, not only a question and tool calls."""
    return any(_is_answer(message) for message in messages)
