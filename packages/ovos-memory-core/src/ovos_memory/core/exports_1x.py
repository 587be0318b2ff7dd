"""What ``ovos-memory-plugins`` 1.x left, as lines of an export.

1.x did not keep when something was said, but for the recency memory: the rest gets the time of the file.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

Line = dict[str, Any]
_LEXICAL = {"doc_id", "session_id", "content"}
_LONGTERM = {"session_id", "summary", "recent"}


def json_lines_1x(found: Any, *, written_at: float) -> list[Line] | None:
    """Return the records of a 1.x JSON file (recency, entity or longterm); ``None`` when it is none.

    Args:
        found: What the file says.
        written_at: When it was written, epoch seconds.
    """
    if not isinstance(found, Mapping) or not found:
        return None
    lines: list[Line] = []
    for session_id, stored in found.items():
        if not isinstance(stored, Mapping):
            return None
        if isinstance(stored.get("buffer"), list):
            lines += _messages(session_id, stored["buffer"], written_at)
        elif isinstance(stored.get("facts"), list):
            texts = [text for text in stored["facts"] if isinstance(text, str) and text.strip()]
            lines += [_line("fact", session_id, written_at, text=text) for text in texts]
        elif {"summary", "recent"} & stored.keys():
            lines += _summary(session_id, stored, written_at)
        else:
            return None
    return lines


def sqlite_lines_1x(connection: sqlite3.Connection, *, written_at: float) -> list[Line] | None:
    """Return the records of a 1.x database (lexical or longterm); ``None`` when it is none."""
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        columns = {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}
        if columns >= _LEXICAL:
            return list(_exchanges(connection, table, written_at))
        if table == "sessions" and columns >= _LONGTERM:
            return list(_sessions(connection, written_at))
    return None


def exchange_of(content: str) -> tuple[str, str] | None:
    r"""Return question and answer of ``"Q: …\nA: …"``; ``None`` for another text."""
    if not content.startswith("Q: "):
        return None
    question, separator, answer = content[3:].partition("\nA: ")
    return (question, answer) if separator else None


def _exchanges(connection: sqlite3.Connection, table: str, written_at: float) -> Iterator[Line]:
    numbers: dict[str, count[int]] = {}
    for session, content in connection.execute(f'SELECT session_id, content FROM "{table}" ORDER BY rowid'):
        session_id = "default" if session is None else str(session)
        n = next(numbers.setdefault(session_id, count()))
        words = exchange_of(str(content))
        parts = {"text": str(content)} if words is None else {"question": words[0], "answer": words[1]}
        kind = "text" if words is None else "exchange"
        yield {"id": f"{session_id}_{n}", **_line(kind, session_id, written_at, **parts)}


def _sessions(connection: sqlite3.Connection, written_at: float) -> Iterator[Line]:
    cursor = connection.execute("SELECT * FROM sessions")
    names = [column[0] for column in cursor.description]
    for row in cursor:
        stored = dict(zip(names, row, strict=True))
        try:
            stored["recent"] = json.loads(stored["recent"] or "[]")
        except (TypeError, ValueError):
            stored["recent"] = []
        yield from _summary(str(stored["session_id"]), stored, written_at)


def _summary(session_id: str, stored: Mapping[str, Any], written_at: float) -> list[Line]:
    at = _seconds(stored.get("updated_at")) or written_at
    summary = str(stored.get("summary") or "").strip()
    lines = [_line("summary", session_id, at, text=summary)] if summary else []
    recent = stored.get("recent")
    return lines + (_messages(session_id, recent, at) if isinstance(recent, list) else [])


def _messages(session_id: str, items: list[Any], written_at: float) -> list[Line]:
    lines = []
    for item in items:
        if isinstance(item, Mapping) and item.get("role") in ("user", "assistant"):
            message = {"role": item["role"], "content": str(item.get("content") or "")}
            at = _seconds(item.get("ts")) or written_at
            lines.append(_line("message", session_id, at, message=message))
    return lines


def _line(kind: str, session_id: str, created_at: float, **parts: Any) -> Line:
    return {"kind": kind, "session_id": session_id, "created_at": created_at, **parts}


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
