"""Managing what is in a ledger: documents on disk, those held in memory, questions without an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_memory.core.errors import DocumentGone, StoreError, StoreLocked
from ovos_memory.core.exchanges import make_exchange, message_as_dict
from ovos_memory.core.files import bytes_of, remove_copies
from ovos_memory.core.ledger_codec import dump_messages
from ovos_memory.core.management_lines import documents_of_lines
from ovos_memory.core.management_types import (
    SAME_MOMENT_S,
    Imported,
    IsMeant,
    Progress,
    Scrubbed,
    Tally,
    Trace,
    gone,
)
from ovos_memory.core.record_types import Record, SessionSummary
from ovos_memory.core.text import identity
from ovos_memory.core.types import Document

if TYPE_CHECKING:
    from ovos_memory.core.journal import Journal
    from ovos_memory.core.sqlite import Database

_BATCH = 500
"""Documents that are imported in one transaction."""
_SCRUB_WAIT_S = 5.0


class LedgerKeeper:
    """Keeps the records of one journal and its ledger.

    Args:
        journal: Whose records they are.
        plugin: Name for ``Record.origin`` and counts.
        clock: Returns epoch seconds.
        on_changed: Told of documents that were edited or imported, to index them.
        on_removed: Told of documents that are gone from the ledger; removes what is kept of them elsewhere.
        clean_more: Cleans further files of the store, after the ledger's.
        rebuild: Builds the index anew and returns how many documents that took; ``None``: there is none.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        plugin: str,
        clock: Callable[[], float],
        on_changed: Callable[[list[Document]], None],
        on_removed: Callable[[list[Document]], None] | None = None,
        clean_more: Callable[[], Scrubbed] | None = None,
        rebuild: Callable[[Progress | None], int] | None = None,
    ) -> None:
        self._journal = journal
        self._plugin = plugin
        self._clock = clock
        self._on_changed = on_changed
        self._on_removed = on_removed
        self._clean_more = clean_more
        self._rebuild = rebuild

    # ------------------------------------------------------------------ looking
    def sessions(self) -> list[SessionSummary]:
        """Return every session that has records, by first arrival."""
        found = {summary.session_id: summary for summary in self._journal.ledger.sessions()}
        waiting = [self._record(d) for d in self._journal.held() if d.row < 0]
        for record in (*waiting, *self._open_records(None)):
            known = found.get(record.session_id)
            count, first = (known.documents, known.first_at) if known else (0, record.created_at)
            found[record.session_id] = SessionSummary(
                record.session_id, count + 1, first, max(record.created_at, known.last_at if known else 0.0)
            )
        return list(found.values())

    def records(self, session_id: str | None = None) -> Iterator[Record]:
        """Yield all records, of one session or of all."""
        for document in self._documents(session_id):
            yield self._record(document)
        yield from self._open_records(session_id)

    def _documents(self, session_id: str | None) -> Iterator[Document]:
        """Yield documents as they are now, those on disk first."""
        held = {document.id: document for document in self._journal.held(session_id)}
        for document in self._journal.ledger.documents(session_id=session_id):
            yield held.pop(document.id, document)
        yield from held.values()

    def _record(self, document: Document) -> Record:
        details: dict[str, Any] = {}
        if document.text is None:
            details = {"question": document.question, "answer": document.answer}
            if dump_messages(document.question, document.answer, document.messages) is not None:
                details["messages"] = [message_as_dict(message) for message in document.messages]
        if document.metadata:
            details["metadata"] = dict(document.metadata)
        kind = "exchange" if document.text is None else "text"
        return Record(
            document.id,
            kind,
            document.session_id,
            document.created_at,
            document.content,
            self._plugin,
            details,
        )

    def _open_records(self, session_id: str | None) -> list[Record]:
        """Return the questions that wait in memory for their answer; an export leaves them out."""
        now = self._clock()
        return [
            Record(
                f"{name}_open",
                "message",
                name,
                now,
                make_exchange(draft).question,
                self._plugin,
                {"is_open": True, "messages": [message_as_dict(message) for message in draft]},
            )
            for name, draft in self._journal.open_questions(session_id).items()
        ]

    # ------------------------------------------------------------------ changing
    def edit(self, record_id: str, texts: Mapping[str, str]) -> Record:
        """Replace ``question``, ``answer`` or ``text`` of a document; what is held is written first."""
        held = {document.id for document in self._journal.held()}
        if held and not self._journal.flush():
            raise StoreLocked(f"{self._plugin}: some exchanges wait for the store; it is tried again later")
        try:
            document = self._journal.ledger.edit(record_id, **texts)
        except DocumentGone as error:
            raise gone(record_id) from error
        self._on_changed([document])
        return self._record(document)

    def remove(self, is_meant: IsMeant, session_id: str | None = None) -> list[Trace]:
        """Remove documents from the ledger and its queues, from memory, and unanswered questions."""
        with self._journal.quiet():
            waiting = [record for record in self._open_records(session_id) if is_meant(record)]
            for record in waiting:
                self._journal.forget_open(record.session_id)
            held = self._journal.forget_held(lambda document: is_meant(self._record(document)))
            ids = {document.id for document in held}
            for document in self._journal.ledger.documents(session_id=session_id):
                if document.id not in ids and is_meant(self._record(document)):
                    ids.add(document.id)
            held += self._journal.forget_held(lambda document: document.id in ids)
            removed = self._journal.ledger.delete(list(ids))
        if self._on_removed is not None and removed:
            self._on_removed(removed)
        traces = {d.id: _trace(d) for d in (*removed, *held)}
        return [*traces.values(), *(Trace(r.session_id, r.text, r.text, "") for r in waiting)]

    def related(self, traces: Sequence[Trace]) -> IsMeant:
        """Return which records are the same exchange, or the same text of the same session."""
        by_session: dict[str, list[Trace]] = {}
        for trace in traces:
            by_session.setdefault(trace.session_id, []).append(trace)

        def is_meant(record: Record) -> bool:
            return any(_is_same(record, trace) for trace in by_session.get(record.session_id, ()))

        return is_meant

    # ------------------------------------------------------------------ files
    def scrub(self) -> Scrubbed:
        """Leave no trace of what was removed in the ledger's files, nor in those set aside or copied."""
        cleaned = scrub_database(self._journal.ledger.database)
        held = self._journal.held()
        if held:
            cleaned += Scrubbed((), (f"{self._plugin}: {len(held)} exchanges wait in memory for the store",))
        return cleaned if self._clean_more is None else cleaned + self._clean_more()

    def stats(self) -> dict[str, Any]:
        """Return path and size, and what failed so far in any process, by operation."""
        database = self._journal.ledger.database
        failures = self._journal.ledger.failures()
        return {"path": str(database.path), "bytes": bytes_of(database.path), "failures": failures}

    def reindex(self, progress: Progress | None) -> int:
        """Build the index anew."""
        return 0 if self._rebuild is None else self._rebuild(progress)

    # ------------------------------------------------------------------ taking along
    def take_in(self, lines: Iterable[Mapping[str, Any]], progress: Progress | None) -> Imported:
        """Add documents with their numbers, a few hundred per transaction."""
        tally, done, batch = Tally(), 0, list[Document]()
        for document in documents_of_lines(lines, tally):
            batch.append(document)
            if len(batch) == _BATCH:
                self._restore(batch, tally)
                done += len(batch)
                batch = []
                if progress is not None:
                    progress(done, 0)
        self._restore(batch, tally)
        return tally.result(self._plugin)

    def _restore(self, documents: Sequence[Document], tally: Tally) -> None:
        ledger = self._journal.ledger
        restored = []
        if not documents:
            return
        with ledger.database.write(_SCRUB_WAIT_S) as connection:
            for document in documents:
                stored = ledger.restore(document, connection=connection)
                if stored is None:
                    tally.known += 1
                    continue
                tally.added += 1
                tally.renumbered += document.n >= 0 and stored.n != document.n
                restored.append(stored)
        if restored:
            self._on_changed(restored)


