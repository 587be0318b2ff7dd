"""What is searched for: the utterance, or the last user turns and the utterance."""

from __future__ import annotations

import copy

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.core.fence import FENCE_CLOSE, FENCE_OPEN
from ovos_memory.core.query import MAX_QUERY_CHARS, search_text


def said(text: object) -> AgentMessage:
    return AgentMessage(MessageRole.USER, text)  # type: ignore[arg-type]


HISTORY = [
    AgentMessage(MessageRole.SYSTEM, "be kind"),
    said("where is the harbour?"),
    AgentMessage(MessageRole.ASSISTANT, "in the north"),
    said("who built it?"),
    AgentMessage(MessageRole.ASSISTANT, "", tool_calls=[ToolCall("c1", "look_up", {})]),
    AgentMessage(MessageRole.TOOL, "tool output", tool_call_id="c1"),
    AgentMessage(MessageRole.ASSISTANT, "the Danes"),
]


def test_the_utterance_alone_is_cleaned_and_stripped() -> None:
    assert (
        search_text("  and \ud83d when?\n", HISTORY, mode="utterance", history_turns=3) == "and \ufffd when?"
    )


def test_history_puts_the_last_user_turns_in_front_oldest_first() -> None:
    assert search_text("and when?", HISTORY, mode="history", history_turns=3) == (
        "where is the harbour?\nwho built it?\nand when?"
    )
    assert search_text("and when?", HISTORY, mode="history", history_turns=1) == "who built it?\nand when?"


def test_no_turns_is_the_utterance_alone() -> None:
    assert search_text("and when?", HISTORY, mode="history", history_turns=0) == "and when?"
    assert search_text("and when?", [], mode="history", history_turns=3) == "and when?"


@pytest.mark.parametrize("utterance", ["", "  ", None, "\n\t", []])
@pytest.mark.parametrize("mode", ["utterance", "history"])
def test_a_blank_utterance_asks_for_nothing(utterance: object, mode: str) -> None:
    assert search_text(utterance, HISTORY, mode=mode, history_turns=3) == ""  # type: ignore[arg-type]


def test_turns_without_words_do_not_count() -> None:
    history = [said("one"), said(None), said("  "), said([{"type": "text", "text": "two"}])]

    assert search_text("three", history, mode="history", history_turns=2) == "one\ntwo\nthree"


def test_a_recalled_block_in_the_history_is_not_searched_for() -> None:
    history = [said(f"A header\n{FENCE_OPEN}\n- old\n{FENCE_CLOSE}\n\nwhich one?")]

    assert search_text("why?", history, mode="history", history_turns=3) == "which one?\nwhy?"


def test_the_history_stays_unchanged() -> None:
    before = copy.deepcopy(HISTORY)

    search_text("and when?", HISTORY, mode="history", history_turns=3)

    assert before == HISTORY


@pytest.mark.parametrize("mode", ["utterance", "history"])
def test_of_a_document_that_was_pasted_beginning_and_end_are_searched_for(mode: str) -> None:
    pasted = "first words " + "x " * 1_000_000 + "last words"

    text = search_text(pasted, [said(pasted)], mode=mode)  # type: ignore[arg-type]

    assert len(text) <= 2 * (MAX_QUERY_CHARS + 2)
    assert text.startswith("first words") and text.endswith("last words")
    assert search_text("x" * MAX_QUERY_CHARS, []) == "x" * MAX_QUERY_CHARS
