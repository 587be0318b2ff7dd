"""Our short-term memory beside the one of ovos-persona: the same, and better where that one goes wrong."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ovos_persona.memory import BasicShortTermMemory as PersonaMemory
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.short_term import BasicShortTermMemory

WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs", "So")), min_size=1, max_size=12)


def user(text):
    return AgentMessage(MessageRole.USER, text)


def assistant(text):
    return AgentMessage(MessageRole.ASSISTANT, text)


CALLS = st.lists(
    st.one_of(
        st.builds(lambda question: [user(question)], WORDS),
        st.builds(lambda answer: [assistant(answer)], WORDS),
        st.builds(lambda question, answer: [user(question), assistant(answer)], WORDS, WORDS),
    ),
    max_size=14,
)


@given(CALLS, st.integers(0, 9), WORDS, st.sampled_from(["", "  ", "Be kind.", " Be kind. "]))
def test_history_and_context_are_the_same_for_ordinary_talk(calls, max_history, utterance, prompt):
    config = {"max_history": max_history, "system_prompt": prompt}
    theirs, ours = PersonaMemory(dict(config)), BasicShortTermMemory(dict(config))

    for said in calls:
        theirs.update_history(copy.deepcopy(said), "s")
        ours.update_history(copy.deepcopy(said), "s")

        assert ours.get_history("s") == theirs.get_history("s")
        assert ours.build_conversation_context(utterance, "s") == theirs.build_conversation_context(
            utterance, "s"
        )


def test_the_default_number_of_messages_is_the_same():
    theirs, ours = PersonaMemory(), BasicShortTermMemory()
    for n in range(6):
        theirs.update_history([user(f"q{n}"), assistant(f"a{n}")], "s")
        ours.update_history([user(f"q{n}"), assistant(f"a{n}")], "s")

    assert ours.get_history("s") == theirs.get_history("s")


def test_no_messages_are_accepted_where_theirs_raises():
    theirs, ours = PersonaMemory(), BasicShortTermMemory()
    for memory in (theirs, ours):
        memory.update_history([user("a"), assistant("b")], "s")

    with pytest.raises(IndexError):
        theirs.update_history([], "s")
    ours.update_history([], "s")

    assert ours.get_history("s") == [user("a"), assistant("b")]


def test_the_callers_messages_stay_where_theirs_edits_them():
    for memory, expected in ((PersonaMemory(), "b\nc"), (BasicShortTermMemory(), "c")):
        memory.update_history([user("a"), assistant("b")], "s")
        piece = assistant("c")
        memory.update_history([piece], "s")

        assert memory.get_history("s") == [user("a"), assistant("b\nc")]
        assert piece.content == expected


def test_an_unanswered_question_inside_one_call_is_dropped_where_theirs_replays_it():
    said = [user("turn on the"), user("my code is 4512"), assistant("noted")]
    theirs, ours = PersonaMemory(), BasicShortTermMemory()
    for memory in (theirs, ours):
        memory.update_history(copy.deepcopy(said), "s")

    assert theirs.get_history("s") == said
    assert ours.get_history("s") == said[1:]
