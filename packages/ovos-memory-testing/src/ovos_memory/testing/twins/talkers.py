"""Twins that tell what is nobody's business."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage
from ovos_utils.log import LOG

from ovos_memory.testing.eventlog import EventLog
from ovos_memory.testing.privacy import PrivacySuite
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.twins.catalogue import twin
from ovos_memory.testing.twins.stores import opened

ALL = (
    "nothing_that_was_said_is_logged",
    "trouble_does_not_make_it_talk",
    "broken_input_does_not_make_it_talk",
)


@twin(PrivacySuite, *ALL, store="lines")
class LogsWhatWasSaid(ReferenceMemory):
    """Thinks that debug lines do not count."""

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return a context."""
        LOG.debug("ovos-memory-plugin-reference: recalling for %r", utterance)
        return super().build_conversation_context(utterance, session_id)


@twin(PrivacySuite, *ALL, store="lines")
class LogsWhoSaidIt(ReferenceMemory):
    """Names sessions."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return a history."""
        LOG.info("ovos-memory-plugin-reference: history of %s", session_id)
        return super().get_history(session_id)


@twin(PrivacySuite, *ALL, store="lines")
class Prints(ReferenceMemory):
    """Still has a line of yesterday's debugging."""

    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return a history."""
        history = super().get_history(session_id)
        print(history)
        return history


class _QuotingLog(EventLog):
    def _failed(self, operation: str, error: Exception) -> None:
        super()._failed(operation, error)
        LOG.warning("%s: lost %s", self._plugin, [event.line() for event in self._held])


@twin(PrivacySuite, "trouble_does_not_make_it_talk", store="lines")
class QuotesWhatItLost(ReferenceMemory):
    """Wants to be helpful."""

    def _open_log(self) -> EventLog:
        return opened(self, _QuotingLog)


@twin(PrivacySuite, "broken_input_does_not_make_it_talk")
class QuotesWhatItCannotRead(ReferenceMemory):
    """Logs the message that is none."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        odd: list[Any] = [message for message in new_messages if not isinstance(message, AgentMessage)]
        if odd:
            LOG.warning("ovos-memory-plugin-reference: no messages: %s", odd)
        super().update_history(new_messages, session_id)


@twin(PrivacySuite, "what_was_said_is_in_the_store_only", store="lines")
class KeepsACopy(ReferenceMemory):
    """Has a cache below the home that nobody deletes."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        super().update_history(new_messages, session_id)
        cache = Path.home() / ".cache" / "last"
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(str(list(new_messages)), errors="replace")
