"""Twins that build contexts which no engine can use."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.exchanges import session_key
from ovos_memory.testing.context import ContextSuite
from ovos_memory.testing.messages import system, user
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.twins.catalogue import twin


@twin(
    ContextSuite,
    "a_context_is_a_list_of_messages",
    "a_context_is_the_callers_to_change",
    "a_message_that_is_none_of_ours_breaks_nothing",
)
class ReturnsATuple(ReferenceMemory):
    """It cannot be inserted into."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> Any:
        """Return a tuple."""
        return tuple(super().build_conversation_context(utterance, session_id))


@twin(ContextSuite, "the_last_message_is_the_utterance")
class KeepsBlanks(ReferenceMemory):
    """Sends the utterance as it came."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context whose utterance has its blanks."""
        context = super().build_conversation_context(utterance, session_id)
        return [*context[:-1], user(utterance or "")]


@twin(ContextSuite, "no_utterance_is_an_empty_one")
class AsksNone(ReferenceMemory):
    """Formats what it is given."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with the word None for none."""
        return super().build_conversation_context(f"{utterance}", session_id)


@twin(
    ContextSuite,
    "instructions_stand_only_in_front",
    "a_message_that_is_none_of_ours_breaks_nothing",
)
class RemindsAtTheEnd(ReferenceMemory):
    """Puts a system message before the last question."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with a reminder in the middle."""
        context = super().build_conversation_context(utterance, session_id)
        has_history = any(m.role == MessageRole.ASSISTANT for m in context)
        return [*context[:-1], *([system("be brief")] if has_history else []), context[-1]]


@twin(ContextSuite, "tool_results_follow_their_calls")
class LeavesOutCalls(ReferenceMemory):
    """Thinks that a message without words says nothing."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context without the turns that only call tools."""
        context = super().build_conversation_context(utterance, session_id)
        return [message for message in context if not message.tool_calls]


@twin(ContextSuite, "contents_are_text")
class SendsNone(ReferenceMemory):
    """Turns empty contents back into what an API sent."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with ``None`` in it."""
        context = super().build_conversation_context(utterance, session_id)
        for message in context[:-1]:
            message.content = message.content or None  # type: ignore[assignment]
        return context


@twin(ContextSuite, "missing_words_are_never_the_word_none")
class SaysNone(ReferenceMemory):
    """Formats missing contents."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages, ``None`` as a word."""
        said = list(new_messages)
        for place, message in enumerate(said):
            if isinstance(message, AgentMessage) and message.content is None:
                words = f"{message.content}"
                said[place] = AgentMessage(message.role, words, message.tool_calls, message.tool_call_id)
        super().update_history(said, session_id)


@twin(ContextSuite, "the_turns_of_a_context_alternate")
class ReplaysTheOrphan(ReferenceMemory):
    """Sends a question again that got no answer."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with two questions in a row."""
        context = super().build_conversation_context(utterance, session_id)
        last = self.get_history(session_id)[-1:]
        orphan = [m for m in last if m.role == MessageRole.USER]
        return [*context[:-1], *orphan, context[-1]]


@twin(
    ContextSuite,
    "equal_states_give_equal_contexts",
    "a_context_is_the_callers_to_change",
    "a_message_that_is_none_of_ours_breaks_nothing",
    "settings_are_read_once",
    "no_session_is_the_default_session",
)
class TellsTheTime(ReferenceMemory):
    """Puts a clock in front."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context that is never the same twice."""
        context = super().build_conversation_context(utterance, session_id)
        front = 1 if context[0].role == MessageRole.SYSTEM else 0
        return [*context[:front], system(f"it is {time.perf_counter_ns()}"), *context[front:]]


@twin(ContextSuite, "equal_states_give_equal_contexts")
class NumbersItsInstances(ReferenceMemory):
    """Two memories of the same state differ, though each is the same every time."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with the address of this object."""
        context = super().build_conversation_context(utterance, session_id)
        front = 1 if context[0].role == MessageRole.SYSTEM else 0
        return [*context[:front], system(f"memory {id(self)}"), *context[front:]]


