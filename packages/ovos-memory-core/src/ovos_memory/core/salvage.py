"""What can still be read of a damaged store, as lines of an export.

A store that is damaged is set aside as ``<name>.corrupt-<n>`` and a new one begun.  SQLite stops at the first bad
page; here each table is read in ranges of row numbers around the bad ones.  A state in JSON has a line per session,
and each line that is whole is taken.  The file is not changed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ovos_memory.core.ledger_codec import session_id_of
from ovos_memory.core.turns import read_turns, turn_id

Line = dict[str, Any]
_DOCUMENT = ("row", "session", "n", "question", "answer", "messages", "text", "metadata", "created_at")
_NEAR = 20_000
"""Row numbers behind a bad one that are tried one by one; beyond, the steps double."""
_LAST_ROW = 2**62


@dataclass
class Salvaged:
    """What was read.

    Attributes:
        lines: Records, as :meth:`ovos_memory.core.management.ManagedMemory.import_records` takes them.
        unreadable: Places at which something could not be read: damaged rows, or ranges of them.
        missing: Records that the store once counted and that were not read; ``None``: the count is lost too.
    """

    lines: list[Line] = field(default_factory=list)
    unreadable: int = 0
    missing: int | None = None


def salvage(path: Path) -> Salvaged:
    """Return what can be read of a ledger or a state, damaged or not.

    Raises:
        ValueError: Nothing in it can be recognised as a store.
        OSError: It cannot be opened.
    """
    with open(path, "rb") as file:
        is_database = file.read(16) == b"SQLite format 3\0"
    found = _of_database(path) if is_database else _of_json(path.read_bytes())
    if found is None:
        raise ValueError(f"{path} holds nothing that can be recognised as the store of a memory")
    return found


# ---------------------------------------------------------------------- databases
def _of_database(path: Path) -> Salvaged | None:
    for mode in ("mode=ro", "immutable=1"):  # the latter where the log of a file cannot be opened
        try:
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)) as connection:
                connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
                tables = _tables(connection)
                found = Salvaged()
                is_known = False
                for name in tables:
                    if name.endswith("documents") and _has(connection, name, _DOCUMENT):
                        is_known = True
                        _documents(connection, name.removesuffix("documents"), found)
                    elif name.startswith("state_") and _has(connection, name, ("session", "record")):
                        is_known = True
                        _states(connection, name, found)
                return found if is_known else None
        except sqlite3.DatabaseError:
            continue
    return None


def _tables(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [row[0] for row in rows]


def _has(connection: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> bool:
    known = {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}
    return known.issuperset(columns)


def _documents(connection: sqlite3.Connection, prefix: str, found: Salvaged) -> None:
    names: dict[int, str] = {}
    for key, name in _rows(connection, f"{prefix}sessions", ("key", "id"), found):
        names[key] = session_id_of(name if isinstance(name, bytes) else str(name).encode())
    read = 0
    for row in _rows(connection, f"{prefix}documents", _DOCUMENT, found):
        try:
            line = _document(dict(zip(_DOCUMENT, row, strict=True)), names)
        except (TypeError, ValueError):
            found.unreadable += 1
            continue
        read += 1
        found.lines.append(line)
    try:
        (count,) = connection.execute(f'SELECT documents FROM "{prefix}clock"').fetchone()
        found.missing = (found.missing or 0) + max(0, int(count) - read)
    except (sqlite3.DatabaseError, TypeError, ValueError):
        pass  # the count is lost; what was read counts


def _document(row: Mapping[str, Any], names: Mapping[int, str]) -> Line:
    session_id = names.get(row["session"], f"recovered-{row['session']}")
    line: Line = {
        "id": f"{session_id}_{int(row['n'])}",
        "kind": "exchange" if row["text"] is None else "text",
        "session_id": session_id,
        "created_at": float(row["created_at"]),
    }
    if row["text"] is None:
        line |= {"question": _text(row["question"]), "answer": _text(row["answer"])}
        if row["messages"]:
            line["messages"] = json.loads(row["messages"])
    else:
        line["text"] = _text(row["text"])
    if row["metadata"]:
        line["metadata"] = json.loads(row["metadata"])
    return line


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _states(connection: sqlite3.Connection, table: str, found: Salvaged) -> None:
    for _, session, record in _rows(connection, table, ("rowid", "session", "record"), found):
        try:
            name = session_id_of(session if isinstance(session, bytes) else str(session).encode())
            found.lines += _state_lines(name, json.loads(record))
        except (TypeError, ValueError):
            found.unreadable += 1


def _rows(
    connection: sqlite3.Connection, table: str, columns: tuple[str, ...], found: Salvaged
) -> Iterator[tuple[Any, ...]]:
    """Yield what can be read of a table whose first column is its row number, in order."""
    key = columns[0]
    names = ", ".join(columns)
    statement = f'SELECT {names} FROM "{table}" WHERE {key} >= ? ORDER BY {key}'
    start = 0
    while True:
        try:
            for row in connection.execute(statement, (start,)):
                start = row[0] + 1
                yield row
            return
        except sqlite3.DatabaseError:
            pass
        row, tried = _next_readable(connection, f"{statement} LIMIT 1", start)
        found.unreadable += tried > 1
        if row is None:
            return
        start = row[0] + 1
        yield row


def _next_readable(
    connection: sqlite3.Connection, statement: str, start: int
) -> tuple[tuple[Any, ...] | None, int]:
    """Return the next row that can be read (``None``: there is none), and how many places were tried for it.

    The first place is ``start`` itself: some versions of Python read a row ahead, and so stop one row too early.
    """
    step, at, tried = 1, start, 0
    while at < _LAST_ROW:
        tried += 1
        try:
            return connection.execute(statement, (at,)).fetchone(), tried
        except sqlite3.DatabaseError:
            step = 1 if at - start < _NEAR else 2 * step
            at += step
    return None, tried


# ---------------------------------------------------------------------- states in JSON
def _of_json(data: bytes) -> Salvaged | None:
    found, is_known = Salvaged(), False
    for place, raw in enumerate(data.splitlines()):
        text = raw.strip().rstrip(b",").decode("utf-8", "replace")
        if place == 0 and text.startswith('{"format": "ovos-memory/'):
            is_known = True
            continue
        if text.strip("} \0") == "":
            continue
        try:
            entry = json.loads(f"{{{text}}}")
            for session_id, record in entry.items():
                found.lines += _state_lines(session_id, record)
                is_known = True
        except (AttributeError, TypeError, ValueError, RecursionError):
            found.unreadable += 1
    return found if is_known else None


def _state_lines(session_id: str, record: Mapping[str, Any]) -> list[Line]:
    """Return the messages, facts and summary of a session's record."""
    from ovos_memory.core.exchanges import message_as_dict

    lines = [
        {
            "id": turn_id(session_id, turn),
            "kind": "message",
            "session_id": session_id,
            "created_at": turn.said_at,
            "message": message_as_dict(turn.message),
        }
        for turn in read_turns(record.get("messages") or ())
    ]
    for fact in record.get("facts") or ():
        facts = {"session_id": fact["session"], "created_at": float(fact["at"]), "text": _text(fact["text"])}
        lines.append({"kind": "fact", **facts, "fact": dict(fact)})
    if record.get("summary"):
        at, covered = float(record.get("updated_at") or 0.0), int(record.get("covered", -1))
        summary = {"text": _text(record["summary"]), "covered": covered}
        lines.append({"kind": "summary", "session_id": session_id, "created_at": at, **summary})
    return lines
