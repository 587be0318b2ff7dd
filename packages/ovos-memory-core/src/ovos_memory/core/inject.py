"""Prompt, member blocks, recall, history and utterance to one list of messages: the five inject modes.

The order is the same in every mode: prompt, member blocks, recall, history, utterance; they differ in where
the recalled block goes. In ``user`` and ``tool`` mode it goes behind the history, so everything up to the
last history turn is the beginning of the next context too, and a prompt cache stays warm as long as prompt,
member blocks and window do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.core.exchanges import copy_message
from ovos_memory.core.render import Block
from ovos_memory.core.text import clean, fill

SYSTEM_PROMPT_TEMPLATE = "{system}\n\n{header}\n{context}"
"""Layout of mode ``system_prompt`` where the settings name none."""
USER_TEMPLATE = "{header}\n{context}\n\n{utterance}"
"""Layout of mode ``user`` where the settings name none."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a context is assembled from; nothing of it is changed or handed out.

    Attributes:
        system_prompt: The persona's prompt; blank: none.
        member_blocks: Leading blocks of other memories, in order, each with its own role.
        recall: The rendered hits; ``None``: nothing was recalled.
        history: Earlier messages, oldest first.
        utterance: What the user says now.
        query: What was searched for, as the injected tool call shows it.
        call_id: Id of the injected tool call.
        tool_name: Name of the injected tool call.
        system_prompt_template: Layout of mode ``system_prompt``; ``None``: :data:`SYSTEM_PROMPT_TEMPLATE`.
        user_template: Layout of mode ``user``; ``None``: :data:`USER_TEMPLATE`.
    """

    system_prompt: str = ""
    member_blocks: tuple[AgentMessage, ...] = ()
    recall: Block | None = None
    history: tuple[AgentMessage, ...] = ()
    utterance: str = ""
    query: str = ""
    call_id: str = ""
    tool_name: str = "search_memory"
    system_prompt_template: str | None = None
    user_template: str | None = None


def inject(mode: str, parts: Parts) -> list[AgentMessage]:
    """Assemble a context.

    A member block that repeats the prompt or an earlier block is left out, and so is a blank one; the prompt
    or an earlier block that a block begins with is taken off it.

    Args:
        mode: ``system``, ``developer``, ``system_prompt``, ``user`` or ``tool``.
        parts: What to assemble.

    Returns:
        A fresh list of fresh messages, which belong to the caller; the last is the user's.

    Raises:
        ValueError: There is no such mode.
    """
    if mode not in _MODES:
        raise ValueError(f"inject_mode must be one of {', '.join(_MODES)}, got {mode!r}")
    return _MODES[mode](parts)


def _system(parts: Parts) -> list[AgentMessage]:
    """Recall in a system message of its own."""
    return [*_front(parts), *_recall(MessageRole.SYSTEM, parts), *_history(parts), _user(_utterance(parts))]


def _developer(parts: Parts) -> list[AgentMessage]:
    """Recall in a developer message."""
    return [
        *_front(parts),
        *_recall(MessageRole.DEVELOPER, parts),
        *_history(parts),
        _user(_utterance(parts)),
    ]


def _system_prompt(parts: Parts) -> list[AgentMessage]:
    """Prompt, member blocks and recall in one system message.

    The member blocks stand below the prompt, in ``{system}``: they carry fences of their own. Without
    recall the template is not used: its words are the header of something that is not there.
    """
    text = "\n\n".join(message.content for message in _front(parts))
    if parts.recall is not None:
        template = _with_context(parts.system_prompt_template, SYSTEM_PROMPT_TEMPLATE)
        if "{system}" not in template:
            template = "{system}\n\n" + template
        text = _laid_out(template, system=text, header=parts.recall.header, context=parts.recall.body)
    front = [AgentMessage(MessageRole.SYSTEM, text)] if text else []
    return [*front, *_history(parts), _user(_utterance(parts))]


def _user_turn(parts: Parts) -> list[AgentMessage]:
    """Recall in the last user message; without recall it is the plain utterance."""
    text = _utterance(parts)
    if parts.recall is not None:
        template = _with_context(parts.user_template, USER_TEMPLATE)
        if "{utterance}" not in template:
            template += "\n\n{utterance}"
        text = _laid_out(template, header=parts.recall.header, context=parts.recall.body, utterance=text)
    return [*_front(parts), *_history(parts), _user(text)]


def _tool(parts: Parts) -> list[AgentMessage]:
    """Recall as the result of a search, as if the assistant had asked for it, just before the user turn."""
    turn: list[AgentMessage] = []
    if parts.recall is not None:
        call = ToolCall(id=parts.call_id, name=parts.tool_name, arguments={"query": parts.query})
        turn = [
            AgentMessage(MessageRole.ASSISTANT, "", tool_calls=[call]),
            AgentMessage(
                MessageRole.TOOL, str(parts.recall), tool_call_id=parts.call_id, name=parts.tool_name
            ),
        ]
    return [*_front(parts), *_history(parts), *turn, _user(_utterance(parts))]


_MODES: dict[str, Callable[[Parts], list[AgentMessage]]] = {
    "system": _system,
    "developer": _developer,
    "system_prompt": _system_prompt,
    "user": _user_turn,
    "tool": _tool,
}


def _front(parts: Parts) -> list[AgentMessage]:
    """Return the prompt and the member blocks, none of them blank and no text twice."""
    prompt = clean(parts.system_prompt).strip()
    messages = [AgentMessage(MessageRole.SYSTEM, prompt)] if prompt else []
    seen = [prompt] if prompt else []
    for block in parts.member_blocks:
        text = _without_beginning(clean(block.content).strip(), seen)
        if text:
            seen.append(text)
            message = copy_message(block)
            message.content = text
            messages.append(message)
    return messages


def _without_beginning(text: str, seen: list[str]) -> str:
    """Return the text without what stands above it already; members put their prompt above their block."""
    while text:
        known = next((known for known in seen if text == known or text.startswith(f"{known}\n")), None)
        if known is None:
            break
        text = text[len(known) :].strip()
    return text


def _recall(role: MessageRole, parts: Parts) -> list[AgentMessage]:
    return [] if parts.recall is None else [AgentMessage(role, str(parts.recall))]


def _history(parts: Parts) -> list[AgentMessage]:
    return [copy_message(message) for message in parts.history]


def _utterance(parts: Parts) -> str:
    return clean(parts.utterance).strip()


def _user(text: str) -> AgentMessage:
    return AgentMessage(MessageRole.USER, text)


def _with_context(template: str | None, default: str) -> str:
    """Return the template, the default for ``None``; the recall is appended where it has no place for it."""
    template = default if template is None else template
    if "{context}" in template:
        return template
    missing = "{context}" if "{header}" in template else "{header}\n{context}"
    return f"{template}\n\n{missing}"


def _laid_out(template: str, **values: str) -> str:
    """Fill a template; what is empty leaves no blank lines, and the values stay as they are."""
    for name in [name for name, value in values.items() if not value]:
        line = rf"^[ \t]*\{{{name}\}}[ \t]*(?:\n(?:[ \t]*\n)*|\Z)"
        template = re.sub(line, "", template, flags=re.MULTILINE)
    return fill(template, **values).strip()
