"""The management contract: what does a memory know, correct it, take it along, and forget it for good.

One protocol for every backend.  A memory inherits :class:`ManagedMemory` and names the keeper of its records;
the keepers are :mod:`ovos_memory.core.management_ledger` (documents) and
:mod:`ovos_memory.core.management_turns` (messages).  Unlike the methods of a conversation these raise what
goes wrong: whoever asks for something to be forgotten must hear that it was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:  # its dataclasses take long to make, and most processes manage nothing
    from ovos_memory.core.management_types import (
        Forgotten,
        Imported,
        IsMeant,
        Progress,
        Scrubbed,
        Trace,
        Trouble,
    )
    from ovos_memory.core.record_types import Record, SessionSummary


@runtime_checkable
class Management(Protocol):
    """What can be managed.  All methods raise :class:`~ovos_memory.core.errors.StoreError` on I/O trouble."""

    def sessions(self) -> list[SessionSummary]:
        """Return every session that has records."""

    def records(
        self,
        session_id: str | None = None,
        query: str | None = None,
        before: float | None = None,
        after: float | None = None,
    ) -> Iterator[Record]:
        """Yield records, oldest first within a session."""

    def edit(
        self,
        record_id: str,
        *,
        question: str | None = None,
        answer: str | None = None,
        text: str | None = None,
    ) -> Record:
        """Correct what a record says."""

    def forget(
        self,
        *,
        session_id: str | None = None,
        record_id: str | None = None,
        query: str | None = None,
        before: float | None = None,
    ) -> Forgotten:
        """Forget records for good."""

    def forget_related(self, traces: Sequence[Trace]) -> Forgotten:
        """Forget what was made of records that another memory forgot."""

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield every record as JSON values."""

    def import_records(
        self, lines: Iterable[Mapping[str, Any]], *, progress: Progress | None = None
    ) -> Imported:
        """Take in what :meth:`export` yielded."""

    def stats(self) -> dict[str, Any]:
        """Return how much there is."""

    def health(self) -> dict[str, Any]:
        """Return what went wrong."""


class Keeper(Protocol):
    """How one kind of store is managed; the steps of the contract."""

    def sessions(self) -> list[SessionSummary]:
        """Return every session that has records."""

    def records(self, session_id: str | None = None) -> Iterator[Record]:
        """Yield all records, of one session or of all."""

    def edit(self, record_id: str, texts: Mapping[str, str]) -> Record:
        """Replace ``question``, ``answer`` or ``text`` of a record."""

    def remove(self, is_meant: IsMeant, session_id: str | None = None) -> list[Trace]:
        """Remove the records that are meant, wherever they are, and return what they said."""

    def related(self, traces: Sequence[Trace]) -> IsMeant:
        """Return which records were made of the same words."""

    def scrub(self) -> Scrubbed:
        """Leave no trace of what was removed in any file of the store."""

    def take_in(self, lines: Iterable[Mapping[str, Any]], progress: Progress | None) -> Imported:
        """Add records."""

    def stats(self) -> dict[str, Any]:
        """Return facts about the store itself, such as ``path`` and ``bytes``."""

    def reindex(self, progress: Progress | None) -> int:
        """Build what is derived anew; return how many records that took."""