@twin(ContextSuite, "a_context_is_the_callers_to_change")
class HandsOutItsCache(ReferenceMemory):
    """Keeps the list that it returns."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return the list of the last time."""
        cache: dict[Any, list[AgentMessage]] = self.__dict__.setdefault("cache", {})
        key = (utterance, session_id, len(self._turns(session_key(session_id))))
        if key not in cache:
            cache[key] = super().build_conversation_context(utterance, session_id)
        return cache[key]


@twin(ContextSuite, "building_a_context_records_nothing")
class RecordsTheQuestion(ReferenceMemory):
    """Records the utterance when it is asked for a context."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context, and remember the utterance."""
        context = super().build_conversation_context(utterance, session_id)
        if "nobody" in (utterance or ""):
            self.update_history([user(utterance)], session_id)
        return context


@twin(ContextSuite, "sessions_are_not_mixed", "an_empty_session_id_is_a_session_of_its_own")
class HasOneSession(ReferenceMemory):
    """Ignores who is speaking."""

    def _turns(self, session_id: str) -> list[AgentMessage]:
        return super()._turns("everybody")

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages for everybody."""
        super().update_history(new_messages, "everybody")


@twin(ContextSuite, "no_session_is_the_default_session")
class KeepsNobodysTurns(ReferenceMemory):
    """Gives callers without a session one that nobody else can name."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        super().update_history(new_messages, "\x00nobody" if session_id is None else session_id)


@twin(ContextSuite, "an_empty_session_id_is_a_session_of_its_own")
class TakesEmptyForNone(ReferenceMemory):
    """Writes ``session_id or "default"``."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        super().update_history(new_messages, session_id or "default")


@twin(ContextSuite, "an_interrupt_passes_through")
class SwallowsInterrupts(ReferenceMemory):
    """Catches everything."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages, whatever happens."""
        try:
            super().update_history(new_messages, session_id)
        except BaseException:
            return


@twin(ContextSuite, "a_message_that_is_none_of_ours_breaks_nothing")
class TrustsItsCallers(ReferenceMemory):
    """Believes that a list of messages holds messages."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        super().update_history([m for m in new_messages if m.role is not None], session_id)


@twin(ContextSuite, "settings_are_read_once")
class ReadsItsSettingsAgain(ReferenceMemory):
    """Keeps the persona's dict."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__(config)
        self._given = config or {}

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with today's prompt."""
        context = super().build_conversation_context(utterance, session_id)
        front = 1 if context[0].role == MessageRole.SYSTEM else 0
        prompt = str(self._given.get("system_prompt") or "").strip()
        return [*([system(prompt)] if prompt else []), *context[front:]]


@twin(ContextSuite, "settings_are_read_once")
class EditsItsSettings(ReferenceMemory):
    """Fills defaults into the persona's dict."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        if isinstance(config, dict):
            config.setdefault("max_history", 10)
        super().__init__(config)


@twin(ContextSuite, "the_prompt_comes_first_and_once")
class RepeatsThePrompt(ReferenceMemory):
    """One layer more that prepends it."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with the prompt twice."""
        context = super().build_conversation_context(utterance, session_id)
        prompt = self.settings.system_prompt.strip()
        return [*([system(prompt)] if prompt else []), *context]


@twin(ContextSuite, "the_prompt_is_a_message_of_its_own")
class AddsToThePrompt(ReferenceMemory):
    """Has something to say itself."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with a longer prompt."""
        context = super().build_conversation_context(utterance, session_id)
        if self.settings.system_prompt.strip():
            context[0].content += "\nYou have a memory."
        return context


@twin(ContextSuite, "a_blank_prompt_is_no_message")
class SendsABlankPrompt(ReferenceMemory):
    """Always has a system message."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context that begins with a system message."""
        context = super().build_conversation_context(utterance, session_id)
        return context if self.settings.system_prompt.strip() else [system(""), *context]


@twin(ContextSuite, "words_in_braces_in_a_prompt_stay_as_they_are")
class FormatsThePrompt(ReferenceMemory):
    """Takes the prompt for a template."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context with the utterance in the prompt."""
        context = super().build_conversation_context(utterance, session_id)
        context[0].content = context[0].content.replace("{utterance}", utterance or "")
        return context
