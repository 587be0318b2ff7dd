"""A damaged store gives back what can be read of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.salvage import salvage
from ovos_memory.core.sqlite import Database
from ovos_memory.core.state import JsonState, SqliteState
from ovos_memory.core.types import Exchange
from ovos_memory.testing.messages import pair

DOCUMENTS = 600


def ledger_file(folder: Path) -> Path:
    """Return the file of a ledger with many documents in two sessions."""
    path = folder / "ledger.db"
    database = Database(path, plugin="test")
    ledger = SqliteLedger(database, prefix="words_")
    with database.write() as connection:
        for n in range(DOCUMENTS):
            said = f"question {n} {'x' * 60}", f"answer {n}"
            exchange = Exchange(*said, tuple(pair(*said)))
            ledger.append(("one", "two")[n % 2], exchange, created_at=float(n), connection=connection)
        ledger.append_text("one", "verbatim", created_at=9e3, metadata={"page": 7}, connection=connection)
    database.scrub(is_thorough=True)
    database.close()
    return path


def pages_of(path: Path, table: str) -> list[int]:
    """Return the leaf pages of a table, in order."""
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    data = path.read_bytes()
    page = data[(root - 1) * size : root * size]
    assert page[0] == 5, "the table's root is an interior page"
    cells = int.from_bytes(page[3:5], "big")
    places = [int.from_bytes(page[12 + 2 * i : 14 + 2 * i], "big") for i in range(cells)]
    return [int.from_bytes(page[place : place + 4], "big") for place in places]


def rows_on(path: Path, page: int, size: int = 4096) -> int:
    """Return how many rows a leaf page holds."""
    return int.from_bytes(path.read_bytes()[(page - 1) * size + 3 : (page - 1) * size + 5], "big")


def overwrite(path: Path, pages: list[int], size: int = 4096) -> None:
    data = bytearray(path.read_bytes())
    for page in pages:
        data[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(data)


def test_a_file_in_order_gives_everything(tmp_path: Path) -> None:
    found = salvage(ledger_file(tmp_path))

    assert (len(found.lines), found.unreadable, found.missing) == (DOCUMENTS + 1, 0, 0)
    assert found.lines[3] == {
        "id": "two_1",
        "kind": "exchange",
        "session_id": "two",
        "created_at": 3.0,
        "question": f"question 3 {'x' * 60}",
        "answer": "answer 3",
    }
    assert found.lines[-1]["text"] == "verbatim" and found.lines[-1]["metadata"] == {"page": 7}


@pytest.mark.parametrize("which", [slice(2, 3), slice(0, 1), slice(1, 5), slice(3, 6, 2)])
def test_rows_around_bad_pages_are_read(tmp_path: Path, which: slice) -> None:
    path = ledger_file(tmp_path)
    whole = salvage(path).lines
    bad = pages_of(path, "words_documents")[which]
    lost = sum(rows_on(path, page) for page in bad)
    overwrite(path, bad)
    before = path.read_bytes()

    found = salvage(path)
    assert found.unreadable >= 1 and found.missing == DOCUMENTS + 1 - len(found.lines)
    assert all(line in whole for line in found.lines)
    assert found.missing == lost
    assert path.read_bytes() == before


def test_without_session_names_the_texts_are_kept(tmp_path: Path) -> None:
    path = ledger_file(tmp_path)
    with sqlite3.connect(path) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'words_sessions'")
        overwrite(path, [root.fetchone()[0]])

    found = salvage(path)
    assert len(found.lines) == DOCUMENTS + 1
    assert {line["session_id"].startswith("recovered-") for line in found.lines} == {True}
    assert len({line["session_id"] for line in found.lines}) == 2


def test_states_give_messages_facts_and_summaries(tmp_path: Path) -> None:
    records = {
        "a": {"messages": [{"ts": 5.5, "role": "user", "content": "hello"}]},
        "b": {"next_id": 2, "facts": [{"id": 1, "text": "Likes tea", "session": "b", "at": 7.0}]},
        "c": {"summary": "They spoke of tea.", "covered": 3, "updated_at": 8.0},
    }
    for store in (
        JsonState(tmp_path / "s.json", kind="any", plugin="test"),
        SqliteState(tmp_path / "s.db", kind="any", plugin="test"),
    ):
        for session_id, record in records.items():
            store.update(session_id, lambda _, record=record: record)  # type: ignore[misc]
        store.close()

    for name in ("s.json", "s.db"):
        found = salvage(tmp_path / name)
        assert [(line["kind"], line["session_id"], line["created_at"]) for line in found.lines] == [
            ("message", "a", 5.5),
            ("fact", "b", 7.0),
            ("summary", "c", 8.0),
        ]
        assert found.lines[0]["id"] == "a_5500" and found.lines[2]["covered"] == 3


def test_a_torn_json_file_gives_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    store = JsonState(path, kind="any", plugin="test")
    for name in ("a", "b", "c"):
        record = {"messages": [{"ts": 5.0, "role": "user", "content": f"hello {name}"}]}
        store.update(name, lambda _, record=record: record)  # type: ignore[misc]
    store.close()
    path.write_bytes(path.read_bytes()[:-30])

    found = salvage(path)
    assert [line["session_id"] for line in found.lines] == ["a", "b"] and found.unreadable == 1


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 5000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_what_is_no_store_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db.corrupt-1"
    path.write_bytes(content)

    with pytest.raises(ValueError, match="nothing that can be recognised"):
        salvage(path)
