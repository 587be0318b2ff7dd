"""Twins that keep something else than what was said."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Sequence
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.exchanges import append_turns, group_exchanges, session_key, whole_tool_turns
from ovos_memory.core.text import clean
from ovos_memory.testing.history import HistorySuite
from ovos_memory.testing.messages import assistant, user
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.twins.catalogue import twin
from ovos_memory.testing.windows import WindowSuite

TOOLS = ("a_tool_exchange_is_kept_whole", "a_tool_exchange_may_come_message_by_message")
COPIES = (
    "what_the_caller_does_with_its_messages_changes_nothing",
    "a_returned_history_is_the_callers_to_change",
)


@twin(HistorySuite, "an_exchange_is_kept_as_it_was_said")
class NewestFirst(ReferenceMemory):
    """Lists exchanges the wrong way round."""

    def _turns(self, session_id: str) -> list[AgentMessage]:
        groups = group_exchanges(super()._turns(session_id))
        return [message for group in reversed(groups) for message in group]


@twin(HistorySuite, "a_context_holds_the_history")
class ForgetsToTell(ReferenceMemory):
    """Keeps a history and sends none."""

    def _inject(self, block: Any, history: Any, spoken: str, session_id: str) -> list[AgentMessage]:
        return super()._inject(block, [], spoken, session_id)


class _Recording(ReferenceMemory):
    """Changes what is recorded."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record something else."""
        for part in self._parts(list(new_messages), session_id):
            super().update_history(part, session_id)

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        raise NotImplementedError


@twin(
    HistorySuite,
    "question_and_answer_may_come_in_two_calls",
    "sessions_that_take_turns_keep_their_own_answers",
    "a_question_without_an_answer_gives_way_to_the_next",
    "a_tool_exchange_may_come_message_by_message",
)
class PairsWithinACallOnly(_Recording):
    """Drops a question that comes alone."""

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        return [] if [m.role for m in messages] == [MessageRole.USER] else [messages]


@twin(HistorySuite, "sessions_that_take_turns_keep_their_own_answers")
class HasOneOpenQuestion(_Recording):
    """Waits for the answer to the last question that anybody asked."""

    waiting: list[AgentMessage] | None = None

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        if [m.role for m in messages] == [MessageRole.USER]:
            self.waiting = copy.deepcopy(messages)
            return []
        question, self.waiting = self.waiting or [], None
        return [[*question, *messages]]


@twin(
    HistorySuite,
    "a_question_without_an_answer_gives_way_to_the_next",
    "pieces_within_one_call_are_one_answer_too",
)
class GluesQuestions(ReferenceMemory):
    """Makes one question of two."""

    def _turns(self, session_id: str) -> list[AgentMessage]:
        turns: list[AgentMessage] = []
        for event in self._log.events(session_id):
            for message in event.messages:
                if turns and turns[-1].role is message.role is MessageRole.USER:
                    turns[-1] = user(f"{turns[-1].content}\n{message.content}")
                else:
                    turns = append_turns(turns, [message])
        return turns


@twin(HistorySuite, "a_question_without_an_answer_is_no_turn_of_a_context")
class ReplaysQuestions(ReferenceMemory):
    """Sends the orphan along."""

    def _inject(self, block: Any, history: Any, spoken: str, session_id: str) -> list[AgentMessage]:
        return super()._inject(block, self.get_history(session_id), spoken, session_id)


@twin(HistorySuite, "an_answer_in_pieces_is_one_answer")
class MergesWithinACallOnly(ReferenceMemory):
    """Two calls, two answers."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the turns as they are."""
        return self._turns(session_key(session_id))

    def _turns(self, session_id: str) -> list[AgentMessage]:
        turns: list[AgentMessage] = []
        for event in self._log.events(session_id):
            is_late = turns and turns[-1].role is event.messages[0].role is MessageRole.ASSISTANT
            new = append_turns([], event.messages)
            turns = [*turns, *new] if is_late else append_turns(turns, new)
        return turns


@twin(HistorySuite, "pieces_within_one_call_are_one_answer_too")
class MergesAcrossCallsOnly(ReferenceMemory):
    """Looks at the first message of a call."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the turns as they are."""
        return self._turns(session_key(session_id))

    def _turns(self, session_id: str) -> list[AgentMessage]:
        turns: list[AgentMessage] = []
        for event in self._log.events(session_id):
            turns = [*append_turns(turns, event.messages[:1]), *event.messages[1:]]
        return turns


@twin(HistorySuite, "an_empty_update_changes_nothing")
class LooksAtTheFirst(_Recording):
    """Asks what the first message is."""

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        return [messages] if messages[0] is not None else []


@twin(HistorySuite, "an_unknown_session_has_no_history", "an_empty_update_changes_nothing")
class RaisesForStrangers(ReferenceMemory):
    """Knows only who has spoken."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return a history, if there is one."""
        if not self._turns(session_key(session_id)):
            raise KeyError(session_id)
        return super().get_history(session_id)


@twin(HistorySuite, "session_ids_are_opaque")
class FoldsSessions(ReferenceMemory):
    """Tidies session ids."""

    def _turns(self, session_id: str) -> list[AgentMessage]:
        return super()._turns(unicodedata.normalize("NFC", session_id).strip().casefold())

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        tidy = unicodedata.normalize("NFC", session_key(session_id)).strip().casefold()
        super().update_history(new_messages, tidy)


@twin(HistorySuite, "system_messages_are_not_replayed")
class ReplaysInstructions(ReferenceMemory):
    """Keeps system messages, as something that was said."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages, instructions included."""
        rules = [m.content for m in new_messages if m.role == MessageRole.SYSTEM]
        if rules == ["be rude"]:
            new_messages = [user(rules[0]), assistant("I will"), *new_messages]
        super().update_history(new_messages, session_id)


