"""Answers of members, checked and copied."""

import copy
import math
from types import SimpleNamespace

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.composite.adapt import (
    bind_search,
    read_blocks,
    read_history,
    read_hits,
)
from ovos_memory.core.errors import MemberError
from ovos_memory.core.types import MemoryHit

SYSTEM, DEVELOPER, USER, ASSISTANT = (
    MessageRole.SYSTEM,
    MessageRole.DEVELOPER,
    MessageRole.USER,
    MessageRole.ASSISTANT,
)


def record_call(**given):
    return given


@pytest.mark.parametrize(
    ("search", "expected", "is_told"),
    [
        (
            lambda query, session_id=None, top_k=None: record_call(q=query, s=session_id, k=top_k),
            {"q": "tea", "s": "s1", "k": 7},
            True,
        ),
        (lambda q, **rest: record_call(q=q, **rest), {"q": "tea", "session_id": "s1", "top_k": 7}, True),
        (lambda text: record_call(q=text), {"q": "tea"}, False),
        (lambda text, *, top_k: record_call(q=text, k=top_k), {"q": "tea", "k": 7}, False),
        (lambda text, limit=3: record_call(q=text, k=limit), {"q": "tea", "k": 3}, False),
    ],
    ids=["contract", "any keyword", "query only", "no session", "other names"],
)
def test_a_search_is_called_with_what_it_takes(search, expected, is_told):
    call, takes_session = bind_search(search)

    assert call("tea", "s1", 7) == expected
    assert takes_session is is_told


def test_a_search_that_needs_something_else_is_refused():
    with pytest.raises(MemberError, match="cannot be called as search"):
        bind_search(lambda query, lang: [])


def test_any_object_with_a_text_is_a_hit():
    [hit] = read_hits([SimpleNamespace(content="tea", score="0.5", source=7)], limit=5)

    assert hit == MemoryHit("tea", source="7", score=0.5, metadata={})


@pytest.mark.parametrize("found", [None, "tea", b"tea", {"content": "tea"}, 3, object()])
def test_what_is_no_list_is_a_member_error(found):
    for read in (lambda: read_hits(found, limit=5), lambda: read_blocks(found), lambda: read_history(found)):
        with pytest.raises(MemberError, match=type(found).__name__):
            read()


@pytest.mark.parametrize(
    "item", [None, "tea", {"content": "tea"}, SimpleNamespace(content=None), ("tea", 1.0)]
)
def test_a_hit_without_text_is_a_member_error(item):
    with pytest.raises(MemberError, match="no text `content`"):
        read_hits([MemoryHit("fine"), item], limit=5)


def test_an_error_never_quotes_what_was_said():
    for read in (
        lambda: read_hits(["my secret"], limit=5),
        lambda: read_hits("my secret", limit=5),
        lambda: read_blocks(["my secret"]),
        lambda: read_history(["my secret"]),
    ):
        with pytest.raises(MemberError) as caught:
            read()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("score", ["high", None, 10**400, object()])
def test_a_score_that_is_no_number_is_nan(score):
    assert math.isnan(read_hits([SimpleNamespace(content="tea", score=score)], limit=5)[0].score)


def test_a_hit_without_a_score_scores_zero():
    assert read_hits([SimpleNamespace(content="tea")], limit=5)[0].score == 0.0


def test_hits_are_cut_to_the_limit_and_blank_ones_left_out():
    def endless():
        yield MemoryHit(" ")
        while True:
            yield MemoryHit("tea")

    assert [hit.content for hit in read_hits(endless(), limit=3)] == ["tea", "tea"]


def test_hits_are_copies():
    original = MemoryHit("tea", metadata={"tags": ["hot"]})

    [hit] = read_hits([original], limit=1)
    hit.metadata["tags"].append("green")

    assert original.metadata == {"tags": ["hot"]}


def test_only_the_leading_blocks_of_a_context_are_taken():
    context = [
        AgentMessage(SYSTEM, " prompt "),
        AgentMessage("developer", "facts"),
        AgentMessage(SYSTEM, "  "),
        AgentMessage(USER, "hello"),
        AgentMessage(SYSTEM, "late"),
    ]

    assert read_blocks(context) == [AgentMessage(SYSTEM, "prompt"), AgentMessage(DEVELOPER, "facts")]


def test_a_history_keeps_neither_system_messages_nor_the_members_objects():
    call = ToolCall("c1", "weather", {"city": ["Rome"]})
    mine = [
        AgentMessage(SYSTEM, "prompt"),
        AgentMessage(USER, "weather?"),
        AgentMessage(ASSISTANT, None, tool_calls=[call]),
        AgentMessage(MessageRole.TOOL, "21", tool_call_id="c1"),
        AgentMessage(ASSISTANT, "21 degrees"),
    ]
    before = copy.deepcopy(mine)

    history = read_history(mine)
    history[1].tool_calls[0].arguments["city"].append("Oslo")

    assert [m.role for m in history] == [USER, ASSISTANT, MessageRole.TOOL, ASSISTANT]
    assert mine == before
