"""Damage within the schema's own text: SQLite finds such a database faultless, and what is written to it is lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ovos_memory.core.errors import StoreDamaged
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.sqlite import open_database
from ovos_memory.core.sqlite_errors import NotOurTables, meaning
from ovos_memory.core.sqlite_schema import Schema
from ovos_memory.core.state_sqlite import SqliteState

PLUGIN = "ovos-memory-plugin-test"


def left_state(path: Path, record: str = "remembered") -> None:
    """Leave a file with the record of one session, its log folded in."""
    state = SqliteState(path, kind="notes", plugin=PLUGIN)
    state.update("s", lambda _: {"text": record})
    state.close()


def exchange_bytes(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    assert len(old) == len(new)
    path.write_bytes(content.replace(old, new))


def set_aside(path: Path) -> list[str]:
    return sorted(found.name for found in path.parent.glob("*.corrupt-*[0-9]"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"record TEXT", b"recore TEXT"),  # another column
        (b"session BLOB", b"\xf3ession BLOB"),  # a name that is no UTF-8
        (b"TABLE state_notes", b"TABLE state_nntes"),  # another table
        (b"steps INTEGER", b"stepr INTEGER"),  # the note of what was done
        (b"CREATE TABLE state", b"CREATE TABLF state"),  # no statement any more
    ],
)
def test_a_file_whose_schema_is_damaged_is_set_aside_before_it_is_written_to(
    tmp_path: Path, old: bytes, new: bytes
):
    path = tmp_path / "notes.db"
    left_state(path)
    exchange_bytes(path, old, new)
    damaged = path.read_bytes()

    state = SqliteState(path, kind="notes", plugin=PLUGIN)
    state.update("t", lambda _: {"text": "new"})
    state.close()
    again = SqliteState(path, kind="notes", plugin=PLUGIN)

    assert set_aside(path) == ["notes.db.corrupt-1"]
    assert path.with_name("notes.db.corrupt-1").read_bytes() == damaged
    assert again.load("t") == {"text": "new"}
    again.close()


@pytest.mark.parametrize("column", [b"question TEXT NOT NULL", b"losses INTEGER", b"last_error TEXT"])
def test_a_ledger_whose_columns_are_damaged_is_set_aside_before_a_turn_is_written_to_it(
    tmp_path: Path, column: bytes
):
    path = tmp_path / "ledger.db"
    database = open_database(path, plugin=PLUGIN)
    SqliteLedger(database)
    database.close()
    exchange_bytes(path, column, b"Z" + column[1:])

    SqliteLedger(open_database(path, plugin=PLUGIN))

    assert set_aside(path) == ["ledger.db.corrupt-1"]


def test_where_only_the_note_of_what_was_done_is_lost_the_tables_stay(tmp_path: Path):
    path = tmp_path / "notes.db"
    left_state(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM ovos_memory_components")
    connection.close()

    state = SqliteState(path, kind="notes", plugin=PLUGIN)

    assert state.load("s") == {"text": "remembered"}
    assert set_aside(path) == []
    with state.database.read() as reader:
        assert reader.execute("SELECT name, steps FROM ovos_memory_components").fetchall() == [
            ("state_notes", 1)
        ]
    state.close()


def test_a_step_that_is_no_number_is_damage():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE ovos_memory_components (name TEXT PRIMARY KEY, steps)")
    connection.execute("INSERT INTO ovos_memory_components VALUES ('notes', 'x')")
    schema = Schema(":memory:", PLUGIN)
    schema.add("notes", [lambda _: None])

    with pytest.raises(NotOurTables) as caught:
        schema.outstanding(connection)

    assert type(meaning(caught.value, ":memory:", PLUGIN)) is StoreDamaged


def test_a_file_format_that_sqlite_cannot_read_is_damage(tmp_path: Path):
    path = tmp_path / "notes.db"
    left_state(path)
    content = bytearray(path.read_bytes())
    content[44:48] = (99).to_bytes(4, "big")  # the schema format number, 1 to 4
    path.write_bytes(content)

    state = SqliteState(path, kind="notes", plugin=PLUGIN)

    assert state.load("s") is None
    assert set_aside(path) == ["notes.db.corrupt-1"]
    state.close()
