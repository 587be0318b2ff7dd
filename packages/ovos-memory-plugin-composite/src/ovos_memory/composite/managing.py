"""The management contract over all members: what one forgets the others forget too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_memory.core.management import Management

if TYPE_CHECKING:
    from ovos_memory.composite.members import Member
    from ovos_memory.core.management_types import Forgotten, Imported, Progress, Trace, Trouble
    from ovos_memory.core.record_types import Record, SessionSummary

_DRAIN_S = 5.0


class ManagedMembers:
    """The management contract of the composite; ids are ``<member>/<id>``, counts are by member."""

    members: list[Member]
    _missing: dict[str, str]

    def files(self) -> list[Path]:
        """Return the files of all members; nothing is opened."""
        return [path for member in self.members for path in getattr(member.memory, "files", list)()]

    # ------------------------------------------------------------------ looking
    def sessions(self) -> list[SessionSummary]:
        """Return every session that a member has records of, with all members' records counted together."""
        from ovos_memory.core.record_types import SessionSummary

        found: dict[str, SessionSummary] = {}
        for _, memory in self._managed():
            for summary in memory.sessions():
                known = found.get(summary.session_id, summary)
                found[summary.session_id] = SessionSummary(
                    summary.session_id,
                    summary.documents + (known.documents if known is not summary else 0),
                    min(known.first_at, summary.first_at),
                    max(known.last_at, summary.last_at),
                )
        return list(found.values())

    def records(
        self,
        session_id: str | None = None,
        query: str | None = None,
        before: float | None = None,
        after: float | None = None,
    ) -> Iterator[Record]:
        """Yield the members' records, one member after the other; see ``ManagedMemory.records``."""
        from ovos_memory.core.management_types import Selection

        Selection(session_id, None, query, before, after)
        return (
            replace(record, id=f"{name}/{record.id}", origin=name)
            for name, memory in self._managed()
            for record in memory.records(session_id, query, before, after)
        )

    def record(self, record_id: str) -> Record | None:
        """Return one record, ``None`` when there is none of that id."""
        name, memory, inner = self._of(record_id)
        if memory is None:
            return None
        session_id = inner.rpartition("_")[0]
        for chosen in (session_id, None):
            for record in memory.records(chosen):
                if record.id == inner:
                    return replace(record, id=record_id, origin=name)
        return None

    def stats(self) -> dict[str, Any]:
        """Return how much there is, in all and by member."""
        members = {name: memory.stats() for name, memory in self._managed()}
        return {
            "plugin": self.plugin_name,  # type: ignore[attr-defined]
            "sessions": len(self.sessions()),
            "records": sum(told.get("records", 0) for told in members.values()),
            "members": members,
        }

    def examine(self, *, is_offline: bool = False) -> Iterator[Trouble]:
        """Yield what makes members useless, under their names."""
        for member in self.members:
            if callable(getattr(member.memory, "examine", None)):
                for trouble in member.memory.examine(is_offline=is_offline):
                    yield replace(trouble, where=member.name)

    # ------------------------------------------------------------------ changing
    def edit(
        self,
        record_id: str,
        *,
        question: str | None = None,
        answer: str | None = None,
        text: str | None = None,
    ) -> Record:
        """Correct what a record says, in its member and wherever else the same exchange is kept.

        What other members made of the old words (facts, summaries) is forgotten.

        Raises:
            DocumentGone: There is no such record.
            ValueError: The record has no such part, or nothing is to be changed.
            StoreError: A store cannot be written.
        """
        from ovos_memory.composite.everywhere import edit_same
        from ovos_memory.core.management_types import gone

        name, memory, inner = self._of(record_id)
        old = self.record(record_id)
        if memory is None or old is None:
            raise gone(record_id)
        edited = memory.edit(inner, question=question, answer=answer, text=text)
        texts = {"question": question, "answer": answer, "text": text}
        for other, elsewhere in self._managed():
            if other != name:
                edit_same(elsewhere, old, {k: v for k, v in texts.items() if v is not None})
        return replace(edited, id=f"{name}/{edited.id}", origin=name)

    def forget(
        self,
        *,
        session_id: str | None = None,
        record_id: str | None = None,
        query: str | None = None,
        before: float | None = None,
    ) -> Forgotten:
        """Forget records in every member, and in the others what says the same or was made of them.

        Returns:
            Counts by member; ``leftovers`` names members that cannot forget, or failed to.

        Raises:
            ValueError: There is no condition, or the phrase is too short.
        """
        from ovos_memory.core.management_types import Forgotten, Selection

        Selection.to_forget(session_id=session_id, record_id=record_id, query=query, before=before)
        chosen, inner = None, record_id
        if record_id is not None:
            chosen, memory, inner = self._of(record_id)
            if memory is None:
                return Forgotten({name: 0 for name, _ in self._managed()})

        def first(name: str, memory: Management) -> Forgotten:
            if chosen not in (None, name):
                return Forgotten({name: 0})
            return memory.forget(session_id=session_id, record_id=inner, query=query, before=before)

        return self._forget(first)

    def forget_related(self, traces: Sequence[Trace]) -> Forgotten:
        """Forget in every member what says the same, or was made of it."""
        return self._forget(lambda name, memory: memory.forget_related(traces))

    def _forget(self, first: Callable[[str, Management], Forgotten]) -> Forgotten:
        from ovos_memory.composite.everywhere import forget_everywhere

        return forget_everywhere(self._managed(), first, (*self._unmanaged(), *self._settle()))

    def reindex(self, *, progress: Progress | None = None) -> int:
        """Build what members derive anew; return how many records that took."""
        return sum(
            memory.reindex(progress=progress) for _, memory in self._managed() if hasattr(memory, "reindex")
        )

    # ------------------------------------------------------------------ taking along
    def export(self) -> Iterator[dict[str, Any]]:
        """Yield every record as JSON values; ``member`` says whose it is."""
        return ({"member": name, **line} for name, memory in self._managed() for line in memory.export())

    def import_records(
        self, lines: Iterable[Mapping[str, Any]], *, progress: Progress | None = None
    ) -> Imported:
        """Take in exported records: each member its own; what names none goes to all that keep its kind.

        Raises:
            ValueError: A line is no record.
            StoreError: A store cannot be written.
        """
        from ovos_memory.composite.everywhere import import_everywhere

        return import_everywhere(self._managed(), lines, progress)

    # ------------------------------------------------------------------ inside
    def _managed(self) -> list[tuple[str, Management]]:
        return [(m.name, m.memory) for m in self.members if isinstance(m.memory, Management)]

    def _unmanaged(self) -> list[str]:
        """Return a sentence for each member whose records cannot be reached."""
        strangers = [member.name for member in self.members if not isinstance(member.memory, Management)]
        return [
            *(f"member '{name}' has no forget(): remove it there by its own means" for name in strangers),
            *(
                f"member '{name}' did not load, so what it keeps stays ({why})"
                for name, why in self._missing.items()
            ),
        ]

    def _settle(self) -> list[str]:
        """Let members that hang come back first: the writes that wait for them would come later."""
        deadline = time.monotonic() + _DRAIN_S
        return [
            f"member '{member.name}' does not answer; repeat the call when it has come back"
            for member in self.members
            if not member.gate.drain(max(0.0, deadline - time.monotonic()))
        ]

    def _of(self, record_id: str) -> tuple[str, Management | None, str]:
        """Return member, memory and the member's own id; the longest name counts."""
        found = [(n, memory) for n, memory in self._managed() if record_id.startswith(f"{n}/")]
        if not found:
            return "", None, record_id
        name, memory = max(found, key=lambda each: len(each[0]))
        return name, memory, record_id[len(name) + 1 :]
