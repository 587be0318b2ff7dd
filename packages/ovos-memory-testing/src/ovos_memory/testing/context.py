"""Rules of ``build_conversation_context`` that hold for every memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from ovos_memory.testing import checks
from ovos_memory.testing.messages import (
    assistant,
    call,
    pair,
    private_copy,
    said,
    texts,
    tool,
    user,
    vandalise,
)
from ovos_memory.testing.suite import MemorySuite, needs

PROMPT = "You are Rosie, a patient house robot."


class ContextSuite(MemorySuite):
    """Whatever was said before, the chat engine gets messages it can use."""

    def _situations(self) -> Iterator[tuple[str, Any]]:
        """Yield (description, memory whose session ``s`` is in that state)."""
        yield "nothing was said yet", self.new()
        talked = self.new(folder=self.folder / "talked")
        self.tell(talked, "the ficus stands in the kitchen", "I will remember")
        self.tell(talked, "it wants water on Mondays")
        yield "two exchanges", talked
        waiting = self.new(folder=self.folder / "waiting")
        self.tell(waiting, "the ficus stands in the kitchen")
        waiting.update_history([user("and the…")], "s")
        yield "a question without an answer", waiting
        measured = self.new(folder=self.folder / "measured")
        measured.update_history(
            [
                user("how warm is the kitchen"),
                assistant(None, call("c1", room="kitchen"), call("c2", room="hall")),
                tool("21 °C", "c1"),
                tool("18 °C", "c2"),
                assistant("21 degrees, 18 in the hall"),
            ],
            "s",
        )
        yield "tools were called", measured
        odd = self.new(folder=self.folder / "odd")
        odd.update_history([assistant("hello, I am here")], "s")
        odd.update_history([user(None), assistant(None, call("c3")), tool("off", "c3"), assistant(None)], "s")
        odd.update_history([user("")], "s")
        yield "contents are missing", odd

    def test_a_context_is_a_list_of_messages(self) -> None:
        """Engines index into it and insert."""
        for _, memory in self._situations():
            checks.check_messages(memory.build_conversation_context("what about the ficus", "s"))

    def test_the_last_message_is_the_utterance(self) -> None:
        """What the user says now is what the engine answers."""
        for _, memory in self._situations():
            for utterance in ("what about the ficus", "  hi\t\n", "", "line one\nline two", "ficus? {x} %s"):
                context = memory.build_conversation_context(utterance, "s")
                checks.check_last_is_the_utterance(context, utterance)
                assert said(context)[-1] == ("user", utterance.strip())

    def test_no_utterance_is_an_empty_one(self) -> None:
        """A host may hand on ``None`` when speech recognition heard nothing."""
        for _, memory in self._situations():
            assert said(memory.build_conversation_context(None, "s"))[-1] == ("user", "")

    def test_instructions_stand_only_in_front(self) -> None:
        """Many engines and chat templates refuse a system message in the middle."""
        for _, memory in self._situations():
            checks.check_instructions_stand_in_front(
                memory.build_conversation_context("what about the ficus", "s")
            )

    def test_tool_results_follow_their_calls(self) -> None:
        """Chat servers refuse a result without a call, and a call without its results."""
        for _, memory in self._situations():
            checks.check_tool_turns_are_whole(memory.build_conversation_context("what about the ficus", "s"))

    def test_contents_are_text(self) -> None:
        """``None`` is legal only beside tool calls."""
        for _, memory in self._situations():
            checks.check_content_is_text(memory.build_conversation_context("what about the ficus", "s"))

    def test_missing_words_are_never_the_word_none(self) -> None:
        """Formatting ``None`` puts a word into the mouth of somebody who said nothing."""
        for _, memory in self._situations():
            assert "None" not in texts(memory.build_conversation_context("what about the ficus", "s"))

    def test_the_turns_of_a_context_alternate(self) -> None:
        """A question that got no answer is not sent again, and no history begins with an answer."""
        for _, memory in self._situations():
            context = memory.build_conversation_context("what about the ficus", "s")
            checks.check_conversation([m for m in context if m.role not in checks.FRONT_ROLES])

    def test_equal_states_give_equal_contexts(self) -> None:
        """Nothing random, no clock: a prompt cache stays warm and a bug report can be replayed."""
        again = dict(self._situations())
        for situation, memory in self._situations():
            first = memory.build_conversation_context("what about the ficus", "s")
            assert memory.build_conversation_context("what about the ficus", "s") == first, situation
            assert again[situation].build_conversation_context("what about the ficus", "s") == first, (
                situation
            )

    def test_a_context_is_the_callers_to_change(self) -> None:
        """Engines edit the list they are given; the next turn must not see it."""
        for situation, memory in self._situations():
            context = memory.build_conversation_context("what about the ficus", "s")
            kept = private_copy(context)
            vandalise(context)
            assert memory.build_conversation_context("what about the ficus", "s") == kept, situation

    def test_building_a_context_records_nothing(self) -> None:
        """The turn is recorded afterwards, by ``update_history``."""
        for situation, memory in self._situations():
            before = memory.get_history("s")
            memory.build_conversation_context("a word that nobody said before", "s")
            assert memory.get_history("s") == before, situation
            assert "nobody said" not in texts(memory.build_conversation_context("ficus", "s"))

    def test_sessions_are_not_mixed(self) -> None:
        """The turns of one conversation never become turns of another."""
        memory = self.new()
        self.tell(memory, "my name is Ann", session_id="ann")

        turns = said(memory.build_conversation_context("zzz", "bob"))
        assert [turn for turn in turns if turn[0] not in ("system", "developer")] == [("user", "zzz")]

    def test_no_session_is_the_default_session(self) -> None:
        """Callers without sessions share one, named ``default``."""
        memory = self.new()
        memory.update_history(pair("the ficus is thirsty", "noted"), None)

        named = memory.build_conversation_context("and now", "default")
        assert memory.build_conversation_context("and now", None) == named
        assert memory.get_history(None) == memory.get_history("default")
        if self.keeps_history:
            assert ("user", "the ficus is thirsty") in said(named)

    def test_an_empty_session_id_is_a_session_of_its_own(self) -> None:
        """Session ids are opaque; the empty text is one."""
        memory = self.new()
        memory.update_history(pair("the ficus is thirsty", "noted"), "")

        assert memory.get_history("default") == []

    def test_an_interrupt_passes_through(self) -> None:
        """``Ctrl-C`` is nobody's failure: a memory that swallows it cannot be stopped."""

        class Interrupted(list[Any]):
            def __iter__(self) -> NoReturn:
                raise KeyboardInterrupt

        memory = self.new()
        with pytest.raises(KeyboardInterrupt):
            memory.update_history(Interrupted([user("x")]), "s")

    def test_a_message_that_is_none_of_ours_breaks_nothing(self) -> None:
        """A caller's mistake costs its message, not the conversation."""
        memory = self.new()
        memory.update_history([{"role": "user", "content": "x"}, None, 7], "s")
        self.tell(memory, "the ficus stands in the kitchen")

        self.context(memory, "what about the ficus")

    def test_settings_are_read_once(self) -> None:
        """The persona's dict is not the memory's: edited later, it changes nothing."""
        settings = self.settings({"system_prompt": PROMPT} if self.prompts else {})
        kept = copy.deepcopy(settings)
        memory = type(self).factory(settings)
        self.tell(memory, "the ficus stands in the kitchen")
        assert settings == kept, "the caller's configuration was edited"
        before = memory.build_conversation_context("what about the ficus", "s")

        for key in list(settings):
            settings[key] = {"edited": True}
        settings["system_prompt"] = "you are somebody else"
        assert memory.build_conversation_context("what about the ficus", "s") == before

    @needs("prompts")
    def test_the_prompt_comes_first_and_once(self) -> None:
        """The persona's prompt opens every context; a second copy wastes a small model's window."""
        for _, memory in self._prompted(f"  {PROMPT}\n"):
            context = memory.build_conversation_context("what about the ficus", "s")
            checks.check_prompt(context, PROMPT)

    @needs("prompts")
    def test_the_prompt_is_a_message_of_its_own(self) -> None:
        """Engines that cache prompts want it unchanged from turn to turn."""
        for _, memory in self._prompted(PROMPT):
            assert said(memory.build_conversation_context("what about the ficus", "s"))[0] == (
                "system",
                PROMPT,
            )

    @needs("prompts")
    @pytest.mark.parametrize("blank", ["", "  ", None])
    def test_a_blank_prompt_is_no_message(self, blank: str | None) -> None:
        """An empty system message makes some servers refuse the turn."""
        for _, memory in self._prompted(blank):
            checks.check_prompt(memory.build_conversation_context("what about the ficus", "s"), "")

    @needs("prompts")
    def test_words_in_braces_in_a_prompt_stay_as_they_are(self) -> None:
        """A prompt is text, not a format string."""
        prompt = 'Answer as {"text": "{utterance}"} and 100 %s {context}'
        for _, memory in self._prompted(prompt):
            assert prompt in memory.build_conversation_context("what about the ficus", "s")[0].content

    def _prompted(self, prompt: str | None) -> Iterator[tuple[str, Any]]:
        fresh = self.new({"system_prompt": prompt}, folder=self.folder / "prompted")
        yield "nothing was said yet", fresh
        self.tell(fresh, "the ficus stands in the kitchen")
        yield "one exchange", fresh
