"""Rules of the five inject modes: where recalled text stands in a context."""

from __future__ import annotations

import re

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.testing.messages import said, texts
from ovos_memory.testing.scenes import MODES, PROMPT, SECRET, RecallScenes
from ovos_memory.testing.suite import needs


class InjectSuite(RecallScenes):
    """Each engine gets the recall in the form that it can use."""

    @needs("retrieves")
    @pytest.mark.parametrize("inject_mode", MODES)
    def test_recall_reaches_the_engine_in_every_mode(self, inject_mode: str) -> None:
        """And what was recalled is in exactly one message beside the history."""
        memory = self._informed(inject_mode)
        context = self.context(memory, "who is my dentist", "tuesday", prompt=PROMPT)

        assert [SECRET in m.content for m in context].count(True) == 1

    @needs("retrieves")
    def test_mode_system_has_prompt_recall_history_utterance(self) -> None:
        """The recall is a system message of its own, behind the prompt."""
        context = self._context("system")

        assert [turn[0] for turn in said(context)] == ["system", "system", "user", "assistant", "user"]
        assert context[0].content == PROMPT and SECRET in context[1].content

    @needs("retrieves")
    def test_mode_developer_gives_the_recall_the_developer_role(self) -> None:
        """The prompt stays a system message."""
        context = self._context("developer")

        assert [turn[0] for turn in said(context)] == ["system", "developer", "user", "assistant", "user"]
        assert context[0].content == PROMPT and SECRET in context[1].content

    @needs("retrieves")
    def test_mode_system_prompt_has_one_system_message(self) -> None:
        """For templates that allow one optional system message, then user and assistant in turn."""
        context = self._context("system_prompt")

        assert [turn[0] for turn in said(context)] == ["system", "user", "assistant", "user"]
        assert context[0].content.startswith(PROMPT) and SECRET in context[0].content

    @needs("retrieves")
    def test_mode_user_puts_the_recall_before_the_utterance(self) -> None:
        """In the last message, for engines that drop system messages."""
        context = self._context("user")

        assert [turn[0] for turn in said(context)] == ["system", "user", "assistant", "user"]
        assert SECRET in context[-1].content and context[-1].content.endswith("who is my dentist")

    @needs("retrieves")
    def test_mode_tool_is_a_call_and_its_result(self) -> None:
        """With a stable id, and the utterance as its argument."""
        context = self._context("tool")

        assert [turn[0] for turn in said(context)] == [
            "system",
            "user",
            "assistant",
            "assistant",
            "tool",
            "user",
        ]
        made = (context[-3].tool_calls or [])[0]
        assert (made.name, made.arguments) == ("search_memory", {"query": "who is my dentist"})
        assert re.fullmatch(r"memrag_tuesday_\d+", made.id), made.id
        assert context[-2].tool_call_id == made.id and SECRET in context[-2].content

    @needs("retrieves")
    def test_the_tools_name_is_a_setting(self) -> None:
        """Engines show it to the model."""
        memory = self._informed("tool", {"context.tool_name": "look_back"})
        context = self.context(memory, "who is my dentist", "tuesday")

        assert (context[-3].tool_calls or [])[0].name == "look_back"

    @needs("retrieves")
    @pytest.mark.parametrize("inject_mode", MODES)
    def test_no_hits_no_block(self, inject_mode: str) -> None:
        """Neither an empty header nor an empty tool call."""
        memory = self.new({"inject_mode": inject_mode, "system_prompt": PROMPT})

        assert said(self.context(memory, "who is my dentist")) == [
            ("system", PROMPT),
            ("user", "who is my dentist"),
        ]

    @needs("retrieves")
    @pytest.mark.parametrize("inject_mode", MODES)
    def test_recall_stands_never_above_the_prompt(self, inject_mode: str) -> None:
        """What somebody once said does not outrank the persona."""
        text = texts(self.context(self._informed(inject_mode), "who is my dentist", "tuesday"))

        assert text.index(PROMPT) < text.index(SECRET)

    @needs("retrieves")
    @pytest.mark.parametrize("inject_mode", ["user", "tool"])
    def test_a_prompt_cache_stays_warm(self, inject_mode: str) -> None:
        """What was sent up to the history is a prefix of the next context."""
        memory = self.new({"inject_mode": inject_mode, "system_prompt": PROMPT, "max_history": 0})
        before: list[AgentMessage] = []
        for number in range(6):
            utterance = f"the tea of day {number}"
            context = self.context(memory, utterance)
            stable = context[: 1 + 2 * number]
            assert stable[: len(before)] == before
            before = stable
            self.tell(memory, utterance, f"answer {number}")
