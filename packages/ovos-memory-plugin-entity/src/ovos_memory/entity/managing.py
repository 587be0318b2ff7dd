"""Facts as records: seen, corrected, forgotten, taken along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ovos_memory.core.management_lines import session_and_time
from ovos_memory.core.management_types import IsMeant, Tally, Trace, gone
from ovos_memory.core.record_types import Record
from ovos_memory.core.text import fold
from ovos_memory.entity.facts import Fact, FactBook, NewFact, guess_kind, tidy
from ovos_memory.entity.store import SHARED, FactStore


class FactRecords:
    """The facts of a store as records; ids are ``fact_<n>``, or ``<session>_fact_<n>`` under scope ``session``.

    Args:
        store: Where the facts are.
        plugin: Name for ``Record.origin``.
    """

    kind = "fact"

    def __init__(self, store: FactStore, *, plugin: str) -> None:
        self._store = store
        self._plugin = plugin

    def records(self, session_id: str | None = None) -> Iterator[Record]:
        """Yield the facts, replaced ones too: they are still in the file."""
        for name, book in self._store.books():
            for fact in book.all:
                if session_id in (None, fact.session):
                    yield self._record(name, fact)

    def _record(self, name: str, fact: Fact) -> Record:
        details = {"words": fact.words, "fact": fact.as_dict()}
        prefix = "" if name == SHARED else f"{name}_"
        return Record(
            f"{prefix}fact_{fact.id}", "fact", fact.session, fact.at, fact.text, self._plugin, details
        )

    def remove(self, is_meant: IsMeant, gone: Sequence[Trace]) -> list[Trace]:
        """Remove facts that are meant, or rest on an exchange that is gone."""
        traces: list[Trace] = []
        for name, book in self._store.books():
            if not any(self._is_going(name, fact, is_meant, gone) for fact in book.all):
                continue
            removed: list[Fact] = []

            def forget(book: FactBook, name: str = name, removed: list[Fact] = removed) -> None:
                removed[:] = [fact for fact in book.all if self._is_going(name, fact, is_meant, gone)]
                book.forget(fact.id for fact in removed)

            self._store.update_record(name, forget)
            self._store.drop_if_empty(name)
            traces += [Trace(f.session, f.text, created_at=f.at, words=f.words) for f in removed]
        return traces

    def _is_going(self, name: str, fact: Fact, is_meant: IsMeant, gone: Sequence[Trace]) -> bool:
        record = self._record(name, fact)
        return is_meant(record) or self.is_made_of(record, gone)

    def is_made_of(self, record: Record, traces: Sequence[Trace]) -> bool:
        """Tell whether a fact says the same, or rests on words that were said there."""
        words = fold(str(record.details.get("words") or ""))
        return any(
            trace.session_id == record.session_id
            and (trace.means(record.session_id, record.text) or (words and words in fold(_said(trace))))
            for trace in traces
        )

    def edit(self, record: Record, text: str) -> Record:
        """Replace the text of a fact; the words that it rested on go with it."""
        fact = Fact.from_dict(record.details["fact"])
        for name, book in self._store.books():
            for known in book.all:
                if self._record(name, known).id == record.id:
                    corrected = replace(fact, text=tidy(text), words="", kind=guess_kind(text, fact.kind))
                    self._store.update_record(name, partial(FactBook.correct, fact=corrected))
                    return self._record(name, corrected)
        raise gone(record.id)

    def add(self, line: Mapping[str, Any], tally: Tally) -> None:
        """Take in a fact with its number, or learn one that has none."""
        try:
            session_id, created_at = session_and_time(line)
            text = tidy(str(line["text"]))
            stored = line.get("fact")
            fact = None if stored is None else Fact.from_dict(stored)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"a fact of the export is no fact: {type(error).__name__}") from None

        def take(book: FactBook) -> None:
            if any(known.text == text and known.at == created_at for known in book.all):
                tally.known += 1
            elif fact is None:
                book.learn(NewFact(text, guess_kind(text), "", created_at, session_id))
                tally.added += 1
            else:
                tally.added += 1
                tally.renumbered += not book.restore(fact)

        self._store.update(session_id, take)


def _said(trace: Trace) -> str:
    return trace.text if trace.question is None else trace.question
