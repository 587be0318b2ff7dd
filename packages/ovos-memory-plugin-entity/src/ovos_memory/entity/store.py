"""The facts in their state store: which record they are in, and how they get there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.state_types import AtomicState, Change, Record
from ovos_memory.entity.facts import Fact, FactBook, NewFact, guess_kind, tidy

SHARED = "\x00shared"
"""Record that holds the facts of all sessions under ``scope: global``; no caller gets it, see :func:`record_name`."""
PORTION = 100
"""Records that move to another scope in one step: a turn may wait for one."""


class FactStore:
    """Facts by session, or all in one record, as the scope wants it.

    Args:
        state: Where records live.
        scope: ``global`` or ``session``.
        max_facts: How many a record keeps; 0: all.
    """

    def __init__(self, state: AtomicState, *, scope: str, max_facts: int) -> None:
        self._state = state
        self._is_global = scope == "global"
        self._max_facts = max_facts
        self._is_settled = False
        self._settling = ProcessLock()

    def book(self, session_id: str, *, waits: bool = True) -> FactBook:
        """Return a copy of the facts that a session knows.

        Args:
            session_id: The session.
            waits: Until all facts are where this scope keeps them.  A turn does not: it moves one portion at
                most, and gets what has been moved so far.
        """
        self._settle(waits=waits)
        return book_of(self._state.load(self._record_of(session_id)))

    def update(self, session_id: str, change: Callable[[FactBook], None]) -> None:
        """Change the facts that a session knows, in one step that nobody comes between."""
        self._settle()
        self._state.update(self._record_of(session_id), lambda record: self._changed(record, change))

    def books(self) -> list[tuple[str, FactBook]]:
        """Return all records: name and facts."""
        self._settle()
        return [(name, book_of(record)) for name, record in self._state.items()]

    def update_record(self, name: str, change: Callable[[FactBook], None]) -> None:
        """Change the facts of one record by its name."""
        self._state.update(name, lambda record: self._changed(record, change))

    def drop_if_empty(self, name: str) -> None:
        """Forget the name of a session that knows nothing any more."""
        if name != SHARED:
            self._state.update(name, lambda record: record if book_of(record).all else None)

    def _changed(
        self, record: Mapping[str, Any] | None, change: Callable[[FactBook], None]
    ) -> dict[str, Any] | None:
        book = book_of(record)
        change(book)
        book.limit(self._max_facts)
        return record_of(book)

    def _record_of(self, session_id: str) -> str:
        return SHARED if self._is_global else record_name(session_id)

    def _settle(self, *, waits: bool = True) -> None:
        """Bring facts of the other scope, or of version 1.x, to where this scope keeps them.

        They may be those of thousands of sessions, so they go in portions.
        """
        if self._is_settled or not self._settling.acquire(-1 if waits else 0):
            return
        try:
            while not self._is_settled:
                misplaced = [name for name in self._state.sessions() if (name == SHARED) != self._is_global]
                if misplaced:
                    self._move(misplaced[:PORTION])
                self._is_settled = len(misplaced) <= PORTION and not self._is_left(misplaced)
                if not waits:
                    return
        finally:
            self._settling.release()

    def _is_left(self, names: Sequence[str]) -> bool:
        """Tell whether any of these records is still there: of a session that another process met meanwhile."""
        return any(self._state.load(name) is not None for name in names)

    def _move(self, names: Sequence[str]) -> None:
        """Move the facts of some records.

        Taking them out and taking them in is one step of the store: another process that begins at the same
        time finds either all or nothing to move, and what it adds to a record is not removed with the rest.
        """
        if self._is_global:
            targets = [SHARED]
        else:
            facts = [fact for name in names for fact in book_of(self._state.load(name)).all]
            targets = list(dict.fromkeys(record_name(fact.session) for fact in facts))
        moved: dict[str, dict[str, list[Fact]]] = {}  # by record and target

        def take(name: str) -> Change:
            def taken(record: Record | None) -> Record | None:
                book = book_of(record)
                moved[name] = {target: [] for target in targets}
                for fact in book.all:
                    if (target := self._record_of(fact.session)) in moved[name]:
                        moved[name][target].append(fact)
                book.forget(fact.id for facts in moved[name].values() for fact in facts)
                return record_of(book) if book.all else None

            return taken

        def adopt(target: str) -> Change:
            def adopted(book: FactBook) -> None:
                _adopt(book, [fact for name in names for fact in moved[name][target]])

            return lambda record: self._changed(record, adopted)

        self._state.apply([(name, take(name)) for name in names] + [(t, adopt(t)) for t in targets])


def record_name(session_id: str) -> str:
    """Return the name of a session's record, which is never that of all sessions, whatever a caller's session is."""
    return f"\x00{session_id}" if session_id.startswith("\x00") else session_id


def book_of(record: Mapping[str, Any] | None) -> FactBook:
    """Return the facts of a stored record; what is damaged in it is left out."""
    stored = (record or {}).get("facts")
    read = map(Fact.read, stored if isinstance(stored, list) else ())
    next_id = (record or {}).get("next_id")
    return FactBook((fact for fact in read if fact is not None), next_id if isinstance(next_id, int) else 1)


def record_of(book: FactBook) -> dict[str, Any] | None:
    """Return facts as they are stored; ``None`` when there have never been any."""
    if book.next_id == 1:
        return None
    return {"next_id": book.next_id, "facts": [fact.as_dict() for fact in book.all]}


def convert_1x(found: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Return the sessions of a file that version 1.x wrote: ``{session: {"facts": [text, …]}}``."""
    converted: dict[str, dict[str, Any]] = {}
    for session_id, stored in found.items():
        facts = stored.get("facts") if isinstance(stored, Mapping) else None
        if not isinstance(facts, list):
            return None
        book = FactBook()
        for text in facts:
            if isinstance(text, str) and tidy(text):
                book.learn(NewFact(tidy(text), guess_kind(text), "", 0.0, session_id))
        record = record_of(book)
        if record is not None:
            converted[session_id] = record
    return converted


def _adopt(book: FactBook, facts: list[Fact]) -> None:
    """Take facts from another record in, in the order in which they were said."""
    for fact in sorted(facts, key=lambda f: (f.confirmed_at, f.id)):
        book.adopt(fact)
