"""Damaged files are set aside, read-only ones are read, full disks are survived."""

from __future__ import annotations

import os
import random
import resource
import shutil
import sqlite3
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ovos_utils.log import LOG

from ovos_memory.core.errors import IndexDamaged, StoreDamaged, StoreError, StoreUnavailable
from ovos_memory.core.sqlite import Database, open_database
from ovos_memory.core.sqlite_open import Connection, connect
from ovos_memory.testing.forks import in_child

PLUGIN = "ovos-memory-plugin-test"


def create_notes(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE notes (text TEXT)")


def open_notes(path: Path | str, **seams: Callable[[str], Connection]) -> Database:
    return open_database(path, plugin=PLUGIN, migrations=[create_notes], **seams)


def add(database: Database, text: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO notes VALUES (?)", (text,))


def notes(database: Database) -> list[str]:
    with database.read() as connection:
        return [row[0] for row in connection.execute("SELECT text FROM notes ORDER BY rowid")]


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(LOG, "error", lambda text, *values: lines.append(text % values))
    return lines


@pytest.fixture
def good(tmp_path: Path) -> bytes:
    """A database of 200 notes, as one file."""
    database = open_notes(tmp_path / "good" / "m.db")
    with database.write() as connection:
        connection.executemany("INSERT INTO notes VALUES (?)", [(f"note {n} " * 20,) for n in range(200)])
    database.close()
    data = (tmp_path / "good" / "m.db").read_bytes()
    shutil.rmtree(tmp_path / "good")
    return data


def kept(folder: Path) -> dict[str, bytes]:
    """Return what was set aside, without SQLite's scratch memory."""
    return {
        p.name: p.read_bytes()
        for p in folder.iterdir()
        if ".corrupt-" in p.name and not p.name.endswith("-shm")
    }


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "text": lambda good: b"this is no database, it is a letter\n" * 10,
    "two bytes": lambda good: b"xy",
    "zeros": lambda good: bytes(len(good)),
    "few zeros": lambda good: bytes(10),
    "random": lambda good: random.Random(1).randbytes(len(good)),
    "half": lambda good: good[: len(good) // 2],
    "half a page": lambda good: good[:2048],
    "header only": lambda good: good[:100],
    "random behind the header": lambda good: good[:100] + random.Random(2).randbytes(len(good) - 100),
    "zeros behind the header": lambda good: good[:100] + bytes(len(good) - 100),
    "json": lambda good: b'{"default": {"buffer": []}}',
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(
    tmp_path: Path, good: bytes, kind: str, errors: list[str]
):
    damaged = DAMAGE[kind](good)
    (tmp_path / "m.db").write_bytes(damaged)

    database = open_notes(tmp_path / "m.db")
    add(database, "a")

    assert notes(database) == ["a"]
    assert kept(tmp_path) == {"m.db.corrupt-1": damaged}
    path = tmp_path / "m.db"
    assert errors == [
        f"{PLUGIN}: {path} is damaged; it was set aside as {path}.corrupt-1 and a new one begins"
    ]


def test_an_empty_file_is_a_new_database(tmp_path: Path, errors: list[str]):
    (tmp_path / "m.db").write_bytes(b"")

    add(open_notes(tmp_path / "m.db"), "a")

    assert (kept(tmp_path), errors) == ({}, [])


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_behind_an_open_database_is_told_once_and_the_next_call_works(
    tmp_path: Path, good: bytes, kind: str, errors: list[str]
):
    (tmp_path / "m.db").write_bytes(good)
    database = open_notes(tmp_path / "m.db")
    assert len(notes(database)) == 200
    database.close()
    database.read().__enter__()  # an open reader, whose cache must not hide the damage from the others

    with open(tmp_path / "m.db", "r+b") as file:
        file.write(DAMAGE[kind](good))
        file.truncate()
    with pytest.raises(StoreDamaged):
        for _ in range(2):
            notes(database)

    add(database, "a")
    assert notes(database) == ["a"]
    assert (len(errors), list(kept(tmp_path))) == (1, ["m.db.corrupt-1"])


def test_damage_that_a_write_finds_is_told_once_and_the_next_write_works(tmp_path: Path, good: bytes):
    (tmp_path / "m.db").write_bytes(good)
    database = open_notes(tmp_path / "m.db")
    with open(tmp_path / "m.db", "r+b") as file:
        file.write(bytes(len(good)))

    with pytest.raises(StoreDamaged):
        add(database, "a")

    add(database, "b")
    assert notes(database) == ["b"]


def test_the_log_of_a_damaged_file_goes_with_it_and_is_not_replayed_into_the_new_one(
    tmp_path: Path, good: bytes
):
    (tmp_path / "m.db").write_bytes(good)
    database = open_notes(tmp_path / "m.db")
    add(database, "in the log")
    log = (tmp_path / "m.db-wal").read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    (other / "m.db").write_bytes(bytes(4096))
    (other / "m.db-wal").write_bytes(log)

    fresh = open_notes(other / "m.db")

    assert notes(fresh) == []
    assert kept(other) == {"m.db.corrupt-1": bytes(4096), "m.db.corrupt-1-wal": log}


@pytest.mark.parametrize("log", [b"", b"x", bytes(5000), random.Random(3).randbytes(9000)])
def test_a_stale_or_damaged_log_beside_a_good_file_costs_nothing(tmp_path: Path, good: bytes, log: bytes):
    (tmp_path / "m.db").write_bytes(good)
    (tmp_path / "m.db-wal").write_bytes(log)

    assert len(notes(open_notes(tmp_path / "m.db"))) == 200
    assert kept(tmp_path) == {}


def test_a_log_without_its_file_is_not_replayed(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    add(database, "a")
    log = (tmp_path / "m.db-wal").read_bytes()
    database.close()
    (tmp_path / "m.db").unlink()
    (tmp_path / "m.db-wal").write_bytes(log)

    assert notes(open_notes(tmp_path / "m.db")) == []


def test_two_processes_that_find_the_same_damage_set_it_aside_once(tmp_path: Path, good: bytes):
    (tmp_path / "m.db").write_bytes(DAMAGE["half"](good))

    children = []
    for n in range(4):
        child = os.fork()
        if child == 0:
            try:
                add(open_notes(tmp_path / "m.db"), f"{n}")
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

    assert statuses == [0] * 4
    assert sorted(notes(open_notes(tmp_path / "m.db"))) == ["0", "1", "2", "3"]
    assert list(kept(tmp_path)) == ["m.db.corrupt-1"]


def test_a_reader_under_way_does_not_harm_the_new_file_when_it_ends(tmp_path: Path, good: bytes):
    (tmp_path / "m.db").write_bytes(good)
    database = open_notes(tmp_path / "m.db")
    with database.read() as reader:
        reader.execute("SELECT 1 FROM notes LIMIT 1").fetchone()
        with open(tmp_path / "m.db", "r+b") as file:
            file.write(bytes(len(good)))
        with pytest.raises(StoreDamaged):
            add(database, "a")
        add(database, "b")

    for n in range(3):
        add(database, f"c{n}")
    assert notes(open_notes(tmp_path / "m.db")) == ["b", "c0", "c1", "c2"]


def test_a_damaged_search_index_costs_no_documents(tmp_path: Path):
    def create_index(connection: sqlite3.Connection) -> None:
        create_notes(connection)
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")

    database = open_database(tmp_path / "m.db", plugin=PLUGIN, migrations=[create_index])
    add(database, "a")
    with database.write() as connection:
        connection.execute("INSERT INTO words VALUES ('tea')")
    with database.write() as connection:
        connection.execute("UPDATE words_data SET block = x'00ff00ff00ff' WHERE id > 1")

    with pytest.raises(IndexDamaged, match="rebuild"), database.read() as connection:
        connection.execute("SELECT * FROM words WHERE words MATCH 'tea'").fetchall()

    assert notes(database) == ["a"]
    assert kept(tmp_path) == {}


# ---------------------------------------------------------------------- read-only
@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that another user can reach, as those of pytest cannot."""
    folder = Path(tempfile.mkdtemp(prefix="ovos-memory-"))
    os.chmod(folder, 0o755)
    yield folder
    os.chmod(folder, 0o755)
    shutil.rmtree(folder)


def as_somebody_else(work: Callable[[], None]) -> int:
    """Run ``work`` in a child that is not root, to whom modes would mean nothing."""

    def child() -> None:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        work()

    return in_child(child)


@pytest.mark.parametrize("state", ["log folded in", "log pending"])
@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_a_file_that_cannot_be_written_is_read(public_folder: Path, state: str, folder_mode: int):
    path = public_folder / "m.db"
    database = open_notes(path)
    add(database, "a")
    expected = ["a"]
    if state == "log folded in":
        database.close()
    for file in public_folder.iterdir():
        os.chmod(file, 0o444)
    os.chmod(public_folder, folder_mode)

    def work() -> None:
        reader = open_notes(path)
        assert reader.is_read_only
        for _ in range(2):
            assert notes(reader) == expected
            with pytest.raises(StoreUnavailable, match="can only be read"):
                add(reader, "b")

    assert as_somebody_else(work) == 0
    os.chmod(public_folder, 0o755)
    assert notes(database) == ["a"]
    assert kept(public_folder) == {}


def test_a_file_that_becomes_writable_again_is_written(public_folder: Path):
    path = public_folder / "m.db"
    add(open_notes(path), "a")

    def work() -> None:
        mine = public_folder / "mine"
        mine.mkdir()
        database = open_notes(mine / "m.db")
        add(database, "a")
        database.close()
        os.chmod(mine / "m.db", 0o444)
        database = open_notes(mine / "m.db")
        with pytest.raises(StoreUnavailable):
            add(database, "b")
        os.chmod(mine / "m.db", 0o644)
        add(database, "b")
        assert notes(database) == ["a", "b"]
        assert not database.is_read_only

    os.chmod(public_folder, 0o777)
    assert as_somebody_else(work) == 0


def test_an_opener_that_refuses_to_write_leaves_reading(tmp_path: Path, errors: list[str]):
    add(open_notes(tmp_path / "m.db"), "a")

    def refusing(uri: str) -> Connection:
        if "mode=rw" in uri:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(uri)

    database = open_notes(tmp_path / "m.db", open_connection=refusing)

    assert notes(database) == ["a"]
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            add(database, "b")
    assert errors == [f"{PLUGIN}: {tmp_path}/m.db can only be read; make file and folder writable"]


def test_a_folder_that_cannot_be_written_is_named(public_folder: Path):
    os.chmod(public_folder, 0o555)

    def work() -> None:
        for path in (public_folder / "m.db", public_folder / "new" / "m.db"):
            with pytest.raises(StoreUnavailable, match=r"PermissionError.*check folder and permissions"):
                open_notes(path)

    assert as_somebody_else(work) == 0


# ---------------------------------------------------------------------- full disk
@pytest.mark.parametrize("limit", [2_000, 40_000])
def test_a_full_disk_fails_one_write_and_harms_nothing(tmp_path: Path, limit: int):
    database = open_notes(tmp_path / "m.db")
    add(database, "a")
    database.close()

    def work() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                add(database, "x" * 50_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        add(database, "b")
        assert notes(database) == ["a", "b"]

    assert in_child(work) == 0
    assert notes(database) == ["a", "b"]
    assert kept(tmp_path) == {}


# ---------------------------------------------------------------------- kill -9
def test_a_killed_writer_costs_no_committed_note(tmp_path: Path):
    """Forty children write as fast as they can and are killed at an arbitrary moment."""
    chance = random.Random(4)
    promised: list[str] = []
    for round_ in range(40):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            database = open_notes(tmp_path / "m.db")
            for n in range(1_000_000):
                add(database, f"{round_}-{n} " + "x" * 3000)
                os.write(writing, f"{round_}-{n}\n".encode())
        os.close(writing)
        with os.fdopen(reading) as told:
            for _ in range(chance.randrange(1, 15)):
                promised.append(told.readline().strip())
            os.kill(child, 9)
            os.waitpid(child, 0)
            promised += [line.strip() for line in told if line.endswith("\n")]

    database = open_notes(tmp_path / "m.db")
    found = [text.split(" ")[0] for text in notes(database)]
    with database.read() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert [text for text in promised if text not in set(found)] == []
    assert len(found) == len(set(found)) <= len(promised) + 40
    assert kept(tmp_path) == {}


def test_an_error_that_is_none_of_a_store_stays_what_it_is(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")

    with pytest.raises(ZeroDivisionError), database.write():
        raise ZeroDivisionError
    with pytest.raises(sqlite3.Error) as caught, database.read() as connection:
        connection.execute("SELECT nothing FROM notes")
    assert not isinstance(caught.value, StoreError)
