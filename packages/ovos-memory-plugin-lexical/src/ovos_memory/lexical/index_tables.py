"""The index's own tables beside the ledger's: a dictionary, one entry per document, posting lists in FTS5.

Everywhere but in the dictionary a term is a number.  So entries and posting lists stay small, and when the last document
with a word is forgotten, the word is gone from the file: what stays in FTS5's segments until they are merged is a number
that nothing explains any more.
"""

from __future__ import annotations

import re
import sqlite3
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import starmap

from ovos_memory.core.errors import StoreUnavailable

_TABLES = """
CREATE TABLE {p}state (
  one INTEGER PRIMARY KEY CHECK (one = 1), fingerprint TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
  documents INTEGER NOT NULL, words INTEGER NOT NULL, next_term INTEGER NOT NULL);
CREATE TABLE {p}terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, documents INTEGER NOT NULL);
CREATE TABLE {p}entries (
  row INTEGER PRIMARY KEY, session INTEGER NOT NULL, n INTEGER NOT NULL, created_at REAL NOT NULL,
  is_shown INTEGER NOT NULL, digest INTEGER NOT NULL, words INTEGER NOT NULL, terms BLOB NOT NULL);
CREATE INDEX {p}entries_by_digest ON {p}entries (digest);
CREATE VIRTUAL TABLE {p}postings USING fts5(
  terms, content='', columnsize=0, detail=none, tokenize="ascii")
"""
_NAMES = ("postings", "entries", "terms", "state")
_SHADOWS = ("postings_data", "postings_idx", "postings_config")
"""FTS5's own tables for its contents; gone with it unless it was broken."""
FORMAT = 1
"""Raised whenever the tables change; they are made anew then."""
MAX_COUNT = 255
_PAGE = 400


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the index has come.

    Attributes:
        fingerprint: Of the analyzer and the tables.
        low: Documents changed after ``low`` ...
        high: ... and up to ``high`` (change numbers of the ledger) are indexed; ``low`` is 0 when none are missing.
        documents: Documents that count: of identical ones in a session only the newest.
        words: Their length altogether.
        next_term: The next number for a new term; numbers are never used twice.
    """

    fingerprint: str
    low: int
    high: int
    documents: int
    words: int
    next_term: int


@dataclass(slots=True)
class Entry:
    """What the index holds of a document.

    Attributes:
        row: Its row number in the ledger.
        session: Its session's number.
        n: Its number in the session.
        created_at: Epoch seconds.
        is_shown: It can be found; a newer identical one of the session stands for those that cannot.
        digest: Equal for identical documents of a session.
        words: Its length in terms, repeats included.
        terms: See :func:`pack_terms`.
    """

    row: int
    session: int
    n: int
    created_at: float
    is_shown: bool
    digest: int
    words: int
    terms: bytes


def pack_terms(counts: Iterable[tuple[int, int]]) -> bytes:
    """Return term numbers (4 bytes each, little endian) and, behind them all, how often each occurs (1 byte, capped)."""
    pairs = list(counts)
    numbers = b"".join(number.to_bytes(4, "little") for number, _ in pairs)
    return numbers + bytes(min(count, MAX_COUNT) for _, count in pairs)


def unpack_terms(packed: bytes) -> list[int]:
    """Return the term numbers of :func:`pack_terms`."""
    numbers = array("I", packed[: 4 * (len(packed) // 5)])
    if memoryview(b"\1\0").cast("H")[0] != 1:
        numbers.byteswap()
    return numbers.tolist()


def count_of(packed: bytes, number: bytes) -> int:
    """Return how often a term (its number in 4 bytes) occurs in :func:`pack_terms`.  Cost: 0.15 microseconds."""
    size = 4 * (len(packed) // 5)
    position = packed.find(number, 0, size)
    while position % 4 and position >= 0:
        position = packed.find(number, position + 1, size)
    return packed[size + position // 4] if position >= 0 else 0


def posting_text(entry: Entry) -> str:
    """Return what FTS5 stores for an entry: its terms' numbers, and its session's."""
    return " ".join(f"{number:x}" for number in unpack_terms(entry.terms)) + f" s{entry.session:x}"


class IndexTables:
    """Statements on the tables of one index; every method takes the connection to use.

    Args:
        prefix: Of the ledger's tables.
        fingerprint: Of the analyzer.
    """

    def __init__(self, prefix: str, fingerprint: str) -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", prefix, re.ASCII):
            raise ValueError(f"prefix must hold letters, digits and underscores only, got {prefix!r}")
        self.p = f"{prefix}index_"
        self.fingerprint = f"{FORMAT}:{fingerprint}"

    # ------------------------------------------------------------------ life
    def state(self, connection: sqlite3.Connection) -> IndexState | None:
        """Return the state; ``None`` when there is no index, or one of other rules or with parts missing."""
        names = [f"{self.p}{name}" for name in _NAMES]
        marks = ",".join("?" * len(names))
        found = connection.execute(
            f"SELECT count(*) FROM sqlite_master WHERE name IN ({marks})", names
        ).fetchone()[0]
        if found < len(names):
            return None
        row = connection.execute(
            f"SELECT fingerprint, low, high, documents, words, next_term FROM {self.p}state"
        ).fetchone()
        return IndexState(*row) if row is not None and row[0] == self.fingerprint else None

    def create(self, connection: sqlite3.Connection, last_change: int) -> IndexState:
        """Begin a new, empty index in place of what is there; everything up to ``last_change`` is still to be indexed.

        Raises:
            StoreUnavailable: This SQLite has no FTS5.
        """
        self._drop(connection)
        for statement in _TABLES.format(p=self.p).split(";\n"):
            try:
                connection.execute(statement)
            except sqlite3.OperationalError as error:
                if "no such module" not in str(error):
                    raise
                raise StoreUnavailable(
                    f"the SQLite {sqlite3.sqlite_version} of this Python has no FTS5, so nothing can be recalled by words;"
                    " install a Python whose sqlite3 has it (python.org, conda and every current distribution)"
                ) from error
        state = IndexState(self.fingerprint, last_change, last_change, 0, 0, 1)
        connection.execute(f"INSERT INTO {self.p}state VALUES (1, ?, ?, ?, ?, ?, ?)", _values(state))
        return state

    def _drop(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute(f"DROP TABLE IF EXISTS {self.p}postings")
        except sqlite3.DatabaseError:  # FTS5 cannot open what is broken, not even to drop it
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("DELETE FROM sqlite_master WHERE name = ?", (f"{self.p}postings",))
            # SQLite 3.36 forgets the table only when the version of the schema says that it changed.
            version = int(connection.execute("PRAGMA schema_version").fetchone()[0])
            connection.execute(f"PRAGMA schema_version = {version + 1}")
            connection.execute("PRAGMA writable_schema = RESET")
        for name in _NAMES[1:] + _SHADOWS:
            connection.execute(f"DROP TABLE IF EXISTS {self.p}{name}")

    def save(self, connection: sqlite3.Connection, state: IndexState) -> None:
        """Store the state."""
        connection.execute(
            f"UPDATE {self.p}state SET fingerprint = ?, low = ?, high = ?, documents = ?, words = ?, next_term = ?",
            _values(state),
        )

    # ------------------------------------------------------------------ dictionary
    def known_terms(self, connection: sqlite3.Connection, terms: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return number and document count of those terms that the dictionary has."""
        found: dict[str, tuple[int, int]] = {}
        for start in range(0, len(terms), _PAGE):
            page = terms[start : start + _PAGE]
            marks = ",".join("?" * len(page))
            rows = connection.execute(
                f"SELECT term, id, documents FROM {self.p}terms WHERE term IN ({marks})", page
            )
            found.update((term, (number, documents)) for term, number, documents in rows)
        return found

    def terms_between(
        self, connection: sqlite3.Connection, first: str, behind: str, limit: int
    ) -> list[tuple[str, int, int]]:
        """Return up to ``limit`` terms (with number and document count) from ``first`` to before ``behind``."""
        return connection.execute(
            f"SELECT term, id, documents FROM {self.p}terms WHERE term >= ? AND term < ? LIMIT ?",
            (first, behind, limit),
        ).fetchall()

    def add_terms(self, connection: sqlite3.Connection, new: Iterable[tuple[int, str, int]]) -> None:
        """Add terms as (number, term, document count)."""
        connection.executemany(f"INSERT INTO {self.p}terms VALUES (?, ?, ?)", new)

    def count_terms(self, connection: sqlite3.Connection, changes: Iterable[tuple[int, int]]) -> None:
        """Add to the document counts, given as (by how many, number); a term without documents is forgotten."""
        changes = list(changes)
        connection.executemany(f"UPDATE {self.p}terms SET documents = documents + ? WHERE id = ?", changes)
        connection.executemany(
            f"DELETE FROM {self.p}terms WHERE id = ? AND documents <= 0",
            [(number,) for by, number in changes if by < 0],
        )

    # ------------------------------------------------------------------ entries and postings
    def entries(self, connection: sqlite3.Connection, where: str, values: Sequence[object]) -> list[Entry]:
        """Return the entries that a condition (and what follows it) chooses."""
        rows = connection.execute(
            f"SELECT row, session, n, created_at, is_shown, digest, words, terms FROM {self.p}entries WHERE {where}",
            values,
        )
        return list(starmap(Entry, rows))

    def by_rows(self, connection: sqlite3.Connection, rows: Sequence[int]) -> dict[int, Entry]:
        """Return entries by row number, without those that do not exist."""
        found: dict[int, Entry] = {}
        for start in range(0, len(rows), _PAGE):
            page = rows[start : start + _PAGE]
            marks = ",".join("?" * len(page))
            found |= {entry.row: entry for entry in self.entries(connection, f"row IN ({marks})", page)}
        return found

    def add_entries(self, connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
        """Add entries, and the shown ones to the posting lists."""
        connection.executemany(
            f"INSERT INTO {self.p}entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(e.row, e.session, e.n, e.created_at, e.is_shown, e.digest, e.words, e.terms) for e in entries],
        )
        connection.executemany(
            f"INSERT INTO {self.p}postings (rowid, terms) VALUES (?, ?)",
            [(entry.row, posting_text(entry)) for entry in entries if entry.is_shown],
        )

    def show(self, connection: sqlite3.Connection, entry: Entry, is_shown: bool) -> None:
        """Put a stored entry into the posting lists, or take it out."""
        connection.execute(f"UPDATE {self.p}entries SET is_shown = ? WHERE row = ?", (is_shown, entry.row))
        columns, values = (
            ("(rowid, terms)", "(?, ?)") if is_shown else ("({p}postings, rowid, terms)", "('delete', ?, ?)")
        )
        connection.execute(
            f"INSERT INTO {self.p}postings {columns.format(p=self.p)} VALUES {values}",
            (entry.row, posting_text(entry)),
        )

    def drop_entry(self, connection: sqlite3.Connection, entry: Entry) -> None:
        """Remove an entry, from the posting lists too when it is shown."""
        if entry.is_shown:
            self.show(connection, entry, False)
        connection.execute(f"DELETE FROM {self.p}entries WHERE row = ?", (entry.row,))

    def newest_rows(
        self, connection: sqlite3.Connection, match: str, limit: int, *, rows: tuple[int, int] | None = None
    ) -> list[int]:
        """Return the rows that a match expression finds, newest first.

        Args:
            connection: To read with.
            match: Made of :func:`term_query` and :func:`session_query`.
            limit: How many at most.
            rows: Only rows from the first to the second number.
        """
        within = "" if rows is None else " AND rowid BETWEEN ? AND ?"
        # One row for all of them: Python lets other threads in at every row that it fetches, and each may keep the
        # interpreter for milliseconds.
        newest = (
            f"SELECT rowid AS row FROM {self.p}postings WHERE {self.p}postings MATCH ?{within}"
            " ORDER BY rowid DESC LIMIT ?"
        )
        joined = connection.execute(
            f"SELECT group_concat(row, ' ') FROM ({newest})", (match, *(rows or ()), limit)
        ).fetchone()[0]
        return sorted(map(int, (joined or "").split()), reverse=True)


def term_query(numbers: Iterable[int]) -> str:
    """Return the match expression for documents that hold at least one of the terms."""
    return "(" + " OR ".join(f'"{number:x}"' for number in numbers) + ")"


def session_query(session: int) -> str:
    """Return the match expression for documents of a session."""
    return f'"s{session:x}"'


def _values(state: IndexState) -> tuple[object, ...]:
    return state.fingerprint, state.low, state.high, state.documents, state.words, state.next_term
