"""Utterance (and history) to the text that is searched for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.fence import strip_injected
from ovos_memory.core.text import clean

MAX_QUERY_CHARS = 16_000
"""Of a longer query, a whole document that was pasted, beginning and end are searched for."""


def bounded(query: str) -> str:
    """Return a query of a length that costs nobody seconds."""
    half = MAX_QUERY_CHARS // 2
    return query if len(query) <= MAX_QUERY_CHARS else f"{query[:half]}\n{query[-half:]}"


def search_text(
    utterance: object,
    history: Sequence[AgentMessage],
    *,
    mode: Literal["utterance", "history"] = "utterance",
    history_turns: int = 3,
) -> str:
    """Return the text to search for.

    Args:
        utterance: What the user says now, any message content.
        history: The session's messages, oldest first; they stay unchanged.
        mode: ``"history"`` puts the last user turns in front, so that "and where is it?" finds what "it" is.
        history_turns: How many user turns with words in them, >= 0. Answers and tool output never count: they
            would find what was already found.

    Returns:
        The turns, oldest first, and the utterance, joined by newlines, without blanks around them and without
        recalled blocks that a host recorded. ``""`` for a blank utterance in either mode: who says nothing
        asks for nothing.  Each turn is :func:`bounded`.
    """
    spoken = bounded(clean(utterance).strip())
    if not spoken or mode != "history" or history_turns <= 0:
        return spoken
    turns: list[str] = []
    for message in reversed(history):
        if len(turns) == history_turns:
            break
        if message.role == MessageRole.USER and (said := strip_injected(clean(message.content)).strip()):
            turns.append(bounded(said))
    return "\n".join([*reversed(turns), spoken])
