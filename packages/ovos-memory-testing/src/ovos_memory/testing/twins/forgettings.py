"""Twins that forget too little, too much, or not for good."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ovos_memory.core.management import Keeper
from ovos_memory.core.management_ledger import LedgerKeeper
from ovos_memory.core.management_types import (
    Forgotten,
    IsMeant,
    Scrubbed,
    Selection,
    Trace,
)
from ovos_memory.core.record_types import Record
from ovos_memory.core.types import Document
from ovos_memory.testing.forgetting import ForgettingSuite
from ovos_memory.testing.managed_reference import ManagedReference
from ovos_memory.testing.twins.catalogue import twin

IS = {"manages": True, "keeps_history": True, "window_chars_key": None}
_GONE = "a_forgotten_phrase_is_gone_from_everywhere"
_BYTES = "no_file_of_the_store_has_the_bytes"
_OTHER = "another_process_sees_it_on_its_next_turn"


class _Kept(LedgerKeeper):
    """A keeper that a twin breaks."""


class ManagedTwin(ManagedReference):
    """A memory with a keeper of its own."""

    keeper: type[LedgerKeeper] = _Kept

    def _keeper(self) -> Keeper:
        return self.keeper(
            self.journal,
            plugin=self.plugin_name,
            clock=self._clock,
            on_changed=self._index_safely,
            on_removed=self._removed_elsewhere,
            clean_more=self._clean_elsewhere,
            rebuild=self._rebuild,
        )


# ---------------------------------------------------------------------- too little


@twin(ForgettingSuite, _GONE, _BYTES, "a_forgotten_session_leaves_no_name", _OTHER, store="sqlite", **IS)
class ForgetsInOneIndexOnly(ManagedTwin):
    """Leaves its second index as it is."""

    def _removed_elsewhere(self, documents: list[Document]) -> None:
        """Do nothing."""


class _Ranked(LedgerKeeper):
    def remove(self, is_meant: IsMeant, session_id: str | None = None) -> list[Trace]:
        """Remove the first few only, as a search with a limit finds them."""
        left = 10

        def is_found(record: Record) -> bool:
            nonlocal left
            left -= is_meant(record)
            return left >= 0 and is_meant(record)

        return super().remove(is_found, session_id)


@twin(ForgettingSuite, "every_record_with_the_phrase_goes", store="sqlite", **IS)
class ForgetsByRankedSearch(ManagedTwin):
    """Forgets the best ten hits."""

    keeper = _Ranked


@twin(ForgettingSuite, "a_phrase_is_compared_by_its_characters", store="sqlite", **IS)
class ForgetsByWords(ManagedTwin):
    """Takes a phrase for a set of words."""

    def forget(self, **conditions: Any) -> Forgotten:
        """Forget records that hold all words of the phrase, wherever they stand."""
        query = conditions.pop("query", None)
        if query is None or len(query.split()) < 2:
            return super().forget(**conditions, query=query)
        chosen = Selection.to_forget(**conditions, query=query)
        words = [replace(chosen, query=word) for word in query.split()]
        return self._forget(lambda record: all(each(record) for each in words), None)


class _NotOpen(LedgerKeeper):
    def _open_records(self, session_id: str | None) -> list[Record]:
        return []


@twin(ForgettingSuite, "a_question_without_an_answer_is_forgotten_too", store="sqlite", **IS)
class KeepsOpenQuestions(ManagedTwin):
    """Forgets what is on disk, not what waits in memory."""

    keeper = _NotOpen


class _TextOnly(LedgerKeeper):
    def remove(self, is_meant: IsMeant, session_id: str | None = None) -> list[Trace]:
        """Look at question and answer only."""
        return super().remove(lambda record: is_meant(replace(record, details={})), session_id)


@twin(ForgettingSuite, "what_tools_said_counts_as_text", store="sqlite", **IS)
class LooksAtWordsOnly(ManagedTwin):
    """Takes no notice of arguments and results of tools."""

    keeper = _TextOnly


class _Unclean(LedgerKeeper):
    def scrub(self) -> Scrubbed:
        """Leave the files as they are."""
        return Scrubbed()


@twin(ForgettingSuite, _BYTES, _OTHER, store="sqlite", **IS)
class LeavesTheLog(ManagedTwin):
    """Deletes rows and leaves the write-ahead log and all copies."""

    keeper = _Unclean


@twin(ForgettingSuite, _BYTES, store="sqlite", **IS)
class LeavesCopies(ManagedTwin):
    """Cleans its file and leaves what was set aside beside it."""

    def _clean_elsewhere(self) -> Scrubbed:
        return Scrubbed()


# ---------------------------------------------------------------------- too much


@twin(ForgettingSuite, "forgetting_needs_a_condition", store="sqlite", **IS)
class ForgetsEverythingWithoutConditions(ManagedTwin):
    """Takes no condition for all records."""

    def forget(self, **conditions: Any) -> Forgotten:
        """Forget."""
        if not any(value is not None for value in conditions.values()):
            return self._forget(lambda record: True, None)
        return super().forget(**conditions)


@twin(ForgettingSuite, "conditions_are_joined_by_and", store="sqlite", **IS)
class JoinsByOr(ManagedTwin):
    """Forgets what meets one condition."""

    def forget(self, **conditions: Any) -> Forgotten:
        """Forget."""
        Selection.to_forget(**conditions)
        singly = [Selection(**{k: v}) for k, v in conditions.items() if v is not None]
        return self._forget(lambda record: any(each(record) for each in singly), None)


@twin(ForgettingSuite, "a_session_is_forgotten_whole_and_alone", store="sqlite", **IS)
class FoldsSessions(ManagedTwin):
    """Forgets sessions whose names look alike."""

    def forget(self, **conditions: Any) -> Forgotten:
        """Forget."""
        session_id = conditions.pop("session_id", None)
        if session_id is None:
            return super().forget(**conditions)
        alike = session_id.strip().lower()
        chosen = Selection(**conditions)
        return self._forget(lambda r: r.session_id.strip().lower() == alike and chosen(r), None)


@twin(
    ForgettingSuite, "all_other_records_stay_as_they_were", "a_session_is_forgotten_whole_and_alone",
    "conditions_are_joined_by_and", "one_record_is_forgotten_by_its_id", "every_record_with_the_phrase_goes",
    "a_phrase_is_compared_by_its_characters", "what_is_older_is_forgotten", "what_tools_said_counts_as_text",
    _BYTES, _OTHER, store="sqlite", **IS,
)  # fmt: skip
class ForgetsAllAtOnce(ManagedTwin):
    """Begins anew whenever something is to be forgotten."""

    def forget(self, **conditions: Any) -> Forgotten:
        """Forget."""
        chosen = Selection.to_forget(**conditions)
        is_any = any(chosen(record) for record in self.records())
        return self._forget(lambda record: is_any, None)


@twin(ForgettingSuite, "what_is_older_is_forgotten", store="sqlite", **IS)
class ForgetsTheMomentToo(ManagedTwin):
    """Takes *before* for *up to*."""

    def forget(self, **conditions: Any) -> Forgotten:
        """Forget."""
        before = conditions.pop("before", None)
        return super().forget(**conditions, before=None if before is None else before + 1e-6)


@twin(ForgettingSuite, "counts_say_how_many_records_are_gone", store="sqlite", **IS)
class CountsSessions(ManagedTwin):
    """Counts something else."""

    def _forget(self, is_meant: IsMeant, session_id: str | None) -> Forgotten:
        done = super()._forget(is_meant, session_id)
        return replace(done, counts={self.plugin_name: done.total + (done.total > 0)})


@twin(ForgettingSuite, "a_phrase_has_three_characters", store="sqlite", **IS)
class TakesAnyPhrase(ManagedTwin):
    """Forgets by a letter."""

    def forget(self, **conditions: Any) -> Forgotten:
        """Forget."""
        query = conditions.get("query")
        if query is not None and len(query.strip()) < 3:
            return Forgotten({self.plugin_name: 0})
        return super().forget(**conditions)


class _Counting(LedgerKeeper):
    def remove(self, is_meant: IsMeant, session_id: str | None = None) -> list[Trace]:
        """Remove the counters too."""
        traces = super().remove(is_meant, session_id)
        with self._journal.ledger.database.write() as connection:
            connection.execute("DELETE FROM counters")
        return traces


@twin(ForgettingSuite, "numbers_of_the_forgotten_are_not_used_again", store="sqlite", **IS)
class CountsFromZeroAgain(ManagedTwin):
    """Forgets the counters with the session."""

    keeper = _Counting