@twin(HistorySuite, "missing_content_is_empty_text")
class WritesNone(_Recording):
    """Formats what is missing."""

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        said = copy.deepcopy(messages)
        for message in said:
            message.content = "None" if message.content is None else message.content
        return [said]


@twin(HistorySuite, "content_parts_keep_their_text")
class PrintsParts(_Recording):
    """Turns a list into text the short way."""

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        said = copy.deepcopy(messages)
        for message in said:
            message.content = str(message.content or "")
        return [said]


@twin(HistorySuite, "half_an_emoji_is_replaced_and_whole_ones_stay")
class LosesTheUnreadable(_Recording):
    """Ignores what cannot be encoded."""

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        said = copy.deepcopy(messages)
        for message in said:
            message.content = clean(message.content).replace("\ufffd", "")
        return [said]


@twin(HistorySuite, *TOOLS, *COPIES)
class KeepsWordsOnly(_Recording):
    """Saves role and content."""

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        return [[AgentMessage(m.role, m.content) for m in messages if m.role != MessageRole.TOOL]]


@twin(HistorySuite, "a_tool_exchange_may_come_message_by_message")
class DropsTornCallsTooSoon(_Recording):
    """Tidies while the results are on their way."""

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        return [whole_tool_turns(messages)]


@twin(HistorySuite, "the_callers_messages_stay_untouched")
class EditsItsCallers(_Recording):
    """Merges into the message that it was given."""

    def _parts(self, messages: list[AgentMessage], session_id: str | None) -> list[list[AgentMessage]]:
        kept = copy.deepcopy(messages)
        last = self.get_history(session_id)[-1:]
        if last and messages and last[0].role is messages[0].role is MessageRole.ASSISTANT:
            messages[0].content = f"{last[0].content}\n{messages[0].content}"
        return [kept]


class _Live(ReferenceMemory):
    """Keeps message objects in a list per session, for tests of one call."""

    def take(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        """Return what is kept."""
        return copy.deepcopy(messages)

    def give(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        """Return what is handed out."""
        return copy.deepcopy(messages)

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        super().update_history(new_messages, session_id)
        if any(m.role == MessageRole.TOOL for m in new_messages):
            self.__dict__.setdefault("live", {})[session_id] = self.take(list(new_messages))

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the messages."""
        live: dict[Any, list[AgentMessage]] = self.__dict__.get("live", {})
        if len(live.get(session_id, ())) > 1:
            return self.give(live[session_id])
        return super().get_history(session_id)


@twin(HistorySuite, "what_the_caller_does_with_its_messages_changes_nothing")
class KeepsItsCallersObjects(_Live):
    """Copies the list, not what is in it."""

    def take(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        """Return the same messages."""
        return list(messages)


@twin(HistorySuite, "a_returned_history_is_the_callers_to_change")
class HandsOutItsObjects(_Live):
    """Copies the list, not what is in it, on the way out."""

    def give(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        """Return the same messages."""
        return list(messages)


@twin(HistorySuite, "a_returned_history_is_the_callers_to_change")
class HandsOutItsList(_Live):
    """Returns what it keeps."""

    def give(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        """Return the same messages."""
        return messages


@twin(HistorySuite, "a_returned_history_is_the_callers_to_change")
class SharesArguments(_Live):
    """Copies messages and calls, not the arguments of the calls."""

    def give(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        """Return copies that share what is nested."""
        copies = [copy.copy(message) for message in messages]
        for message in copies:
            message.tool_calls = [copy.copy(call) for call in message.tool_calls or ()] or None
        return copies


# ---------------------------------------------------------------------- windows


@twin(
    WindowSuite,
    "the_window_holds_the_newest_messages",
    "an_answer_without_its_question_does_not_open_a_context",
)
class KeepsTheOldest(ReferenceMemory):
    """Slices from the wrong end."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the first messages."""
        turns = self._turns(session_key(session_id))
        limit = self.settings.max_history
        is_plain = limit and not any(m.tool_calls for m in turns)
        return turns[:limit] if is_plain else super().get_history(session_id)


@twin(WindowSuite, "a_window_of_zero_is_unbounded")
class TakesZeroForNone(ReferenceMemory):
    """Keeps nothing when told to keep everything."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the last messages."""
        return super().get_history(session_id) if self.settings.max_history else []


@twin(
    WindowSuite,
    "an_answer_without_its_question_does_not_open_a_context",
    "a_window_never_cuts_a_tool_call_from_its_results",
)
class OpensWithAnAnswer(ReferenceMemory):
    """Sends the window as it is."""

    def _inject(self, block: Any, history: Any, spoken: str, session_id: str) -> list[AgentMessage]:
        window = self.get_history(session_id)
        while window and window[-1].role == MessageRole.USER:
            window.pop()
        is_long = sum(len(m.content) for m in window) > 200
        return super()._inject(block, history if is_long else window, spoken, session_id)


@twin(WindowSuite, "a_window_never_cuts_a_tool_call_from_its_results")
class CutsCallsFromResults(ReferenceMemory):
    """Slices without looking."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the last messages."""
        return self._turns(session_key(session_id))[-self.settings.max_history :]


@twin(WindowSuite, "the_characters_of_a_history_are_bounded")
class CountsMessagesOnly(ReferenceMemory):
    """Sends whatever ten messages weigh."""

    def _inject(self, block: Any, history: Any, spoken: str, session_id: str) -> list[AgentMessage]:
        is_long = sum(len(m.content) for m in self.get_history(session_id)) > 200
        turns = self.get_history(session_id) if is_long else history
        return super()._inject(block, turns, spoken, session_id)
