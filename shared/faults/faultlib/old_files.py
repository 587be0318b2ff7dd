"""Files as version 1 left them, of every shape it wrote."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultlib.works import named, word

SESSIONS = ("s", "t")
EXCHANGES = 6


@dataclass(frozen=True)
class OldFile:
    """A file of version 1.

    Attributes:
        kind: The kind of memory that takes it over.
        write: Writes it.
        read: Returns the numbers that a memory which has taken it over tells.
        told: The numbers that the file tells.
        changes: Settings beside the kind's own.
    """

    kind: str
    write: Callable[[Path], None]
    read: Callable[[Any], list[int]]
    told: list[int]
    changes: Mapping[str, Any] = field(default_factory=dict)

    def leave(self, folder: Path) -> None:
        """Leave it in a folder."""
        folder.mkdir(parents=True)
        self.write(folder)


def _turns(session: str) -> list[dict[str, Any]]:
    return [
        {"role": role, "content": f"{said} {number}"}
        for number in range(EXCHANGES)
        for role, said in (("user", f"question of {session}"), ("assistant", "answer"))
    ]


def _lexical(folder: Path) -> None:
    with sqlite3.connect(folder / "lexical.db") as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE lexical_memory USING fts5(doc_id UNINDEXED, session_id UNINDEXED, content)"
        )
        for session in SESSIONS:
            connection.executemany(
                "INSERT INTO lexical_memory VALUES (?, ?, ?)",
                [
                    (f"{session}_{n}", session, f"Q: question of {session} {n}\nA: answer {n}")
                    for n in range(EXCHANGES)
                ],
            )
    connection.close()


def _recency(folder: Path) -> None:
    found = {s: {"buffer": [{"ts": 1.7e9, **turn} for turn in _turns(s)]} for s in SESSIONS}
    (folder / "recency.json").write_text(json.dumps(found), encoding="utf-8")


def _entity(folder: Path) -> None:
    found = {
        s: {"facts": [f"Likes {word(100 * t + n)}" for n in range(EXCHANGES)]} for t, s in enumerate(SESSIONS)
    }
    (folder / "entity.json").write_text(json.dumps(found), encoding="utf-8")


def _longterm_json(folder: Path) -> None:
    found = {
        s: {"summary": "They met.", "recent": _turns(s), "exchange_count": EXCHANGES, "updated_at": 1.7e9}
        for s in SESSIONS
    }
    (folder / "longterm.json").write_text(json.dumps(found), encoding="utf-8")


def _longterm_sqlite(folder: Path) -> None:
    with sqlite3.connect(folder / "longterm.db") as connection:
        connection.execute(
            "CREATE TABLE sessions(session_id TEXT PRIMARY KEY, summary TEXT, recent TEXT,"
            " exchange_count INTEGER, updated_at REAL)"
        )
        for session in SESSIONS:
            row = (session, "They met.", json.dumps(_turns(session)), EXCHANGES, 1.7e9)
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?)", row)
    connection.close()


def _said(memory: Any) -> list[int]:
    """Return session times 100 plus number of each question, in order."""
    texts = [
        (n, m.content)
        for n, s in enumerate(SESSIONS)
        for m in memory.get_history(s)
        if m.role.value == "user"
    ]
    return [100 * n + int(text.split()[-1]) for n, text in texts if text.startswith("question of")]


def _known(memory: Any) -> list[int]:
    """Return the same of each fact."""
    facts = {fact.text for session in SESSIONS for fact in memory.facts(session)}
    return sorted(number for text in facts for number in named(text))


_ALL = [100 * n + number for n in range(len(SESSIONS)) for number in range(EXCHANGES)]

OLD_FILES = {
    "lexical": OldFile("lexical", _lexical, _said, _ALL),
    "recency": OldFile("recency-json", _recency, _said, _ALL),
    "entity": OldFile("entity-json", _entity, _known, _ALL, {"max_facts": 0}),
    "longterm-json": OldFile("longterm-json", _longterm_json, _said, _ALL, {"recent_window": 100}),
    "longterm-sqlite": OldFile("longterm-sqlite", _longterm_sqlite, _said, _ALL, {"recent_window": 100}),
}
