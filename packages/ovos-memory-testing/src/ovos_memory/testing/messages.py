"""Short builders for messages, so that a test reads like the conversation it is about."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall


def user(text: Any) -> AgentMessage:
    """Return what the user said."""
    return AgentMessage(MessageRole.USER, text)


def assistant(text: Any, *calls: ToolCall) -> AgentMessage:
    """Return what the assistant said, or which tools it called."""
    return AgentMessage(MessageRole.ASSISTANT, text, tool_calls=list(calls) or None)


def system(text: str) -> AgentMessage:
    """Return a system message."""
    return AgentMessage(MessageRole.SYSTEM, text)


def call(identifier: str, name: str = "thermometer", **arguments: Any) -> ToolCall:
    """Return a tool call."""
    return ToolCall(identifier, name, arguments)


def tool(text: str, identifier: str, name: str = "thermometer") -> AgentMessage:
    """Return the result of the tool call with that id."""
    return AgentMessage(MessageRole.TOOL, text, tool_call_id=identifier, name=name)


def pair(question: Any, answer: Any) -> list[AgentMessage]:
    """Return a question and its answer."""
    return [user(question), assistant(answer)]


def said(messages: Iterable[AgentMessage]) -> list[tuple[str, str]]:
    """Return (role, content) of each message, which is what most rules compare."""
    return [(MessageRole(message.role).value, message.content) for message in messages]


def texts(messages: Iterable[AgentMessage]) -> str:
    """Return all contents, joined, to look for words anywhere in a context."""
    return "\n".join(message.content or "" for message in messages)


def vandalise(messages: list[AgentMessage]) -> None:
    """Change everything that a caller may change in a list of messages it was given.

    Chat engines do: the OpenAI one inserts its own prompt into the list.
    """
    for message in messages:
        for tool_call in message.tool_calls or ():
            tool_call.arguments["vandal"] = ["was", "here"]
            for value in tool_call.arguments.values():
                if isinstance(value, list):
                    value.append("vandal")
            tool_call.id = "vandal"
        message.content = "vandal"
        message.tool_calls = None
    messages.insert(0, system("vandal"))


def private_copy(messages: list[AgentMessage]) -> list[AgentMessage]:
    """Return a deep copy, to compare with later."""
    return copy.deepcopy(messages)
