"""What waits for the disk: what was said does, notes about work do not."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.sqlite import Database, open_database
from ovos_memory.core.types import Exchange

FULL, NORMAL = 2, 1
TABLE = [lambda connection: connection.execute("CREATE TABLE t (x)")]


@pytest.fixture
def database(tmp_path: Path):
    opened = open_database(tmp_path / "a.db", plugin="p", migrations=TABLE)
    yield opened
    opened.close()


def level(database: Database, **how: bool) -> int:
    with database.write(**how) as writer:
        return int(writer.execute("PRAGMA synchronous").fetchone()[0])


def test_a_write_waits_for_the_disk_unless_it_is_told_not_to(database: Database) -> None:
    levels = [level(database), level(database, is_synced=False), level(database), level(database)]

    assert levels == [FULL, NORMAL, FULL, FULL]


def test_a_write_that_did_not_wait_is_seen_by_others(database: Database) -> None:
    with database.write(is_synced=False) as writer:
        writer.execute("INSERT INTO t VALUES (1)")

    with contextlib.closing(sqlite3.connect(database.path)) as other:
        assert other.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_a_worker_keeps_no_turn_waiting_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(tmp_path / "a.db", plugin="p")
    ledger = SqliteLedger(database)
    synced: list[bool] = []
    write = database.write
    monkeypatch.setattr(
        database,
        "write",
        lambda *args, **how: (synced.append(how.get("is_synced", True)), write(*args, **how))[1],
    )

    ledger.append("s", Exchange("q", "a", ()), created_at=1.0)
    (claimed,) = ledger.claim("c", "1", limit=8, lease_s=9, owner="o", now=1.0)
    ledger.release("c", "1", [claimed], owner="o")
    ledger.done("c", "1", [claimed])
    ledger.delete([claimed.id])

    assert synced == [True, False, False, False, True]
    database.close()
