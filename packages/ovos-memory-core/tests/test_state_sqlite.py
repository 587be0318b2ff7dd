"""The SQLite state store: flat cost, shared between processes, taken over from 1.x."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.core.errors import StoreLocked, StoreUnavailable
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.sqlite import open_database
from ovos_memory.core.state import Record, SqliteState

PLUGIN = "ovos-memory-plugin-test"


def say(text: str) -> Callable[[Record | None], Record]:
    def change(record: Record | None) -> Record:
        record = record or {"said": []}
        record["said"].append(text)
        return record

    return change


def open_sqlite(path: Path, **options: Any) -> SqliteState:
    return SqliteState(path, kind="test", plugin=PLUGIN, **options)


def in_children(*works: Callable[[], None]) -> list[int]:
    """Run each work in a forked child; return their exit statuses, 0 for those that did not raise."""
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            try:
                work()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_two_processes_lose_no_session_and_no_update(tmp_path: Path):
    store = open_sqlite(tmp_path / "m.db")
    store.update("shared", say("before"))

    def work(name: str) -> None:
        for n in range(40):
            store.apply([(f"{name}{n}", say("x")), ("shared", say(f"{name}{n}"))], wait_s=30)

    assert in_children(lambda: work("a"), lambda: work("b")) == [0, 0]
    assert len(store.sessions()) == 81
    shared = store.load("shared")
    assert shared is not None
    assert sorted(shared["said"]) == sorted(["before", *(f"{name}{n}" for name in "ab" for n in range(40))])


def test_many_changes_are_one_transaction(tmp_path: Path):
    store = open_sqlite(tmp_path / "m.db")

    with pytest.raises(ZeroDivisionError):
        store.apply([("a", say("x")), ("b", lambda record: {"n": 1 // 0})])
    assert store.sessions() == []

    assert store.apply([("a", say("x")), ("b", say("y")), ("a", say("z")), ("b", lambda record: None)]) == [
        {"said": ["x"]},
        {"said": ["y"]},
        {"said": ["x", "z"]},
        None,
    ]
    assert list(store.items()) == [("a", {"said": ["x", "z"]})]


def test_a_change_that_changes_nothing_writes_nothing(tmp_path: Path):
    store = open_sqlite(tmp_path / "m.db")
    store.update("s", say("a"))
    before = (tmp_path / "m.db-wal").read_bytes()

    store.update("s", lambda record: record)
    store.update("nobody", lambda record: None)

    assert (tmp_path / "m.db-wal").read_bytes() == before


def test_a_killed_process_costs_no_update_that_it_had_been_promised(tmp_path: Path):
    chance = random.Random(9)
    promised = -1
    for _ in range(25):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            mine = open_sqlite(tmp_path / "m.db")
            while True:
                record = mine.update("s", lambda r: {"n": r["n"] + 1 if r else 0, "pad": "x" * 9_000})
                os.write(writing, f"{record['n']}\n".encode())
        os.close(writing)
        with os.fdopen(reading) as told:
            for _ in range(chance.randrange(1, 9)):
                promised = int(told.readline())
            os.kill(child, 9)
            os.waitpid(child, 0)
            promised = max([promised, *(int(line) for line in told if line.endswith("\n"))])
        found = open_sqlite(tmp_path / "m.db").load("s")
        assert found is not None
        assert promised <= found["n"] <= promised + 1
        promised = found["n"]


def test_a_locked_database_delays_writing_for_a_bounded_time_and_reading_not(tmp_path: Path):
    store, other = open_sqlite(tmp_path / "m.db"), open_sqlite(tmp_path / "m.db")
    store.update("s", say("a"))

    with other.database.write(), pytest.raises(StoreLocked):
        assert store.load("s") == {"said": ["a"]}
        store.apply([("s", say("b"))], wait_s=0.05)

    assert store.update("s", say("c")) == {"said": ["a", "c"]}


def test_a_ledger_and_two_kinds_of_state_share_a_file(tmp_path: Path):
    database = open_database(tmp_path / "m.db", plugin=PLUGIN)
    one = SqliteState(database, kind="entity", plugin=PLUGIN)
    two = SqliteState(database, kind="longterm", plugin=PLUGIN)
    SqliteLedger(database)
    one.update("s", say("a"))

    assert two.load("s") is None
    assert SqliteState(tmp_path / "m.db", kind="entity", plugin=PLUGIN).load("s") == {"said": ["a"]}


@pytest.mark.parametrize("kind", ["", "a b", "a;b", 'a"', "é"])
def test_a_kind_that_is_no_name_is_refused(tmp_path: Path, kind: str):
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        SqliteState(tmp_path / "m.db", kind=kind, plugin=PLUGIN)


def test_a_path_that_cannot_be_used_is_named_with_a_remedy(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"x")

    with pytest.raises(StoreUnavailable, match=r"file/m\.db.*name another path"):
        open_sqlite(tmp_path / "file" / "m.db")


def test_a_damaged_file_is_set_aside_and_a_new_one_begun(tmp_path: Path):
    (tmp_path / "m.db").write_bytes(b"garbage " * 100)

    store = open_sqlite(tmp_path / "m.db")

    assert store.update("s", say("a")) == {"said": ["a"]}
    assert (tmp_path / "m.db.corrupt-1").read_bytes() == b"garbage " * 100


def test_one_session_is_found_without_reading_the_others(tmp_path: Path):
    store = open_sqlite(tmp_path / "m.db")
    store.apply([(f"s{n}", say("x")) for n in range(500)])
    statements: list[str] = []
    with store.database.write() as connection:
        connection.set_trace_callback(statements.append)
        store._load(connection, b"s7")
        store._change(connection, b"s7", say("y"))
        store._change(connection, b"s8", lambda record: None)
        connection.set_trace_callback(None)
        plans = [
            row[3]
            for statement in statements
            if not statement.startswith("BEGIN")
            for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]

    assert plans
    assert [plan for plan in plans if "SCAN" in plan or "TEMP" in plan] == []


# ---------------------------------------------------------------------- what 1.x left
def leave_1x(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, summary TEXT, recent TEXT,"
            " exchange_count INTEGER, updated_at REAL)"
        )
        for session, summary in (("a", "likes tea"), ("é", "[not a list"), ("", None)):
            recent = json.dumps([{"role": "user", "content": f"of {session}"}])
            connection.execute("INSERT INTO sessions VALUES (?, ?, ?, 3, 12.5)", (session, summary, recent))
    connection.close()


def convert_1x(raw: Any) -> dict[str, Record] | None:
    return {session: {"summary": old["summary"], "said": old["recent"]} for session, old in raw.items()}


def test_what_1x_left_is_copied_converted_and_dropped(tmp_path: Path):
    leave_1x(tmp_path / "m.db")

    for _ in range(2):
        store = open_sqlite(tmp_path / "m.db", convert_1x=convert_1x)
        assert dict(store.items()) == {
            "a": {"summary": "likes tea", "said": [{"role": "user", "content": "of a"}]},
            "é": {"summary": "[not a list", "said": [{"role": "user", "content": "of é"}]},
            "": {"summary": None, "said": [{"role": "user", "content": "of "}]},
        }

    with store.database.read() as connection:
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sessions'").fetchone() is None
    with sqlite3.connect(tmp_path / "m.db.1x.bak") as copy:
        assert copy.execute("SELECT count(*) FROM sessions").fetchone() == (3,)
    copy.close()
    assert sorted(p.name for p in tmp_path.iterdir() if "bak" in p.name) == ["m.db.1x.bak"]


def test_processes_that_find_a_1x_file_convert_it_once(tmp_path: Path):
    leave_1x(tmp_path / "m.db")

    def work() -> None:
        open_sqlite(tmp_path / "m.db", convert_1x=convert_1x).update("a", lambda r: {**(r or {}), "n": 1})

    assert in_children(work, work, work) == [0] * 3
    store = open_sqlite(tmp_path / "m.db")
    assert sorted(store.sessions()) == ["", "a", "é"]
    assert store.load("a") == {"summary": "likes tea", "said": [{"role": "user", "content": "of a"}], "n": 1}
    assert sorted(p.name for p in tmp_path.iterdir() if "bak" in p.name) == ["m.db.1x.bak"]


@pytest.mark.parametrize("column", ["id", "session_id"])
def test_a_table_that_is_not_1xs_is_left_alone(tmp_path: Path, column: str):
    with sqlite3.connect(tmp_path / "m.db") as connection:
        connection.execute(f"CREATE TABLE sessions ({column} TEXT)")
        connection.execute("INSERT INTO sessions VALUES ('theirs')")
    connection.close()

    store = open_sqlite(tmp_path / "m.db", convert_1x=lambda raw: None)

    assert store.sessions() == []
    with store.database.read() as reader:
        assert reader.execute("SELECT * FROM sessions").fetchall() == [("theirs",)]


@pytest.mark.parametrize("damage", ['{"n": 1', "[1, 2]", "null", "[" * 5_000])
def test_a_damaged_record_costs_its_session_and_no_other(damage, tmp_path):
    path = tmp_path / "state.db"
    state = SqliteState(path, kind="test", plugin="p")
    for session in ("s", "t"):
        state.update(session, lambda record: {"n": 1})
    with state.database.write() as connection:
        connection.execute("UPDATE state_test SET record = ? WHERE session = ?", (damage, b"s"))

    assert state.load("s") is None and dict(state.items()) == {"t": {"n": 1}}
    assert state.update("s", lambda record: {"n": 2} if record is None else None) == {"n": 2}
    assert dict(state.items()) == {"s": {"n": 2}, "t": {"n": 1}}
    state.close()
