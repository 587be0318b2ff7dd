"""The log is folded into the file while nobody commits, and by nobody who does."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from ovos_memory.core.sqlite import Database, open_database
from ovos_memory.core.sqlite_checkpoint import COMMITS, Checkpoints

TABLE = [lambda connection: connection.execute("CREATE TABLE t (x)")]


class Owner:
    is_retired = False

    def __init__(self) -> None:
        self.commits_at_checkpoint: list[int] = []
        self.commits = 0

    def checkpoint(self) -> None:
        self.commits_at_checkpoint.append(self.commits)


def commit(database: Database, count: int) -> None:
    for number in range(count):
        with database.write() as writer:
            writer.execute("INSERT INTO t VALUES (?)", (number,))


def settle() -> None:
    for thread in threading.enumerate():
        if thread.name == "memory-checkpoint":
            thread.join(30)


def rows_without_log(path: Path) -> int:
    copy = shutil.copy(path, path.with_name("copy.db"))
    with contextlib.closing(sqlite3.connect(f"file:{copy}?immutable=1", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])
        except sqlite3.OperationalError:  # not even the table
            return 0


def test_many_commits_are_folded_into_the_file_behind_them(tmp_path: Path) -> None:
    database = open_database(tmp_path / "a.db", plugin="p", migrations=TABLE)

    commit(database, COMMITS - 10)
    settle()
    before = rows_without_log(tmp_path / "a.db")
    commit(database, 20)
    settle()

    assert before == 0
    assert rows_without_log(tmp_path / "a.db") == COMMITS + 10
    database.close()


def test_a_checkpoint_waits_until_nobody_commits() -> None:
    owner = Owner()
    waits = iter([5, 3, 0])

    def sleep(seconds: float) -> None:
        more = next(waits, 0)
        owner.commits += more
        for _ in range(more):
            checkpoints.committed()

    checkpoints = Checkpoints(owner, sleep=sleep)
    for _ in range(COMMITS):
        checkpoints.committed()
    settle()

    assert owner.commits_at_checkpoint == [8]


def test_a_closed_database_is_not_opened_again(tmp_path: Path) -> None:
    database = open_database(tmp_path / "a.db", plugin="p", migrations=TABLE)

    commit(database, COMMITS)
    database.close()
    (tmp_path / "a.db").unlink()
    settle()

    assert list(tmp_path.iterdir()) == []


def test_a_system_without_threads_leaves_it_to_the_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    owner = Owner()
    checkpoints = Checkpoints(owner)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(COMMITS):
            checkpoints.committed()
    for _ in range(COMMITS):
        checkpoints.committed()
    settle()

    assert owner.commits_at_checkpoint == [0]


def test_cleaning_waits_for_somebody_elses_checkpoint(tmp_path: Path) -> None:
    database = open_database(tmp_path / "a.db", plugin="p", migrations=TABLE)
    with contextlib.closing(
        sqlite3.connect(tmp_path / "a.db", check_same_thread=False, isolation_level=None)
    ) as other:
        is_over = threading.Event()

        def keep_at_it() -> None:
            while not is_over.is_set():
                other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

        thread = threading.Thread(target=keep_at_it)
        thread.start()
        for _ in range(20):
            commit(database, 5)
            database.scrub()
            assert (tmp_path / "a.db-wal").stat().st_size == 0
        is_over.set()
        thread.join()
    database.close()
