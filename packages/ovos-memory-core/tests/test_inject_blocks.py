"""Member blocks in a context: each text once."""

from hypothesis import given
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.inject import Parts, inject

SYSTEM, DEVELOPER = MessageRole.SYSTEM, MessageRole.DEVELOPER


def texts(prompt, blocks):
    parts = Parts(system_prompt=prompt, member_blocks=tuple(blocks), utterance="hi")
    return [message.content for message in inject("system", parts)[:-1]]


def test_a_text_that_stands_in_front_of_a_block_already_is_taken_off():
    blocks = [
        AgentMessage(SYSTEM, "Be brief."),
        AgentMessage(SYSTEM, "Be kind.\n\nSummary: tea"),
        AgentMessage(SYSTEM, "Be brief.\n\nFacts: tea"),
        AgentMessage(DEVELOPER, "Facts: tea"),
        AgentMessage(SYSTEM, "Be kindly."),
    ]

    assert texts(" Be kind. ", blocks) == [
        "Be kind.",
        "Be brief.",
        "Summary: tea",
        "Facts: tea",
        "Be kindly.",
    ]


@given(st.lists(st.sampled_from(["a", "a\nb", "a\nb\nc", "b", "c", " "])), st.sampled_from(["", "a", "b"]))
def test_no_text_stands_twice_and_assembling_again_changes_nothing(blocks, prompt):
    once = texts(prompt, [AgentMessage(SYSTEM, text) for text in blocks])

    assert len(set(once)) == len(once)
    assert texts("", [AgentMessage(SYSTEM, text) for text in once]) == once
