"""The five inject modes: who says what, in which order."""

from __future__ import annotations

import copy
import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.core.inject import Parts, inject
from ovos_memory.core.render import FENCE_CLOSE, FENCE_OPEN, Block, strip_injected

SYSTEM, DEVELOPER, USER = MessageRole.SYSTEM, MessageRole.DEVELOPER, MessageRole.USER
ASSISTANT, TOOL = MessageRole.ASSISTANT, MessageRole.TOOL
MODES = ["system", "developer", "system_prompt", "user", "tool"]

RECALL = Block("Recalled:", f"{FENCE_OPEN}\n- teal\n{FENCE_CLOSE}")
FENCED = f"Recalled:\n{FENCE_OPEN}\n- teal\n{FENCE_CLOSE}"
HISTORY = (
    AgentMessage(USER, "hi"),
    AgentMessage(ASSISTANT, "", tool_calls=[ToolCall("c1", "clock", {"zone": "UTC"})]),
    AgentMessage(TOOL, "noon", tool_call_id="c1", name="clock"),
    AgentMessage(ASSISTANT, "It is noon."),
)
PARTS = Parts(
    system_prompt="Be kind.",
    member_blocks=(AgentMessage(SYSTEM, "Facts: likes tea"), AgentMessage(DEVELOPER, "Summary: talked")),
    recall=RECALL,
    history=HISTORY,
    utterance="which colour?",
    query="which colour?",
    call_id="memrag_default_7",
)
BLOCKS = [(SYSTEM, "Facts: likes tea"), (DEVELOPER, "Summary: talked")]
TURNS = [(USER, "hi"), (ASSISTANT, ""), (TOOL, "noon"), (ASSISTANT, "It is noon.")]
ASKED = (USER, "which colour?")


def spoken(messages: list[AgentMessage]) -> list[tuple[MessageRole, str]]:
    return [(message.role, message.content) for message in messages]


def changed(**changes: object) -> Parts:
    return dataclasses.replace(PARTS, **changes)  # type: ignore[arg-type]


# ---------------------------------------------------------------- the modes
def test_system_puts_recall_in_a_message_of_its_own() -> None:
    assert spoken(inject("system", PARTS)) == [(SYSTEM, "Be kind."), *BLOCKS, (SYSTEM, FENCED), *TURNS, ASKED]


def test_developer_differs_in_the_role_alone() -> None:
    assert spoken(inject("developer", PARTS)) == [
        *((SYSTEM, "Be kind."), *BLOCKS, (DEVELOPER, FENCED), *TURNS, ASKED)
    ]


def test_system_prompt_has_one_system_message() -> None:
    text = f"Be kind.\n\nFacts: likes tea\n\nSummary: talked\n\n{FENCED}"

    assert spoken(inject("system_prompt", PARTS)) == [(SYSTEM, text), *TURNS, ASKED]


def test_user_puts_recall_into_the_last_message() -> None:
    assert spoken(inject("user", PARTS)) == [
        *((SYSTEM, "Be kind."), *BLOCKS, *TURNS),
        (USER, f"{FENCED}\n\nwhich colour?"),
    ]


def test_tool_presents_recall_as_a_search_just_before_the_user_turn() -> None:
    messages = inject("tool", changed(tool_name="look_back", query="colour\nwhich colour?"))

    assert spoken(messages) == [
        *((SYSTEM, "Be kind."), *BLOCKS, *TURNS),
        *((ASSISTANT, ""), (TOOL, FENCED), ASKED),
    ]
    call, result = messages[-3:-1]
    assert call.tool_calls == [ToolCall("memrag_default_7", "look_back", {"query": "colour\nwhich colour?"})]
    assert (result.tool_call_id, result.name) == ("memrag_default_7", "look_back")


