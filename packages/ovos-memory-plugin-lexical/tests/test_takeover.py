"""What version 1 left is taken over whole, once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ovos_memory.lexical import LexicalMemory

ROWS = [
    ("default_0", "default", "Q: my dentist is Dr Alba\nA: noted"),
    ("a_1_0", "a_1", "Q: the bike is blue\nsecond line\nA: nice\nA: really"),
    ("default_0", "default", "Q: the harbour opens at 9:30\nA: ok"),  # a restart began at zero again
    ("default_1", "default", "a note without roles"),
    ("x_0", "x", "Q: \nA: Welcome back, captain"),
]


def leave_behind(path: Path, table: str = "lexical_memory") -> None:
    connection = sqlite3.connect(path)
    connection.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5(doc_id UNINDEXED, session_id UNINDEXED, content)"
    )
    connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", ROWS)
    connection.commit()
    connection.close()


def test_every_exchange_is_there_numbered_anew_and_a_copy_stays(tmp_path):
    path = tmp_path / "lexical.db"
    leave_behind(path)

    memory = LexicalMemory({"db_path": str(path)})

    hits = {hit.source: hit.content for hit in memory.search("dentist harbour note bike captain", top_k=9)}
    assert hits == {
        "default_0": "Q: my dentist is Dr Alba\nA: noted",
        "default_1": "Q: the harbour opens at 9:30\nA: ok",
        "default_2": "a note without roles",
        "a_1_0": "Q: the bike is blue\nsecond line\nA: nice\nA: really",
        "x_0": "Q: \nA: Welcome back, captain",
    }
    assert [m.content for m in memory.get_history("a_1")] == [
        "the bike is blue\nsecond line",
        "nice\nA: really",
    ]
    backup = sqlite3.connect(tmp_path / "lexical.db.1x.bak")
    assert backup.execute("SELECT * FROM lexical_memory").fetchall() == ROWS
    backup.close()


def test_it_happens_once(tmp_path):
    path = tmp_path / "lexical.db"
    leave_behind(path)

    for _ in range(3):
        memory = LexicalMemory({"db_path": str(path)})
        assert len(memory.search("dentist")) == 1
        memory.close()

    assert [p.name for p in tmp_path.glob("*.1x.bak*")] == ["lexical.db.1x.bak"]
    assert memory.journal.ledger.count() == len(ROWS)


def test_a_crash_in_the_middle_leaves_the_old_file_to_begin_again(tmp_path, monkeypatch):
    path = tmp_path / "lexical.db"
    leave_behind(path)

    def crash(content: str) -> None:
        raise KeyboardInterrupt if "harbour" in content else ValueError

    with monkeypatch.context() as patch:
        patch.setattr("ovos_memory.lexical.takeover._exchange", crash)
        with pytest.raises((KeyboardInterrupt, ValueError)):
            LexicalMemory({"db_path": str(path)})._handle.store()

    memory = LexicalMemory({"db_path": str(path)})

    assert memory.journal.ledger.count() == len(ROWS)
    assert len(memory.search("harbour")) == 1


def test_other_tables_of_the_file_stay(tmp_path):
    path = tmp_path / "lexical.db"
    leave_behind(path, "elsewhere")

    memory = LexicalMemory({"db_path": str(path)})

    assert memory.search("dentist") == []
    memory.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM elsewhere").fetchone() == (len(ROWS),)
    connection.close()