def _trace(document: Document) -> Trace:
    if document.text is not None:
        return Trace(document.session_id, document.text, source=document.id, created_at=document.created_at)
    return Trace(
        document.session_id,
        document.content,
        document.question,
        document.answer,
        document.id,
        document.created_at,
    )


def _is_same(record: Record, trace: Trace) -> bool:
    details = record.details
    if trace.source == record.id and _is_grown(record, trace):
        return True
    if trace.is_source(record.session_id, record.created_at, record.text):
        return True
    if "question" in details:
        question, answer = details["question"], details["answer"]
        if trace.question is not None:
            return trace.is_exchange(record.session_id, question, answer)
        return trace.means(record.session_id, record.text, question, answer)
    return trace.means(record.session_id, record.text)


def _is_grown(record: Record, trace: Trace) -> bool:
    """Tell whether a document of the same id is the same exchange, whose answer got longer in one of two memories.

    The id alone says nothing: memories number on their own, and one that missed an exchange is behind the others.
    """
    is_same_moment = abs(record.created_at - trace.created_at) <= SAME_MOMENT_S
    asked = record.details.get("question")
    return is_same_moment and bool(asked) and identity(str(asked)) == identity(trace.question or "")


def scrub_database(database: Database, *, wait_s: float = _SCRUB_WAIT_S) -> Scrubbed:
    """Rebuild a database's file without what was deleted, empty its log, remove set-aside files and copies.

    Args:
        database: The file; one in memory has nothing to clean.
        wait_s: How long to wait for others who are using it.
    """
    if database.is_in_memory:
        return Scrubbed()
    deadline = time.monotonic() + wait_s
    while True:
        try:
            database.scrub(is_thorough=True)
            left: tuple[str, ...] = ()
        except StoreLocked as error:
            if time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            left = (f"{error}; repeat the call when nobody reads it",)
        except StoreError as error:
            left = (f"{error}; repeat the call when it can be written",)
        break
    return Scrubbed((), left) + scrub_copies(database.path, database.plugin)


def scrub_copies(path: Path, plugin: str) -> Scrubbed:
    """Remove what was set aside beside a store and the copies of what 1.x left."""
    try:
        return Scrubbed(tuple(str(each) for each in remove_copies(path)))
    except OSError as error:
        return Scrubbed((), (f"{plugin}: copies beside {path} cannot be removed ({type(error).__name__})",))
