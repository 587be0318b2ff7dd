"""What was injected into a context is not said again."""

import copy

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.core.inject import Parts, inject
from ovos_memory.core.render import block
from ovos_memory.core.said import INJECTED_CALL_PREFIX, really_said
from ovos_memory.core.settings import ContextSettings
from ovos_memory.core.types import MemoryHit

U, A, T = MessageRole.USER, MessageRole.ASSISTANT, MessageRole.TOOL


def test_the_messages_of_every_inject_mode_come_back_as_what_was_said():
    history = (AgentMessage(U, "hello"), AgentMessage(A, "hi"))
    for mode in ("system", "developer", "system_prompt", "user", "tool"):
        parts = Parts(
            system_prompt="Be kind.",
            recall=block([MemoryHit("Q: tea?\nA: green")], ContextSettings()),
            history=history,
            utterance="which tea?",
            query="which tea?",
            call_id=f"{INJECTED_CALL_PREFIX}s_0",
        )

        assert really_said(inject(mode, parts)) == [*history, AgentMessage(U, "which tea?")], mode


def test_real_tool_calls_stay_and_the_callers_messages_too():
    messages = [
        AgentMessage(U, "weather?"),
        AgentMessage(A, "", tool_calls=[ToolCall("c1", "weather", {"city": "Rome"})]),
        AgentMessage(T, "21", tool_call_id="c1", name="weather"),
        AgentMessage(A, "21 degrees"),
    ]
    before = copy.deepcopy(messages)

    assert really_said(messages) == before == messages
