"""One database policy: snapshots, one writer, bounded waits, private files, forks, threads."""

from __future__ import annotations

import gc
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ovos_memory.core.errors import StoreLocked, StoreTooNew, StoreUnavailable
from ovos_memory.core.sqlite import Database, open_database
from ovos_memory.core.sqlite_open import Connection, backup_database_1x, connect
from ovos_memory.core.sqlite_pool import KEPT_READERS, Pool
from ovos_memory.testing.forks import in_child

PLUGIN = "ovos-memory-plugin-test"


def create_notes(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE notes (text TEXT)")


def open_notes(path: Path | str) -> Database:
    return open_database(path, plugin=PLUGIN, migrations=[create_notes])


def add(database: Database, text: str, wait_s: float = 1.0) -> None:
    with database.write(wait_s) as connection:
        connection.execute("INSERT INTO notes VALUES (?)", (text,))


def notes(database: Database) -> list[str]:
    with database.read() as connection:
        return [row[0] for row in connection.execute("SELECT text FROM notes ORDER BY rowid")]


@contextmanager
def held_by_another_process(path: Path, statement: str = "BEGIN EXCLUSIVE") -> Iterator[None]:
    code = (
        "import sqlite3, sys\n"
        f"c = sqlite3.connect({str(path)!r}, isolation_level=None)\n"
        f"c.execute({statement!r})\n"
        "c.execute('SELECT * FROM sqlite_master').fetchall()\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.stdin.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ---------------------------------------------------------------------- transactions
@pytest.fixture(params=["file", "memory"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    database = open_notes(tmp_path / "m.db" if request.param == "file" else ":memory:")
    yield database
    database.close()


def test_what_was_written_is_read(database: Database):
    add(database, "a")
    add(database, "b\0c é")

    assert notes(database) == ["a", "b\0c é"]


def test_a_write_that_raises_is_undone(database: Database):
    with pytest.raises(KeyboardInterrupt), database.write() as connection:
        connection.execute("INSERT INTO notes VALUES ('x')")
        raise KeyboardInterrupt

    add(database, "a")
    assert notes(database) == ["a"]


def test_a_faulty_statement_stays_an_error_of_sqlite_and_undoes_the_write(database: Database):
    with pytest.raises(sqlite3.OperationalError, match="no such table"), database.write() as connection:
        connection.execute("INSERT INTO notes VALUES ('x')")
        connection.execute("INSERT INTO nowhere VALUES (1)")

    assert notes(database) == []


def test_a_write_within_a_write_of_the_same_thread_is_a_fault(database: Database):
    with database.write(), pytest.raises(RuntimeError, match="hand the connection on"), database.write():
        pass


def test_a_read_sees_one_state_whatever_is_written_meanwhile(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    with database.read() as connection:
        before = connection.execute("SELECT count(*) FROM notes").fetchone()[0]
        add(database, "a")
        after = connection.execute("SELECT count(*) FROM notes").fetchone()[0]

    assert (before, after) == (0, 0)
    assert notes(database) == ["a"]


def test_a_reading_connection_refuses_to_write(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")

    with pytest.raises(StoreUnavailable), database.read() as connection:
        connection.execute("INSERT INTO notes VALUES ('x')")


def test_a_commit_is_synchronous_and_deletions_are_overwritten(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    with database.write() as connection:
        found = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "secure_delete")
        ]

    assert found == ["wal", 2, 1]


def test_a_closed_database_is_opened_again_by_the_next_use(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    add(database, "a")

    database.close()
    database.close()

    assert not (tmp_path / "m.db-wal").exists()
    assert notes(database) == ["a"]


def test_closing_does_not_disturb_those_who_use_it(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")

    with database.read() as reader, database.write() as writer:
        database.close()
        writer.execute("INSERT INTO notes VALUES ('a')")
        assert reader.execute("SELECT count(*) FROM notes").fetchone()[0] == 0

    assert notes(database) == ["a"]


# ---------------------------------------------------------------------- files
def test_all_files_are_private_whatever_the_umask(tmp_path: Path):
    before = os.umask(0)
    try:
        database = open_notes(tmp_path / "new" / "folder" / "m.db")
        add(database, "a")
        modes = {p.name: mode(p) for p in (tmp_path / "new" / "folder").iterdir()}
    finally:
        os.umask(before)

    assert modes == {"m.db": 0o600, "m.db-wal": 0o600, "m.db-shm": 0o600}
    assert mode(tmp_path / "new") == mode(tmp_path / "new" / "folder") == 0o700


def test_an_existing_file_keeps_its_mode(tmp_path: Path):
    (tmp_path / "m.db").write_bytes(b"")
    os.chmod(tmp_path / "m.db", 0o640)

    add(open_notes(tmp_path / "m.db"), "a")

    assert mode(tmp_path / "m.db") == 0o640


@pytest.mark.parametrize("name", ["with space.db", "ümlaut?x#y%20.db", "q'uote.db"])
def test_any_file_name_works(tmp_path: Path, name: str):
    add(open_notes(tmp_path / name), "a")

    assert notes(open_notes(tmp_path / name)) == ["a"]
    assert {p.name for p in tmp_path.iterdir()} <= {name, f"{name}-wal", f"{name}-shm"}


def test_a_link_is_followed(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "m.db").symlink_to(tmp_path / "real" / "n.db")

    add(open_notes(tmp_path / "m.db"), "a")

    assert mode(tmp_path / "real" / "n.db") == 0o600
    assert (tmp_path / "m.db").is_symlink()


@pytest.mark.parametrize("path", ["/proc/nope/m.db", "{file}/m.db", "{folder}", "/dev/null"])
def test_a_path_that_cannot_be_used_is_named_with_a_remedy(tmp_path: Path, path: str):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    path = path.format(file=tmp_path / "file", folder=tmp_path / "folder")

    with pytest.raises(StoreUnavailable) as caught:
        open_notes(path)

    assert path in str(caught.value)
    assert "another path" in str(caught.value)


def test_a_file_that_was_removed_is_begun_anew(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    add(database, "a")
    for path in tmp_path.iterdir():
        path.unlink()

    add(database, "b")

    assert notes(database) == ["b"]
    assert notes(open_notes(tmp_path / "m.db")) == ["b"]


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path):
    other = open_notes(tmp_path / "other.db")
    add(other, "restored")
    other.close()
    database = open_notes(tmp_path / "m.db")
    add(database, "a")

    for name in ("m.db-wal", "m.db-shm"):
        (tmp_path / name).unlink()
    os.replace(tmp_path / "other.db", tmp_path / "m.db")

    assert notes(database) == ["restored"]


def test_what_was_deleted_is_in_no_file(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    for n in range(200):
        add(database, f"secret-{n} " * 20)
    with database.write() as connection:
        connection.execute("DELETE FROM notes")

    database.scrub()
    assert b"secret-" not in b"".join(p.read_bytes() for p in tmp_path.iterdir())

    database.scrub(is_thorough=True)
    assert (tmp_path / "m.db").stat().st_size < 50_000


def test_the_log_stays_bounded(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    for _ in range(150):
        add(database, "x" * 100_000)

    assert (tmp_path / "m.db-wal").stat().st_size < 10_000_000


# ---------------------------------------------------------------------- locks
def test_a_locked_database_is_read_and_its_writers_are_told_after_a_bounded_wait(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    add(database, "a")

    with held_by_another_process(tmp_path / "m.db"):
        start = time.monotonic()
        with pytest.raises(StoreLocked, match=r"m\.db is locked"):
            add(database, "b", wait_s=0.2)
        waited = time.monotonic() - start
        assert notes(database) == ["a"]
        assert notes(open_notes(tmp_path / "m.db")) == ["a"]

    assert waited < 1.0
    add(database, "b")
    assert notes(database) == ["a", "b"]


def test_a_database_that_is_locked_by_an_older_journal_mode_cannot_be_opened_for_a_second(tmp_path: Path):
    sqlite3.connect(tmp_path / "m.db").execute("CREATE TABLE t (x)").connection.close()

    with held_by_another_process(tmp_path / "m.db"):
        start = time.monotonic()
        with pytest.raises(StoreLocked):
            open_notes(tmp_path / "m.db")
        waited = time.monotonic() - start

    assert waited < 3.0
    assert notes(open_notes(tmp_path / "m.db")) == []


def test_an_open_reader_elsewhere_delays_the_switch_to_the_log_but_damages_nothing(tmp_path: Path):
    sqlite3.connect(tmp_path / "m.db").execute("CREATE TABLE t (x)").connection.close()

    with held_by_another_process(tmp_path / "m.db", "BEGIN"), pytest.raises(StoreLocked):
        open_notes(tmp_path / "m.db")

    assert notes(open_notes(tmp_path / "m.db")) == []
    assert [p.name for p in tmp_path.iterdir() if "corrupt" in p.name] == []


def test_a_writing_thread_makes_others_wait_for_a_bounded_time(database: Database):
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with database.write():
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    with pytest.raises(StoreLocked):
        add(database, "a", wait_s=0.05)
    done.set()
    thread.join()

    add(database, "a")
    assert notes(database) == ["a"]


def test_many_threads_lose_nothing(database: Database):
    failures = []

    def work(name: int) -> None:
        try:
            for n in range(25):
                add(database, f"{name}-{n}", wait_s=30)
                assert f"{name}-{n}" in notes(database)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = notes(database)
    assert failures == []
    assert sorted(found) == sorted(f"{name}-{n}" for name in range(16) for n in range(25))
    for name in range(16):
        mine = [text for text in found if text.startswith(f"{name}-")]
        assert mine == [f"{name}-{n}" for n in range(25)]


def test_thousands_of_threads_leave_a_few_connections(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")

    for _ in range(125):
        threads = [threading.Thread(target=notes, args=(database,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    gc.collect()
    pool = database._file._pool
    mine = [c for c in gc.get_objects() if isinstance(c, Connection) and c.wait_ms >= 0 and is_open(c, pool)]
    assert pool is not None
    assert (len(pool.idle) <= KEPT_READERS, pool.lent) == (True, {})
    assert len(mine) <= KEPT_READERS + 1


def is_open(connection: sqlite3.Connection, pool: Pool | None) -> bool:
    try:
        path = connection.execute("PRAGMA database_list").fetchone()[2]
    except sqlite3.ProgrammingError:
        return False
    return pool is not None and path == str(pool.path)


# ---------------------------------------------------------------------- processes
def test_a_forked_child_reads_and_writes_on_connections_of_its_own(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    add(database, "parent")
    assert notes(database) == ["parent"]

    def child() -> None:
        assert notes(database) == ["parent"]
        add(database, "child")
        database.close()

    statuses = [in_child(child if n == 0 else lambda: add(database, "again")) for n in range(5)]

    add(database, "parent")
    assert statuses == [0] * 5
    assert notes(database) == ["parent", "child", *["again"] * 4, "parent"]
    with database.read() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_fork_during_a_write_leaves_child_and_parent_able_to_write(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    statuses = []
    with database.write() as connection:
        connection.execute("INSERT INTO notes VALUES ('parent')")

        def child() -> None:
            with pytest.raises(StoreLocked):  # the parent is not done
                add(database, "child", wait_s=0.05)

        statuses.append(in_child(child))

    statuses.append(in_child(lambda: add(database, "child")))
    assert statuses == [0, 0]
    assert notes(database) == ["parent", "child"]


class _LendsAtOnce:
    """A lock that lets another thread borrow whatever has become idle, the moment it is free."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self.borrowed: list[Connection | None] = []

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *reason: object) -> None:
        is_free = bool(self._pool.idle) and not self.borrowed
        self._lock.release()
        if is_free:
            self.borrowed.append(None)
            other = threading.Thread(
                target=lambda: self.borrowed.append(self._pool.borrow(time.monotonic() + 1))
            )
            other.start()
            other.join()


def test_a_connection_that_is_lent_again_the_moment_it_comes_back_belongs_to_who_has_it(tmp_path: Path):
    path = tmp_path / "m.db"
    open_notes(path).close()
    pool = Pool(path, None, "rw", connect)
    pool.open(time.monotonic() + 1)
    reader = pool.borrow(time.monotonic() + 1)
    pool._lock = lock = _LendsAtOnce(pool)  # type: ignore[assignment]

    assert reader is not None
    pool.give_back(reader, is_usable=True)

    assert lock.borrowed[1:] == [reader]
    assert list(pool.lent) == [reader]
    pool.give_back(reader, is_usable=True)
    assert (pool.lent, pool._users) == ({}, [])
    pool.retire()


def test_forks_at_once_while_databases_are_opened_leave_the_parent_able_to_write(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    stop = threading.Event()

    def fork() -> None:
        for _ in range(15):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)

    def open_others() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            open_notes(tmp_path / f"other {number % 5}.db").close()

    opening = threading.Thread(target=open_others)
    forking = [threading.Thread(target=fork) for _ in range(4)]
    for thread in [opening, *forking]:
        thread.start()
    for thread in forking:
        thread.join(120)
    stop.set()
    opening.join(30)

    add(database, "afterwards", wait_s=5)
    assert notes(database) == ["afterwards"]


def test_forks_while_many_threads_write_leave_every_child_able_to_write(tmp_path: Path):
    """SQLite keeps its locks in memory as well, where a child would find those of its parent for ever."""
    database = open_notes(tmp_path / "m.db")
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            add(database, "parent", wait_s=30)
            notes(database)
            stop.wait(0.002)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    statuses = [in_child(lambda n=n: add(database, f"child {n}", wait_s=30)) for n in range(20)]
    stop.set()
    for thread in threads:
        thread.join()

    assert statuses == [0] * 20
    assert [text for text in notes(database) if text != "parent"] == [f"child {n}" for n in range(20)]


def test_a_parent_that_closes_does_not_take_the_log_away_from_its_child(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    add(database, "parent")
    told, tell = os.pipe()
    heard, say = os.pipe()

    child = os.fork()
    if child == 0:
        try:
            add(database, "child 1")
            os.write(tell, b"x")
            assert os.read(heard, 1) == b"x"
            add(database, "child 2")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.read(told, 1) == b"x"
    add(database, "parent 2")
    database.close()
    os.write(say, b"x")

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for descriptor in (told, tell, heard, say):
        os.close(descriptor)
    assert notes(database) == ["parent", "child 1", "parent 2", "child 2"]


def test_a_memory_database_is_empty_but_usable_in_a_forked_child():
    database = open_notes(":memory:")
    add(database, "parent")

    def child() -> None:
        assert notes(database) == []
        add(database, "child")
        assert notes(database) == ["child"]

    assert in_child(child) == 0
    assert notes(database) == ["parent"]


def test_processes_take_turns(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")

    def work(name: str) -> None:
        for n in range(100):
            add(database, f"{name}{n}", wait_s=30)

    children = []
    for name in "ab":
        child = os.fork()
        if child == 0:
            try:
                work(name)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

    assert statuses == [0, 0]
    assert sorted(notes(database)) == sorted(f"{name}{n}" for name in "ab" for n in range(100))


# ---------------------------------------------------------------------- schema
def test_steps_run_once_and_in_order(tmp_path: Path):
    ran = []

    def step(n: int):
        return lambda connection: ran.append(n)

    open_database(tmp_path / "m.db", plugin=PLUGIN, migrations=[step(1)])
    open_database(tmp_path / "m.db", plugin=PLUGIN, migrations=[step(1), step(2), step(3)])
    open_database(tmp_path / "m.db", plugin=PLUGIN, migrations=[step(1), step(2), step(3)])

    assert ran == [1, 2, 3]


def test_components_of_one_file_count_their_own_steps(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    database.migrate("other", [lambda c: c.execute("CREATE TABLE other (x)")])
    database.migrate("other", [lambda c: c.execute("CREATE TABLE other (x)")])

    with open_notes(tmp_path / "m.db").read() as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
    assert names == ["notes", "other", "ovos_memory_components"]


def test_a_step_that_fails_is_undone_with_all_before_it(tmp_path: Path):
    def broken(connection: sqlite3.Connection) -> None:
        raise KeyError("a fault of ours")

    with pytest.raises(KeyError):
        open_database(tmp_path / "m.db", plugin=PLUGIN, migrations=[create_notes, broken])

    assert notes(open_notes(tmp_path / "m.db")) == []


def test_foreign_tables_in_the_way_are_left_alone(tmp_path: Path):
    with sqlite3.connect(tmp_path / "m.db") as connection:
        connection.execute("CREATE TABLE notes (theirs)")
        connection.execute("INSERT INTO notes VALUES (1)")
    connection.close()

    with pytest.raises(StoreUnavailable, match="holds other tables"):
        open_notes(tmp_path / "m.db")

    with sqlite3.connect(tmp_path / "m.db") as connection:
        assert connection.execute("SELECT theirs FROM notes").fetchall() == [(1,)]
    assert [p.name for p in tmp_path.iterdir() if "corrupt" in p.name] == []


def test_a_backup_can_be_made_before_the_first_step_and_holds_what_was_there(tmp_path: Path):
    with sqlite3.connect(tmp_path / "m.db") as connection:
        connection.execute("CREATE TABLE old (x)")
        connection.execute("INSERT INTO old VALUES ('kept')")
    connection.close()
    made = []

    def before(connection: sqlite3.Connection, path: Path | str) -> None:
        assert connection.in_transaction
        made.append(backup_database_1x(Path(path)))

    def convert(connection: sqlite3.Connection) -> None:
        create_notes(connection)
        connection.execute("INSERT INTO notes SELECT x || ' and converted' FROM old")
        connection.execute("DROP TABLE old")

    for _ in range(2):
        database = open_database(
            tmp_path / "m.db", plugin=PLUGIN, migrations=[convert], before_migrate=before
        )

    assert notes(database) == ["kept and converted"]
    assert made == [tmp_path / "m.db.1x.bak"]
    assert mode(made[0]) == 0o600
    with sqlite3.connect(made[0]) as copy:
        assert copy.execute("SELECT x FROM old").fetchall() == [("kept",)]
    copy.close()
    assert not [p.name for p in tmp_path.iterdir() if ".tmp" in p.name]


def test_a_file_of_a_newer_format_stays_untouched_to_the_byte(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    add(database, "a")
    with database.write() as connection:
        connection.execute("PRAGMA user_version=99")
    database.close()
    before = (tmp_path / "m.db").read_bytes()

    for _ in range(2):
        with pytest.raises(StoreTooNew, match=r"m\.db was written by a newer version"):
            open_notes(tmp_path / "m.db")

    assert (tmp_path / "m.db").read_bytes() == before
    assert "corrupt" not in "".join(p.name for p in tmp_path.iterdir())


def test_a_newer_format_that_is_only_in_the_log_is_seen_and_stays_there(tmp_path: Path):
    database = open_notes(tmp_path / "m.db")
    with database.write() as connection:
        connection.execute("PRAGMA user_version=99")
    copy = tmp_path / "copy"  # as a killed process leaves it: not checkpointed
    copy.mkdir()
    for name in ("m.db", "m.db-wal"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    before = {p.name: p.read_bytes() for p in copy.iterdir()}

    with pytest.raises(StoreTooNew):
        open_notes(copy / "m.db")

    assert {name: (copy / name).read_bytes() for name in before} == before


def test_a_component_with_more_steps_than_known_is_newer(tmp_path: Path):
    open_database(
        tmp_path / "m.db", plugin=PLUGIN, migrations=[create_notes, lambda connection: None]
    ).close()
    before = (tmp_path / "m.db").read_bytes()

    with pytest.raises(StoreTooNew, match="known up to 1"):
        open_notes(tmp_path / "m.db")

    assert (tmp_path / "m.db").read_bytes() == before
