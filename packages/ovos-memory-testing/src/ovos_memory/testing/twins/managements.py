"""Twins that list, correct and take along in part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ovos_memory.core.management import Keeper
from ovos_memory.core.management_ledger import LedgerKeeper
from ovos_memory.core.management_types import Imported, Progress
from ovos_memory.core.record_types import Record
from ovos_memory.testing.management import CorrectingSuite, TakingAlongSuite
from ovos_memory.testing.twins.catalogue import twin
from ovos_memory.testing.twins.forgettings import IS, ManagedTwin

# ---------------------------------------------------------------------- looking and correcting


@twin(CorrectingSuite, "records_are_chosen_by_all_conditions", store="sqlite", **IS)
class IgnoresAfter(ManagedTwin):
    """Lists older records too."""

    def records(self, *conditions: Any, after: float | None = None, **more: Any) -> Iterator[Record]:
        """List."""
        return super().records(*conditions, **more)


@twin(CorrectingSuite, "a_record_says_what_it_is", store="sqlite", **IS)
class NamesNoOrigin(ManagedTwin):
    """Does not say whose a record is."""

    def records(self, *conditions: Any, **more: Any) -> Iterator[Record]:
        """List."""
        return (replace(record, origin="") for record in super().records(*conditions, **more))


@twin(CorrectingSuite, "stats_count_what_there_is", store="sqlite", **IS)
class CountsRowsAsSessions(ManagedTwin):
    """Mixes up what it counts."""

    def stats(self) -> dict[str, Any]:
        """Count."""
        told = super().stats()
        return {**told, "sessions": told["records"]}


@twin(CorrectingSuite, "a_corrected_record_says_the_new_words_everywhere", store="sqlite", **IS)
class CorrectsWithoutIndexing(ManagedTwin):
    """Corrects the record and leaves the index with the old words."""

    def _keeper(self) -> Keeper:
        keeper = super()._keeper()
        keeper._on_changed = lambda documents: None  # type: ignore[attr-defined]
        return keeper


@twin(CorrectingSuite, "an_edit_needs_a_record_and_words", store="sqlite", **IS)
class CorrectsNothing(ManagedTwin):
    """Says that it corrected what is not there."""

    def edit(self, record_id: str, **texts: Any) -> Record:
        """Correct."""
        record = self.record(record_id)
        return super().edit(record_id, **texts) if record else Record(record_id, "text", "s", 0.0, "")


# ---------------------------------------------------------------------- taking along


class _Importing(ManagedTwin):
    """Changes lines on their way in."""

    def import_records(
        self, lines: Iterable[Mapping[str, Any]], *, progress: Progress | None = None
    ) -> Imported:
        """Take other lines in."""
        return super().import_records(self._changed([dict(line) for line in lines]), progress=progress)

    def _changed(self, lines: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        raise NotImplementedError


_SAME = "an_import_makes_the_same_records_again"


@twin(TakingAlongSuite, _SAME, "a_second_import_adds_nothing", store="sqlite", **IS)
class ImportsAtItsOwnTime(_Importing):
    """Dates what it takes in with the moment it does so."""

    def _changed(self, lines: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        return [{**line, "created_at": self._clock()} if "kind" in line else line for line in lines]


@twin(TakingAlongSuite, _SAME, "a_second_import_adds_nothing", store="sqlite", **IS)
class ImportsWithoutTools(_Importing):
    """Leaves tool calls behind."""

    def _changed(self, lines: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        return [{k: v for k, v in line.items() if k != "messages"} for line in lines]


@twin(TakingAlongSuite, "a_second_import_adds_nothing", store="sqlite", **IS)
class ImportsTwice(_Importing):
    """Adds again what is there."""

    def _changed(self, lines: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        is_first = not list(self.records())
        return lines if is_first else [{**line, "created_at": line["created_at"] + 1} for line in lines]


@twin(TakingAlongSuite, "a_taken_id_leads_to_another_one", store="sqlite", **IS)
class ImportsOnlyWhatFits(_Importing):
    """Drops records whose id is taken."""

    def _changed(self, lines: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        known = {r.id: r for r in self.records()}
        return [x for x in lines if x.get("id") not in known or x["created_at"] == known[x["id"]].created_at]


@twin(TakingAlongSuite, "a_line_that_is_no_record_is_an_error", store="sqlite", **IS)
class ImportsAnything(_Importing):
    """Skips what it does not understand, and says nothing."""

    def _changed(self, lines: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        return [line for line in lines if "created_at" in line]


class _Numbering(LedgerKeeper):
    def take_in(self, lines: Iterable[Mapping[str, Any]], progress: Progress | None) -> Imported:
        """Leave the counters where they were."""
        done = super().take_in(lines, progress)
        with self._journal.ledger.database.write() as connection:
            connection.execute("UPDATE sessions SET next_n = 0")
        return done


@twin(TakingAlongSuite, "numbers_go_on_behind_what_was_imported", store="sqlite", **IS)
class NumbersFromZero(ManagedTwin):
    """Counts from zero behind an import."""

    keeper = _Numbering
