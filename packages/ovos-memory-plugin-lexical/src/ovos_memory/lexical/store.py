"""One lexical store per file, table and language in a process: ledger, index and what keeps them together."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ovos_utils.log import LOG

from ovos_memory.core.errors import IndexDamaged, StoreLocked
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.sqlite import WAIT_S, Database
from ovos_memory.core.text import identity
from ovos_memory.core.types import Document
from ovos_memory.lexical.analysis import Analyzer
from ovos_memory.lexical.dates import named_times
from ovos_memory.lexical.index import SLICE, LexicalIndex
from ovos_memory.lexical.rebuild import Rebuild
from ovos_memory.lexical.search import HELD_ONLY, MAX_WAITING, Ranked, Request, search
from ovos_memory.lexical.takeover import take_over

_AT_ONCE_S = 0.25
"""A new index over an existing ledger is begun with this much work on the spot; a thread does the rest."""
_SOON_S = 600.0
"""A question that goes on about something is asked within so many seconds."""
_MOST_SLICES = 8
"""Slices of new documents that one call indexes at most, when many wait."""
Found = tuple[Document, float]
"""A document and its score."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a memory asks its store.

    Attributes:
        text: As it was said.
        session_id: Search only this session; ``None``: all.
        limit: How many documents at most.
        held: Documents of that scope that are not in the ledger yet, oldest first.
        now: Epoch seconds.
    """

    text: str
    session_id: str | None
    limit: int
    held: Sequence[Document]
    now: float


class LexicalStore:
    """A ledger with its search index; safe from any thread.

    Args:
        path: The file, or ``":memory:"``.
        plugin: For messages.
        table: What the tables' names begin with.
        analyzer: Of the store's language.
        clock: Epoch seconds.

    Raises:
        StoreError: The file cannot be opened just now.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        plugin: str,
        table: str,
        analyzer: Analyzer,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._plugin = plugin
        self.index = LexicalIndex(f"{table}_", analyzer)
        self.database = Database(path, plugin=plugin)
        self.ledger = SqliteLedger(self.database, prefix=f"{table}_", index=self.index)
        take_over(self.ledger, table, plugin=plugin, clock=clock)
        self._rebuild = Rebuild(self)
        self._lock = ProcessLock()
        self._unindexed = SLICE
        """Documents recorded since the last slice; how many an earlier process left is not known."""
        self._is_ready = False

    def close(self) -> None:
        """Stop the work on the index and let go of the file; the next use opens it again."""
        self.rest()
        self.database.close()

    def rest(self) -> None:
        """Stop the work on the index; the next use goes on with it."""
        self._rebuild.stop()
        self._is_ready = False

    # ------------------------------------------------------------------ keeping the index up to date
    def recorded(self, documents: int) -> None:
        """Take note of new documents; a slice is indexed whenever enough of them wait."""
        with self._lock:
            self._unindexed += documents
            if self._unindexed < SLICE:
                return
            self._unindexed = 0
        self.prepare()
        # Whoever records hundreds at once has time, and so many that wait would not all be found.
        self._mend(lambda: self._index_newer(WAIT_S if documents > SLICE else 0.0))

    def _index_newer(self, wait_s: float) -> None:
        try:
            for _ in range(_MOST_SLICES):
                with self.database.write(wait_s, is_synced=False) as connection:
                    if self.index.add_newer(connection) < SLICE:
                        return
        except StoreLocked:  # somebody else is writing, and indexes perhaps: searches read what waits
            pass
        self._rebuild.start()

    def prepare(self) -> None:
        """Begin an index where there is none of this version and language, and go on with one that is not complete.

        Raises:
            StoreUnavailable: This SQLite has no FTS5, or the file cannot be written.
        """
        if self._is_ready or self._rebuild.is_running or self.database.is_read_only:
            return
        with self.database.read() as connection:
            state = self.index.tables.state(connection)
        if state is None or state.low > 0:
            self._begin()
        self._is_ready = True

    def _begin(self) -> None:
        deadline = time.monotonic() + _AT_ONCE_S
        try:
            while self.index_missing(wait_s=_AT_ONCE_S):
                if time.monotonic() >= deadline:
                    break
            else:
                return
        except StoreLocked:
            pass
        self._rebuild.start()

    def index_missing(self, *, wait_s: float = WAIT_S) -> bool:
        """Index a slice of what is not in the index yet, new documents first; return whether more is left."""
        with self.database.write(wait_s, is_synced=False) as connection:
            return self.index.add_newer(connection) == SLICE or self.index.add_older(connection)

    def waiting(self) -> int:
        """Return how many documents are not in the index yet; searches read the newest of them as they are."""
        with self.database.read() as connection:
            state = self.index.tables.state(connection)
            high, low = (0, 0) if state is None else (state.high, state.low)
            where = "change > ? OR change <= ?"
            return int(
                connection.execute(
                    f"SELECT count(*) FROM {self.ledger.documents_table} WHERE {where}", (high, low)
                ).fetchone()[0]
            )

    def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Build the index anew, or finish what an interrupted call began; return how many documents that took.

        Args:
            progress: Told how many documents are done, of how many.
        """
        total = self.ledger.count()
        with self.database.write() as connection:
            state = self.index.tables.state(connection)
            if state is None or state.low == 0:
                self.index.begin_anew(connection)
        done, is_more = max(0, total - self.waiting()), True
        while is_more:
            is_more = self.index_missing()
            done += SLICE
            if progress is not None:
                progress(min(done, total), total)
        return total

    def _mend(self, function: Callable[[], None]) -> None:
        """Run something on the index; when the index turns out to be damaged, begin it anew and run it again."""
        try:
            function()
        except (IndexDamaged, sqlite3.DatabaseError) as error:
            LOG.error(
                "%s: the search index in %s is damaged (%s) and is built anew; no document is lost",
                self._plugin, self.database.path, type(error).__name__,
            )  # fmt: skip
            with self.database.write() as connection:
                self.index.begin_anew(connection)
            self._is_ready = False
            self.prepare()
            function()

    # ------------------------------------------------------------------ searching
    def search(self, question: Question) -> list[Found]:
        """Return documents with distinct texts and their scores, best first."""
        self.prepare()
        found: list[Found] = []

        def run() -> None:
            with self.database.read() as connection:
                state = self.index.tables.state(connection)
                if state is None or state.low > 0:  # perhaps another file took the place of this one
                    self._is_ready = False
                elif not self.database.is_read_only and self.index.is_behind(connection, state, MAX_WAITING):
                    self._rebuild.start()
                ranked = search(self.index, self._request(connection, question), connection, state)
                found[:] = documents_of(
                    ranked, question, lambda rows: self.ledger.by_rows(rows, connection=connection)
                )
                if len(found) < question.limit:
                    found.extend(self._follow_ups(connection, found, question.limit - len(found)))

        self._mend(run)
        return found

    def _follow_ups(self, connection: sqlite3.Connection, found: Sequence[Found], limit: int) -> list[Found]:
        """Return exchanges that share no word with the query but go on about a hit (*and where did I put it?*).

        They come behind everything that does share a word, and only where the list has room.
        """
        rows = [document.row for document, _ in found if document.row >= 0]
        next_rows = self.index.following(connection, rows)
        next_ones = self.ledger.by_rows(list(next_rows.values()), connection=connection)
        texts = {identity(document.content) for document, _ in found}
        added: list[Found] = []
        for document, score in found:
            next_one = next_ones.get(next_rows.get(document.row, -1))
            if next_one is None or len(added) == limit:
                continue
            is_soon = abs(next_one.created_at - document.created_at) <= _SOON_S
            text = identity(next_one.content)
            if is_soon and text not in texts and self.index.analyzer.is_elliptic(next_one.question):
                texts.add(text)
                added.append((next_one, found[-1][1] * score / found[0][1] / 2))
        return sorted(added, key=lambda each: -each[1])

    def _request(self, connection: sqlite3.Connection, question: Question) -> Request:
        names = dict.fromkeys(document.session_id for document in question.held)
        if question.session_id is not None:
            names[question.session_id] = None
        numbers = {name: self.ledger.session_number(name, connection=connection) for name in names}
        session: int | None = None
        if question.session_id is not None:
            number = numbers[question.session_id]
            session = HELD_ONLY if number is None else number
        return request_of(self.index, question, session, numbers)


def request_of(
    index: LexicalIndex, question: Question, session: int | None, numbers: Mapping[str, int | None]
) -> Request:
    """Return a question as a request to an index.

    Args:
        index: Analyses what is held.
        question: What is asked.
        session: Number of the question's session, see :class:`Request`.
        numbers: Of the held documents' sessions; ``None`` for those that the ledger does not have.
    """
    unknown = {
        name: HELD_ONLY - 1 - i for i, name in enumerate(n for n, number in numbers.items() if number is None)
    }
    first = -len(question.held)
    held = [
        index.drafts.of_held(document, row, numbers[document.session_id] or unknown[document.session_id])
        for row, document in enumerate(question.held, first)
    ]
    return Request(
        query=question.text,
        limit=question.limit,
        times=named_times(question.text, question.now, index.analyzer.language),
        session=session,
        held=held,
        replaced=frozenset(document.row for document in question.held if document.row >= 0),
    )


def documents_of(
    ranked: Sequence[Ranked], question: Question, load: Callable[[list[int]], Mapping[int, Document]]
) -> list[Found]:
    """Return the best documents with distinct texts.

    Args:
        ranked: What was found, best first.
        question: What was asked.
        load: Reads documents from the ledger by row.
    """
    found: dict[str, Found] = {}
    page = question.limit + 5
    for start in range(0, len(ranked), page):
        part = ranked[start : start + page]
        stored = load([each.row for each in part if each.row >= 0])
        for each in part:
            document = stored.get(each.row) if each.row >= 0 else question.held[each.row]
            if document is not None:
                found.setdefault(identity(document.content), (document, each.score))
            if len(found) == question.limit:
                return list(found.values())
    return list(found.values())
