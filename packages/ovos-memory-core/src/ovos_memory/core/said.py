"""What was really said: the messages of a caller without what a memory put into the context."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.exchanges import normalise
from ovos_memory.core.fence import strip_injected

INJECTED_CALL_PREFIX = "memrag_"
"""Ids of the tool calls that inject mode ``tool`` makes up start with it."""


def really_said(messages: Iterable[Any] | None) -> list[AgentMessage]:
    """Return private, cleaned copies of what user and assistant said.

    Some hosts record the whole context; recalled blocks and injected tool calls that were said again would be
    recalled again.
    """
    said = []
    for message in normalise(messages):
        calls = [c for c in message.tool_calls or () if not c.id.startswith(INJECTED_CALL_PREFIX)]
        if message.tool_calls and not calls and not message.content:
            continue
        if message.role is MessageRole.TOOL and (message.tool_call_id or "").startswith(INJECTED_CALL_PREFIX):
            continue
        message.tool_calls = calls or None
        own = strip_injected(message.content)
        if message.content and not own and not message.tool_calls:
            continue
        message.content = own
        said.append(message)
    return said