class ManagedMemory:
    """The management contract on top of a keeper; a base class of memories."""

    plugin_name: ClassVar[str]

    def _keeper(self) -> Keeper:
        """Return the keeper of this memory's records."""
        raise NotImplementedError

    def files(self) -> list[Path]:
        """Return the files that the memory keeps its records in, as configured; nothing is opened."""
        return []

    # ------------------------------------------------------------------ looking
    def sessions(self) -> list[SessionSummary]:
        """Return every session that has records, by first arrival.

        Raises:
            StoreError: The store cannot be read.
        """
        return self._keeper().sessions()

    def records(
        self,
        session_id: str | None = None,
        query: str | None = None,
        before: float | None = None,
        after: float | None = None,
    ) -> Iterator[Record]:
        """Yield records, oldest first within a session.  The conditions are joined by *and*.

        Args:
            session_id: Only of this session.
            query: Only those that contain this phrase (NFKC, case folded), of three characters or more.
            before: Only those created before this moment, epoch seconds.
            after: Only those created at this moment or later.

        Raises:
            ValueError: The phrase is too short.
            StoreError: The store cannot be read.
        """
        from ovos_memory.core.management_types import Selection

        selection = Selection(session_id, None, query, before, after)
        return (record for record in self._keeper().records(session_id) if selection(record))

    def record(self, record_id: str) -> Record | None:
        """Return one record, ``None`` when there is none of that id."""
        session_id = record_id.rpartition("_")[0]
        for chosen in (session_id, None):  # nearly always its id begins with its session's
            for record in self._keeper().records(chosen):
                if record.id == record_id:
                    return record
        return None

    def stats(self) -> dict[str, Any]:
        """Return how many sessions and records there are, by kind, from when, and facts about the store."""
        kinds: dict[str, int] = {}
        first: float | None = None
        last: float | None = None
        for record in self._keeper().records():
            kinds[record.kind] = kinds.get(record.kind, 0) + 1
            first = record.created_at if first is None else min(first, record.created_at)
            last = record.created_at if last is None else max(last, record.created_at)
        return {
            "plugin": self.plugin_name,
            "sessions": len(self.sessions()),
            "records": sum(kinds.values()),
            "kinds": kinds,
            "first_at": first,
            "last_at": last,
            **self._keeper().stats(),
        }

    def examine(self, *, is_offline: bool = False) -> Iterator[Trouble]:
        """Yield what makes this memory useless and only it can know; nothing is changed or set aside.

        Args:
            is_offline: Ask no server and load no model.
        """
        return iter(())

    # ------------------------------------------------------------------ changing
    def edit(
        self,
        record_id: str,
        *,
        question: str | None = None,
        answer: str | None = None,
        text: str | None = None,
    ) -> Record:
        """Correct what a record says; what it said before leaves the files too.

        Args:
            record_id: Which one.
            question: The user's words, of an exchange.
            answer: The assistant's words, of an exchange.
            text: All of it, of anything else.

        Raises:
            DocumentGone: There is no such record.
            ValueError: The record has no such part, or nothing is to be changed.
            StoreError: The store cannot be written.
        """
        given = {"question": question, "answer": answer, "text": text}
        texts = {name: value for name, value in given.items() if value is not None}
        if not texts:
            raise ValueError("edit needs a question, an answer or a text to put in place")
        keeper = self._keeper()
        edited = keeper.edit(record_id, texts)
        keeper.scrub()
        return edited

    def forget(
        self,
        *,
        session_id: str | None = None,
        record_id: str | None = None,
        query: str | None = None,
        before: float | None = None,
    ) -> Forgotten:
        """Forget records for good: in the store, in every index, in work under way and in all files.

        The conditions are joined by *and*.  The files are cleaned even when no record is found, so a call
        that left something over can be repeated.

        Args:
            session_id: Of this session.
            record_id: The one of this id.
            query: Those that contain this phrase (NFKC, case folded), of three characters or more.
            before: Those created before this moment, epoch seconds.

        Raises:
            ValueError: There is no condition, or the phrase is too short.
            StoreError: The store cannot be written; some records may be gone already.
        """
        from ovos_memory.core.management_types import Selection

        chosen = Selection.to_forget(session_id=session_id, record_id=record_id, query=query, before=before)
        return self._forget(chosen, session_id)

    def forget_related(self, traces: Sequence[Trace]) -> Forgotten:
        """Forget what says the same as records that another memory forgot, or was made of them.

        Raises:
            StoreError: The store cannot be written.
        """
        from ovos_memory.core.management_types import Forgotten

        if not traces:
            return Forgotten({self.plugin_name: 0})
        return self._forget(self._keeper().related(traces), None)

    def _forget(self, is_meant: IsMeant, session_id: str | None) -> Forgotten:
        from ovos_memory.core.management_types import Forgotten

        keeper = self._keeper()
        traces = keeper.remove(is_meant, session_id)
        cleaned = keeper.scrub()
        counts = {self.plugin_name: len(traces)}
        return Forgotten(counts, tuple(traces), cleaned.files, cleaned.leftovers, cleaned.unproven)

    def reindex(self, *, progress: Progress | None = None) -> int:
        """Build everything that is derived from the records anew; return how many that took."""
        return self._keeper().reindex(progress)

    # ------------------------------------------------------------------ taking along
    def export(self) -> Iterator[dict[str, Any]]:
        """Yield every record as JSON values, from which :meth:`import_records` makes the same record again.

        A question that still waits for its answer is left out.
        """
        from ovos_memory.core.management_types import as_line

        return (as_line(record) for record in self._keeper().records() if not record.details.get("is_open"))

    def import_records(
        self, lines: Iterable[Mapping[str, Any]], *, progress: Progress | None = None
    ) -> Imported:
        """Take in exported records with their ids, times and messages.

        One that is there already is left alone; one whose id belongs to another record gets the next free id.

        Args:
            lines: What :meth:`export` yielded, of this kind of memory or of another one.
            progress: Told now and then how many are done.

        Raises:
            ValueError: A line is no record; what came before it has been taken in.
            StoreError: The store cannot be written.
        """
        return self._keeper().take_in(lines, progress)
