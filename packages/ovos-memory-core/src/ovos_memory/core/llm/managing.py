"""Managing the memories that a model works for: pending exchanges, and what was made of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ovos_memory.core.files import bytes_of
from ovos_memory.core.management_ledger import LedgerKeeper
from ovos_memory.core.management_state import scrub_state
from ovos_memory.core.management_types import Imported, IsMeant, Progress, Scrubbed, Tally, Trace
from ovos_memory.core.record_types import Record, SessionSummary

if TYPE_CHECKING:
    from ovos_memory.core.llm.workplace import Workplace

PENDING = "pending"
"""Marks an exchange in an export that the model has still to work on: only those are taken in again, for a whole
history would keep the model busy for days."""


class Derived(Protocol):
    """What a model made of exchanges, and how it is managed."""

    kind: str

    def records(self, session_id: str | None = None) -> Iterator[Record]:
        """Yield what there is, of one session or of all."""

    def remove(self, is_meant: IsMeant, gone: Sequence[Trace]) -> list[Trace]:
        """Remove what is meant, and what was made of exchanges that are gone."""

    def is_made_of(self, record: Record, traces: Sequence[Trace]) -> bool:
        """Tell whether a record was made of one of these."""

    def edit(self, record: Record, text: str) -> Record:
        """Replace the text of a record."""

    def add(self, line: Mapping[str, Any], tally: Tally) -> None:
        """Take in a record of an export."""


class ModelKeeper:
    """Keeps the records of a memory that a model works for.

    Args:
        pending: Keeps the exchanges.
        derived: What was made of them.
        workplace: The state, the ledger and the worker.
        plugin: Name for counts.
        path: File of the state; ``None``: in memory.
    """

    def __init__(
        self,
        pending: LedgerKeeper,
        derived: Derived,
        workplace: Workplace,
        *,
        plugin: str,
        path: Path | None = None,
    ) -> None:
        self._path = path
        self._pending = pending
        self._derived = derived
        self._place = workplace
        self._plugin = plugin

    def sessions(self) -> list[SessionSummary]:
        """Return every session that has records."""
        found: dict[str, SessionSummary] = {}
        for record in self.records():
            at = record.created_at
            known = found.get(record.session_id, SessionSummary(record.session_id, 0, at, at))
            found[record.session_id] = SessionSummary(
                record.session_id, known.documents + 1, min(known.first_at, at), max(known.last_at, at)
            )
        return list(found.values())

    def records(self, session_id: str | None = None) -> Iterator[Record]:
        """Yield what was made of exchanges, then the exchanges that are kept."""
        yield from self._derived.records(session_id)
        for record in self._pending.records(session_id):
            yield replace(record, details={**record.details, PENDING: True})

    def edit(self, record_id: str, texts: Mapping[str, str]) -> Record:
        """Replace the text of a record, or the words of an exchange."""
        record = next((each for each in self._derived.records() if each.id == record_id), None)
        if record is None:
            return self._pending.edit(record_id, texts)
        if set(texts) != {"text"}:
            raise ValueError(f"a {record.kind} has a text, and neither question nor answer")
        return self._derived.edit(record, texts["text"])

    def remove(self, is_meant: IsMeant, session_id: str | None = None) -> list[Trace]:
        """Remove exchanges, then what was made of them: a model at work looks whether they are still there."""
        gone = self._pending.remove(is_meant, session_id)
        return [*gone, *self._derived.remove(is_meant, gone)]

    def related(self, traces: Sequence[Trace]) -> IsMeant:
        """Return which exchanges are the same, and what was made of them."""
        is_same = self._pending.related(traces)
        # Looked up now: once the exchanges are gone, nothing tells what was made of them.
        made = {record.id for record in self._derived.records() if self._derived.is_made_of(record, traces)}
        return lambda record: record.id in made if record.kind == self._derived.kind else is_same(record)

    def scrub(self) -> Scrubbed:
        """Leave no trace of what was removed, neither of the exchanges nor of what was made of them."""
        return self._pending.scrub() + scrub_state(self._place.state)

    def stats(self) -> dict[str, Any]:
        """Return the file and how many exchanges wait for the model."""
        told = self._pending.stats()
        if self._path is not None:
            told |= {"path": str(self._path), "bytes": bytes_of(self._path) + told["bytes"]}
        return {**told, "waiting": self._place.worker.pending()}

    def reindex(self, progress: Progress | None) -> int:
        """Let the model try again what was given up; return how many exchanges that are."""
        count = self._place.ledger().retry_parked(self._place.consumer.name)
        self._place.worker.wake()
        return count

    def take_in(self, lines: Iterable[Mapping[str, Any]], progress: Progress | None) -> Imported:
        """Add what was made of exchanges, and exchanges that the model has still to work on."""
        tally = Tally()

        def exchanges() -> Iterator[Mapping[str, Any]]:
            for line in lines:
                kind = line.get("kind") if isinstance(line, Mapping) else None
                if kind == self._derived.kind:
                    self._derived.add(line, tally)
                elif (
                    kind in ("exchange", "message", "text") and "created_at" in line and not line.get(PENDING)
                ):
                    tally.refuse(kind)
                else:
                    yield line

        done = self._pending.take_in(exchanges(), progress)
        self._place.worker.wake()
        refused = {
            kind: done.refused.get(kind, 0) + tally.refused.get(kind, 0)
            for kind in {*done.refused, *tally.refused}
        }
        return Imported(
            {self._plugin: done.total + tally.added},
            done.known + tally.known,
            done.renumbered + tally.renumbered,
            refused,
        )
