"""The long-term memory: a summary of what was said earlier, and the recent turns as they were said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import StoreError
from ovos_memory.core.exchanges import group_exchanges, is_answered, make_exchange, normalise, session_key
from ovos_memory.core.llm.memory import ModelMemory
from ovos_memory.core.render import fenced
from ovos_memory.core.text import session_tag

if TYPE_CHECKING:
    from ovos_memory.core.consumer import Consumer
    from ovos_memory.core.llm.managing import Derived
    from ovos_memory.core.llm.workplace import Workplace
    from ovos_memory.longterm.record import SummaryRecord
    from ovos_memory.longterm.settings import LongTermSettings

MAX_WINDOW_CHARS = 100_000
"""Characters of a window that is read; while the model is away exchanges may pile up."""


class LongTermMemory(ModelMemory):
    """Keeps the gist of very long conversations; the summary never crosses sessions.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.
        chat: Answers the model's questions instead of what the settings name.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name: ClassVar[str] = "ovos-memory-plugin-longterm"
    kind: ClassVar[str] = "longterm"
    file_stem: ClassVar[str] = "longterm_memory"
    settings: LongTermSettings

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages; exchanges that are complete are on disk when the call returns.

        The summary is renewed later and elsewhere; only with ``max_wait_s`` set does the call wait for it.
        """
        session = session_key(session_id)
        self.boundary.call("takeover", lambda: self._settled(session), lambda: None, session_id=session)
        super().update_history(new_messages, session_id)

    def summary(self, session_id: str | None = None) -> str:
        """Return the summary of a session; ``""`` while there is none."""
        session = session_key(session_id)
        return self.boundary.call("summary", lambda: self._record(session).summary, str, session_id=session)

    def health(self) -> dict[str, Any]:
        """Return what went wrong, what waits, how the model is doing, and how much it wrote."""
        consumer = self.workplace.consumer
        counts = {"written": consumer.written, "rejected": consumer.rejected}  # type: ignore[attr-defined]
        return {**super().health(), "summaries": counts}

    # ------------------------------------------------------------------ hooks
    @classmethod
    def settings_model(cls) -> type[Any]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""
        from ovos_memory.longterm.settings import LongTermSettings

        return LongTermSettings

    @classmethod
    def _hire(cls, workplace: Workplace, settings: LongTermSettings) -> Consumer[Any]:
        from ovos_memory.longterm.consumer import SummaryConsumer

        return SummaryConsumer(
            workplace.ledger, workplace.state, workplace.chat, settings, clock=workplace.clock
        )

    @staticmethod
    def _convert_1x(found: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
        from ovos_memory.longterm.record import convert_1x

        return convert_1x(found)

    def _blocks(self, session_id: str, utterance: str) -> list[AgentMessage]:
        block = fenced(
            self.settings.summary_header, self._record(session_id).summary, tag="conversation-summary"
        )
        return [AgentMessage(role=MessageRole.SYSTEM, content=block)] if block else []

    def _derived(self) -> Derived:
        from ovos_memory.longterm.managing import SummaryRecords

        return SummaryRecords(self.workplace, plugin=self.plugin_name)

    # ------------------------------------------------------------------ inside
    def _record(self, session_id: str) -> SummaryRecord:
        from ovos_memory.longterm.record import SummaryRecord

        return SummaryRecord.read(self.workplace.state.load(session_id))

    def _window(self, session_id: str, enough_chars: int | None = None) -> list[AgentMessage]:
        record = self.boundary.call(
            "takeover", lambda: self._settled(session_id), lambda: None, session_id=session_id
        )
        try:
            enough = MAX_WINDOW_CHARS if enough_chars is None else enough_chars
            said = self.journal.window(session_id, 0, enough_chars=enough)
        except StoreError as error:
            self.boundary.failed("history", error, session_id=session_id)
            said = self.journal.held_window(session_id, 0)
        turns = group_exchanges(said)
        if not turns:
            return []
        wanted = self.settings.recent_window
        if record is None:  # the summary cannot be read just now, so nothing tells what it covers
            wanted = len(turns)
        elif self.settings.summarize_every:
            wanted = max(wanted, self.journal.newest_number(session_id) - record.covered)
        wanted += not is_answered(turns[-1])
        return [message for turn in turns[max(0, len(turns) - wanted) :] for message in turn]

    def _settled(self, session_id: str) -> SummaryRecord:
        """Return the session's record, after moving the messages of version 1.x into the ledger."""
        record = self._record(session_id)
        return self._take_over(session_id, record) if record.recent else record

    def _take_over(self, session_id: str, record: SummaryRecord) -> SummaryRecord:
        ledger = self.workplace.ledger()
        messages = normalise(
            AgentMessage(role=MessageRole(m["role"]), content=m.get("content") or "")
            for m in record.recent
            if m.get("role") in ("user", "assistant")
        )
        mark = f"taken over {session_tag(session_id)}"
        with ledger.database.write() as connection:
            if ledger.meta_get(mark, connection=connection) is None:
                for turn in group_exchanges(messages):
                    said_at = record.updated_at or self._clock()
                    ledger.append(session_id, make_exchange(turn), created_at=said_at, connection=connection)
                ledger.meta_set(mark, "done", connection=connection)
        self.workplace.state.update(
            session_id, lambda stored: type(record).read(stored).without_recent().as_dict()
        )
        self.workplace.worker.wake()
        return record.without_recent()