@pytest.mark.parametrize("mode", MODES)
def test_without_recall_there_is_no_trace_of_it(mode: str) -> None:
    front = [(SYSTEM, "Be kind."), *BLOCKS]
    if mode == "system_prompt":
        front = [(SYSTEM, "Be kind.\n\nFacts: likes tea\n\nSummary: talked")]

    parts = changed(
        recall=None, system_prompt_template="Memory: {context} {system}", user_template="Memory: {context}"
    )

    assert spoken(inject(mode, parts)) == [*front, *TURNS, ASKED]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("prompt", ["", "  \n", None])
def test_a_blank_prompt_is_no_message(mode: str, prompt: str) -> None:
    bare = Parts(system_prompt=prompt, utterance="hi")

    assert spoken(inject(mode, bare)) == [(USER, "hi")]
    assert all(
        message.content.strip() for message in inject("system", changed(system_prompt=prompt, history=()))
    )


@pytest.mark.parametrize("mode", MODES)
def test_prompt_and_utterance_are_stripped(mode: str) -> None:
    messages = inject(mode, Parts(system_prompt=" Be kind.\n", utterance="  hi "))

    assert spoken(messages) == [(SYSTEM, "Be kind."), (USER, "hi")]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="system, developer, system_prompt, user, tool, got 'none'"):
        inject("none", PARTS)


# ---------------------------------------------------------------- one prompt, once
@pytest.mark.parametrize("mode", MODES)
def test_one_prompt_appears_once(mode: str) -> None:
    blocks = (
        AgentMessage(SYSTEM, " Be kind. "),
        AgentMessage(DEVELOPER, "Be kind."),
        AgentMessage(SYSTEM, "Be kind.\n\nFacts: likes tea"),
        AgentMessage(SYSTEM, "Facts: likes tea"),
        AgentMessage(SYSTEM, "  "),
        AgentMessage(SYSTEM, None),  # type: ignore[arg-type]
    )

    messages = inject(mode, changed(member_blocks=blocks))

    everything = "\n".join(message.content for message in messages)
    assert everything.count("Be kind.") == 1
    assert everything.count("Facts: likes tea") == 1
    assert len([message for message in messages if message.role in (SYSTEM, DEVELOPER)]) == (
        {"system": 3, "developer": 3, "system_prompt": 1}.get(mode, 2)
    )


def test_a_block_that_only_begins_like_the_prompt_stays_whole() -> None:
    messages = inject("user", Parts(system_prompt="Be", member_blocks=(AgentMessage(SYSTEM, "Better so"),)))

    assert spoken(messages)[1] == (SYSTEM, "Better so")


# ---------------------------------------------------------------- templates
@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{system}\n{header}\n{context}", f"S\n{FENCED}"),
        ("{context}\n\n{system}", f"{RECALL.body}\n\nS"),
        ("Rules: {system}", f"Rules: S\n\n{FENCED}"),
        ("{header}", f"S\n\nRecalled:\n\n{RECALL.body}"),
        ("Memory:\n{context}", f"S\n\nMemory:\n{RECALL.body}"),
        ("", f"S\n\n\n\n{FENCED}"),
        ("{other} {{system}} {} %s {context}", "{other} {S} {} %s " + RECALL.body),
    ],
)
def test_a_system_prompt_template_loses_neither_prompt_nor_recall(template: str, text: str) -> None:
    parts = Parts(system_prompt="S", recall=RECALL, system_prompt_template=template)

    assert inject("system_prompt", parts)[0].content == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{utterance}\n\n{header}\n{context}", f"U\n\n{FENCED}"),
        ("{context}", f"{RECALL.body}\n\nU"),
        ("Question: {utterance}", f"Question: U\n\n{FENCED}"),
        ("Hello", f"Hello\n\n{FENCED}\n\nU"),
        ("{header} / {utterance}", f"Recalled: / U\n\n{RECALL.body}"),
    ],
)
def test_a_user_template_loses_neither_utterance_nor_recall(template: str, text: str) -> None:
    assert inject("user", Parts(recall=RECALL, utterance="U", user_template=template))[-1].content == text


