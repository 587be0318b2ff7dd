"""Summaries as records: seen, corrected, forgotten, taken along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ovos_memory.core.management_lines import session_and_time
from ovos_memory.core.management_types import SAME_MOMENT_S, IsMeant, Tally, Trace
from ovos_memory.core.record_types import Record
from ovos_memory.core.types import parse_document_id
from ovos_memory.longterm.record import SummaryRecord

if TYPE_CHECKING:
    from ovos_memory.core.llm.workplace import Workplace


class SummaryRecords:
    """The summaries of a workplace as records; ids are ``<session>_summary``.

    Args:
        workplace: Where summaries and exchanges are.
        plugin: Name for ``Record.origin``.
    """

    kind = "summary"

    def __init__(self, workplace: Workplace, *, plugin: str) -> None:
        self._place = workplace
        self._plugin = plugin

    def records(self, session_id: str | None = None) -> Iterator[Record]:
        """Yield the summaries there are."""
        for name, stored in self._place.state.items():
            record = SummaryRecord.read(stored)
            if record.summary and session_id in (None, name):
                yield self._record(name, record)

    def _record(self, session_id: str, stored: SummaryRecord) -> Record:
        details = {"covered": stored.covered}
        name = f"{session_id}_summary"
        return Record(name, "summary", session_id, stored.updated_at, stored.summary, self._plugin, details)

    def remove(self, is_meant: IsMeant, gone: Sequence[Trace]) -> list[Trace]:
        """Remove summaries that are meant, or cover an exchange that is gone; they begin anew from what is left."""
        traces = []
        for record in list(self.records()):
            if is_meant(record) or self._covers(record, gone):
                self._place.state.update(record.session_id, lambda stored: None)
                traces.append(Trace(record.session_id, record.text, created_at=record.created_at))
        return traces

    def _covers(self, record: Record, gone: Sequence[Trace]) -> bool:
        """Tell whether the summary was made of one of these documents of its own ledger."""
        numbers = [parse_document_id(t.source or "") for t in gone if t.session_id == record.session_id]
        return any(n is not None and n[1] <= record.details["covered"] for n in numbers)

    def is_made_of(self, record: Record, traces: Sequence[Trace]) -> bool:
        """Tell whether the summary covers one of these exchanges, which another memory has forgotten.

        Covered is what was said before the summary was written, and does not stand in the ledger uncovered.
        """
        later = [
            document
            for document in self._place.ledger().documents(session_id=record.session_id)
            if document.n > record.details["covered"]
        ]
        return any(
            trace.session_id == record.session_id
            and trace.created_at <= record.created_at + SAME_MOMENT_S
            and not any(trace.is_exchange(d.session_id, d.question, d.answer) for d in later)
            for trace in traces
        )

    def edit(self, record: Record, text: str) -> Record:
        """Replace the text of a summary."""
        stored = self._place.state.update(
            record.session_id, lambda stored: replace(SummaryRecord.read(stored), summary=text).as_dict()
        )
        return self._record(record.session_id, SummaryRecord.read(stored))

    def add(self, line: Mapping[str, Any], tally: Tally) -> None:
        """Take in a summary of a session that has none."""
        try:
            session_id, created_at = session_and_time(line)
            covered = int(line.get("covered", -1))
            new = SummaryRecord(summary=str(line["text"]), covered=covered, updated_at=created_at)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"a summary of the export is no summary: {type(error).__name__}") from None
        known = SummaryRecord.read(self._place.state.load(session_id)).summary
        if known == new.summary:
            tally.known += 1
        elif known:
            tally.refuse("summary")  # two accounts of one session cannot be made one without a model
        else:
            self._place.state.update(session_id, lambda stored: new.as_dict())
            tally.added += 1
