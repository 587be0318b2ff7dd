"""What SQLite's errors mean, with and without result codes (Python 3.10 has none)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ovos_memory.core.errors import IndexDamaged, StoreDamaged, StoreLocked, StoreUnavailable
from ovos_memory.core.sqlite_errors import meaning
from ovos_memory.core.sqlite_open import is_only_index

TEXTS = {
    "database is locked": (5, StoreLocked),
    "database table is locked": (6, StoreLocked),
    "database schema is locked: main": (6, StoreLocked),
    "locking protocol": (15, StoreLocked),
    "file is not a database": (26, StoreDamaged),
    "database disk image is malformed": (11, StoreDamaged),
    "vtable constructor failed: words": (267, IndexDamaged),
    "attempt to write a readonly database": (8, StoreUnavailable),
    "unable to open database file": (14, StoreUnavailable),
    "disk I/O error": (10, StoreUnavailable),
    "database or disk is full": (13, StoreUnavailable),
    "access permission denied": (3, StoreUnavailable),
    "out of memory": (7, StoreUnavailable),
    "no such table: notes": (1, None),
}
EXTENDED = {
    517: StoreLocked,
    261: StoreLocked,
    778: StoreUnavailable,
    1032: StoreUnavailable,
    779: StoreDamaged,
}


@pytest.mark.parametrize("text", TEXTS)
def test_without_a_code_the_text_tells(text: str):
    found = meaning(sqlite3.OperationalError(text), Path("/x/m.db"), "plugin")

    assert type(found) is (TEXTS[text][1] or type(None))


@pytest.mark.parametrize("text", TEXTS)
def test_a_code_tells_whatever_the_text(text: str):
    error = sqlite3.OperationalError("something")
    error.sqlite_errorcode = TEXTS[text][0]

    found = meaning(error, Path("/x/m.db"), "plugin")

    assert type(found) is (TEXTS[text][1] or type(None))


@pytest.mark.parametrize("code", EXTENDED)
def test_extended_codes_mean_what_their_family_means(code: int):
    error = sqlite3.OperationalError("something")
    error.sqlite_errorcode = code

    assert type(meaning(error, Path("/x/m.db"), "plugin")) is EXTENDED[code]


def test_messages_name_plugin_and_path():
    for text in TEXTS:
        found = meaning(sqlite3.OperationalError(text), Path("/x/m.db"), "plugin")
        assert found is None or str(found).startswith("plugin: /x/m.db")


def test_a_malformed_index_and_a_malformed_file_are_told_apart_without_codes(tmp_path: Path):
    path = tmp_path / "m.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        connection.executemany("INSERT INTO words VALUES (?)", [(f"tea {n}",) for n in range(500)])
        connection.commit()
        connection.execute("UPDATE words_data SET block = x'00ff00ff00ff' WHERE id > 1")
    connection.close()
    good = path.read_bytes()

    assert is_only_index(path)
    path.write_bytes(good[: len(good) // 2])
    assert not is_only_index(path)
    path.write_bytes(b"no database")
    assert not is_only_index(path)