def test_what_is_empty_leaves_no_rubble() -> None:
    bare = Block("", RECALL.body)

    assert inject("system_prompt", Parts(recall=RECALL))[0].content == FENCED
    assert inject("system_prompt", Parts(recall=bare))[0].content == RECALL.body
    assert inject("system_prompt", Parts(system_prompt="S", recall=bare))[0].content == f"S\n\n{RECALL.body}"
    assert inject("user", Parts(recall=bare, utterance="U"))[-1].content == f"{RECALL.body}\n\nU"
    assert inject("user", Parts(recall=RECALL))[-1].content == FENCED


def test_values_are_never_filled_again() -> None:
    parts = Parts(
        system_prompt="{context}",
        recall=Block("{utterance}{system}", f"{FENCE_OPEN}\n- {{utterance}} {{header}}\n{FENCE_CLOSE}"),
        utterance="{context} {header}\n\n\n\n{system}",
    )

    assert inject("user", parts)[-1].content == f"{parts.recall}\n\n{parts.utterance}"
    assert inject("system_prompt", parts)[0].content == f"{{context}}\n\n{parts.recall}"


def test_blank_lines_inside_values_stay() -> None:
    parts = Parts(system_prompt="a\n\n\n\nb", recall=RECALL, utterance="c\n\n\n\nd")

    assert inject("system_prompt", parts)[0].content == f"a\n\n\n\nb\n\n{FENCED}"
    assert inject("user", parts)[-1].content == f"{FENCED}\n\nc\n\n\n\nd"


# ---------------------------------------------------------------- ownership
@pytest.mark.parametrize("mode", MODES)
def test_everything_returned_is_the_callers(mode: str) -> None:
    before = copy.deepcopy(PARTS)

    first = inject(mode, PARTS)
    for message in first:
        message.content = "changed"
        for call in message.tool_calls or ():
            call.arguments["changed"] = True
        message.tool_calls = []
    first.clear()

    assert before == PARTS
    assert inject(mode, PARTS) == inject(mode, before)


@pytest.mark.parametrize("mode", MODES)
def test_the_same_parts_give_the_same_context(mode: str) -> None:
    assert inject(mode, PARTS) == inject(mode, copy.deepcopy(PARTS))


@given(
    mode=st.sampled_from(MODES),
    recall=st.sampled_from([None, RECALL]),
    prompt=st.sampled_from(["", "Be kind."]),
    history=st.sampled_from([(), HISTORY]),
    utterance=st.text(),
)
def test_the_last_message_is_always_the_users(
    mode: str, recall: Block | None, prompt: str, history: tuple[AgentMessage, ...], utterance: str
) -> None:
    messages = inject(mode, Parts(prompt, recall=recall, history=history, utterance=utterance, call_id="c"))

    assert messages[-1].role == USER
    assert messages[-1].content.endswith(utterance.replace("\0", "").strip())
    assert [message.role for message in messages].count(USER) == 1 + bool(history)
    assert all(
        before.tool_calls and before.tool_calls[0].id == message.tool_call_id
        for before, message in itertools.pairwise(messages)
        if message.role == TOOL
    )


@pytest.mark.parametrize("mode", MODES)
def test_what_was_injected_never_comes_back_as_something_said(mode: str) -> None:
    messages = inject(mode, changed(member_blocks=()))

    said = [strip_injected(message.content) for message in messages]
    assert "teal" not in "".join(said)
    assert said[-1] == "which colour?"
    assert said[0] == "Be kind."


# ---------------------------------------------------------------- prompt cache
@pytest.mark.parametrize("mode", ["user", "tool"])
def test_everything_up_to_the_history_begins_the_next_context(mode: str) -> None:
    now = changed(utterance="and size?", recall=Block("Recalled:", f"{FENCE_OPEN}\n- large\n{FENCE_CLOSE}"))
    later = dataclasses.replace(
        now,
        history=(*HISTORY, AgentMessage(USER, "and size?"), AgentMessage(ASSISTANT, "Large.")),
        utterance="why?",
        recall=RECALL,
        call_id="memrag_default_8",
    )

    first, second = inject(mode, now), inject(mode, later)

    same = list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    assert len(same) == 3 + len(HISTORY)
