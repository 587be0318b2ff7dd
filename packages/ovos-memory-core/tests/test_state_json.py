"""The JSON file of a state store: whole or not at all, shared between processes, taken over from 1.x."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import shutil
import stat
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ovos_utils.log import LOG

import ovos_memory.core.state_json as state_json
from ovos_memory.core.errors import StoreLocked, StoreTooNew, StoreUnavailable
from ovos_memory.core.state import JsonState, Record
from ovos_memory.testing.forks import in_child

PLUGIN = "ovos-memory-plugin-test"


def say(text: str) -> Callable[[Record | None], Record]:
    def change(record: Record | None) -> Record:
        record = record or {"said": []}
        record["said"].append(text)
        return record

    return change


def open_json(path: Path, **options: Any) -> JsonState:
    return JsonState(path, kind="test", plugin=PLUGIN, **options)


def in_children(*works: Callable[[], None]) -> list[int]:
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


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    lines: dict[str, list[str]] = {"error": [], "warning": []}
    for level, found in lines.items():
        monkeypatch.setattr(LOG, level, lambda text, *values, found=found: found.append(text % values))
    return lines


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


# ---------------------------------------------------------------------- the file
def test_the_file_has_the_documented_shape_and_is_valid_utf_8_json(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("ünï", say("half \ud83d, NUL \0, real \U0001f600"))
    store.update("b", say("x"))

    text = (tmp_path / "m.json").read_bytes().decode("utf-8")
    assert json.loads(text) == {
        "format": "ovos-memory/test",
        "version": 1,
        "sessions": {"ünï": {"said": ["half \ud83d, NUL \0, real \U0001f600"]}, "b": {"said": ["x"]}},
    }
    assert "ünï" in text
    assert "\U0001f600" in text


def test_all_files_are_private_whatever_the_umask(tmp_path: Path):
    before = os.umask(0)
    try:
        open_json(tmp_path / "new" / "m.json").update("s", say("a"))
    finally:
        os.umask(before)

    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "new").iterdir()}
    assert modes == {"m.json": 0o600, "m.json.lock": 0o600}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_link_is_followed_and_stays(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "m.json").symlink_to(tmp_path / "real" / "n.json")

    open_json(tmp_path / "m.json").update("s", say("a"))

    assert (tmp_path / "m.json").is_symlink()
    assert json.loads((tmp_path / "real" / "n.json").read_bytes())["sessions"] == {"s": {"said": ["a"]}}


@pytest.mark.parametrize("indent", [None, 0, 4])
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_file_that_a_person_has_laid_out_anew_is_read(
    tmp_path: Path, indent: int | None, is_shuffled: bool
):
    shape = {
        "format": "ovos-memory/test",
        "version": 1,
        "sessions": {"a": {"said": ["{},\n}}"]}, "b": {"said": []}},
    }
    if is_shuffled:
        shape = dict(reversed(list(shape.items())))
    (tmp_path / "m.json").write_text("\ufeff" + json.dumps(shape, indent=indent) + "\n")

    store = open_json(tmp_path / "m.json")
    assert dict(store.items()) == shape["sessions"]
    store.update("b", say("x"))
    assert dict(open_json(tmp_path / "m.json").items()) == {"a": {"said": ["{},\n}}"]}, "b": {"said": ["x"]}}


def test_a_change_by_hand_is_seen(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("s", say("a"))

    text = (tmp_path / "m.json").read_text().replace('"a"', '"by hand"')
    (tmp_path / "m.json").write_text(text)

    assert store.load("s") == {"said": ["by hand"]}
    assert store.update("s", say("b")) == {"said": ["by hand", "b"]}


def test_a_removed_file_is_begun_anew(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("s", say("a"))
    (tmp_path / "m.json").unlink()

    assert store.load("s") is None
    assert store.update("s", say("b")) == {"said": ["b"]}


def test_an_update_serialises_one_record_and_a_read_parses_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = open_json(tmp_path / "m.json")
    store.apply([(f"s{n}", say("x")) for n in range(300)])
    dumped, loaded, parsed = [], [], []
    for name, calls in (("dump_entry", dumped), ("load_entry", loaded), ("parse_file", parsed)):
        real = getattr(state_json, name)
        monkeypatch.setattr(state_json, name, lambda *a, real=real, calls=calls: calls.append(1) or real(*a))

    for n in range(5):
        store.update(f"s{n}", say("y"))
        store.load(f"s{n}")

    assert (len(dumped), len(loaded), len(parsed)) == (5, 10, 0)


def test_a_change_that_changes_nothing_writes_nothing(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("s", say("a"))
    before = (tmp_path / "m.json").stat()

    store.update("s", lambda record: record)
    store.update("nobody", lambda record: None)

    assert (tmp_path / "m.json").stat() == before


def test_many_sessions_are_told_of_once(tmp_path: Path, log: dict[str, list[str]]):
    store = open_json(tmp_path / "m.json")
    store.apply([(f"s{n}", say("x")) for n in range(2_000)])
    assert log["warning"] == []

    for n in range(3):
        store.update(f"t{n}", say("x"))

    assert len(log["warning"]) == 1
    assert "set backend to 'sqlite'" in log["warning"][0]


def test_thousands_of_updates_leak_no_descriptor(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("s", say("a"))
    before = len(os.listdir("/dev/fd"))

    for n in range(300):
        store.update("s", lambda record, n=n: {"n": n})
        open_json(tmp_path / "m.json").load("s")

    assert len(os.listdir("/dev/fd")) <= before + 1


# ---------------------------------------------------------------------- other processes
def test_two_processes_lose_no_session_and_no_update(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("shared", say("before"))

    def work(name: str) -> None:
        for n in range(40):
            store.update(f"{name}{n}", say("x"))
            store.update("shared", say(f"{name}{n}"))

    assert in_children(lambda: work("a"), lambda: work("b")) == [0, 0]
    assert len(store.sessions()) == 81
    shared = store.load("shared")
    assert shared is not None
    assert sorted(shared["said"]) == sorted(["before", *(f"{name}{n}" for name in "ab" for n in range(40))])


def test_a_stale_process_does_not_undo_another_ones_update(tmp_path: Path):
    stale = open_json(tmp_path / "m.json")
    stale.update("s", say("a"))

    assert in_child(lambda: open_json(tmp_path / "m.json").update("s", say("b")) and None) == 0

    assert stale.load("s") == {"said": ["a", "b"]}
    assert stale.update("t", say("c")) == {"said": ["c"]}
    assert stale.update("s", say("d")) == {"said": ["a", "b", "d"]}


def test_equal_size_and_time_do_not_hide_another_ones_update(tmp_path: Path):
    """Replaced twice within one tick of the file system's clock, an inode number could come back."""
    store, other = open_json(tmp_path / "m.json"), open_json(tmp_path / "m.json")
    for n in range(50):
        store.update("s", lambda record, n=n: {"n": f"{n:03}"})
        other.update("s", lambda record, n=n: {"n": f"{n + 500:03}"})
        other.update("s", lambda record, n=n: {"n": f"{n + 200:03}"})
        assert store.load("s") == {"n": f"{n + 200:03}"}


def test_a_lock_that_another_process_holds_delays_writing_for_a_bounded_time_and_reading_not(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("s", say("a"))
    with open(tmp_path / "m.json.lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreLocked, match=r"m\.json is locked by another process"):
            store.apply([("s", say("b"))], wait_s=0.05)
        assert store.load("s") == {"said": ["a"]}
        assert open_json(tmp_path / "m.json").load("s") == {"said": ["a"]}

    assert store.update("s", say("c")) == {"said": ["a", "c"]}


def test_a_reader_does_not_wait_for_a_writer_of_the_same_process(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("s", say("a"))
    writing, go_on = threading.Event(), threading.Event()

    def slow(record: Record | None) -> Record:
        writing.set()
        go_on.wait(10)
        return {"said": ["slow"]}

    thread = threading.Thread(target=store.update, args=("s", slow))
    thread.start()
    assert writing.wait(10)
    found = store.load("s", wait_s=0)
    with pytest.raises(StoreLocked, match="other threads"):
        store.apply([("s", say("b"))], wait_s=0.02)
    go_on.set()
    thread.join()

    assert found == {"said": ["a"]}
    assert store.load("s") == {"said": ["slow"]}


def test_a_killed_process_leaves_the_old_file_or_the_new_one(tmp_path: Path):
    chance = random.Random(7)
    promised = -1
    for round_ in range(40):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            mine = open_json(tmp_path / "m.json")
            while True:
                record = mine.update("s", lambda r: {"n": r["n"] + 1 if r else 0, "pad": "x" * 20_000})
                os.write(writing, f"{record['n']}\n".encode())
        os.close(writing)
        with os.fdopen(reading) as told:
            for _ in range(chance.randrange(1, 6)):
                promised = int(told.readline())
            os.kill(child, 9)
            os.waitpid(child, 0)
            promised = max([promised, *(int(line) for line in told if line.endswith("\n"))])
        found = open_json(tmp_path / "m.json").load("s")
        assert found is not None, round_
        assert promised <= found["n"] <= promised + 1
        promised = found["n"]

    open_json(tmp_path / "m.json").update("t", say("a"))
    assert names(tmp_path) == ["m.json", "m.json.lock"]


# ---------------------------------------------------------------------- trouble
def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("s", say("a"))
    old = (tmp_path / "m.json").read_bytes()

    def work() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="check folder, permissions and room"):
                store.update("s", say("x" * 5_000))
            assert (tmp_path / "m.json").read_bytes() == old
            assert names(tmp_path) == ["m.json", "m.json.lock"]
            assert store.load("s") == {"said": ["a"]}
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        store.update("s", say("b"))

    assert in_child(work) == 0
    assert store.load("s") == {"said": ["a", "b"]}


@pytest.mark.parametrize("path", ["/proc/nope/m.json", "{file}/m.json", "{folder}"])
def test_a_path_that_cannot_be_used_is_named_with_a_remedy(tmp_path: Path, path: str):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    path = path.format(file=tmp_path / "file", folder=tmp_path / "folder")

    with pytest.raises(StoreUnavailable, match=f"{path}.*name another path"):
        open_json(Path(path)).update("s", say("a"))


@pytest.fixture
def public_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ovos-memory-"))
    os.chmod(folder, 0o755)
    yield folder
    os.chmod(folder, 0o755)
    shutil.rmtree(folder)


def as_somebody_else(work: Callable[[], None]) -> int:
    def child() -> None:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        work()

    return in_child(child)


def test_a_file_that_cannot_be_written_is_read(public_folder: Path):
    path = public_folder / "m.json"
    open_json(path).update("s", say("a"))
    (public_folder / "m.json.lock").unlink()
    os.chmod(path, 0o444)
    os.chmod(public_folder, 0o555)

    def work() -> None:
        store = open_json(path)
        assert store.load("s") == {"said": ["a"]}
        with pytest.raises(StoreUnavailable):
            store.update("s", say("b"))

    assert as_somebody_else(work) == 0


def test_what_1x_left_is_read_even_where_it_cannot_be_converted(public_folder: Path):
    path = public_folder / "m.json"
    path.write_text('{"s": {"buffer": ["a"]}}')
    os.chmod(public_folder, 0o555)

    def work() -> None:
        assert open_json(path, convert_1x=convert_1x).load("s") == {"said": ["a"]}

    assert as_somebody_else(work) == 0
    assert path.read_text() == '{"s": {"buffer": ["a"]}}'


DAMAGE = {
    "text": b"this is no JSON",
    "half": b'{"format": "ovos-memory/test", "version": 1, "sessions": {\n"s": {"said": ["a"',
    "half an entry": b'{"format": "ovos-memory/test", "version": 1, "sessions": {\n"s": {"said": ["a"]},\n"t',
    "behind the end": b'{"format": "ovos-memory/test", "version": 1, "sessions": {\n}}\n}}\n',
    "no comma": b'{"format": "ovos-memory/test", "version": 1, "sessions": {"s": {} "t": {}}}',
    "zeros": bytes(500),
    "random": random.Random(8).randbytes(2_000),
    "latin-1": b'{"format": "ovos-memory/test", "version": 1, "sessions": {"\xe9": {}}}',
    "nested": b'{"format": "ovos-memory/test", "version": 1, "sessions": {"s": ' + b"[" * 100_000,
    "list": b"[1, 2]",
    "null": b"null",
    "number": b"1" * 10_000,
    "records of another shape": b'{"format": "ovos-memory/test", "version": 1, "sessions": {"s": [1]}}',
    "sessions of another shape": b'{"format": "ovos-memory/test", "version": 1, "sessions": [1]}',
    "another format": b'{"format": "notes", "version": 1, "sessions": {}}',
    "a shape that is not known": b'{"s": {"something": 1}}',
    "sqlite": b"SQLite format 3\x00" + bytes(4_000),
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("is_read_first", [True, False])
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(
    tmp_path: Path, kind: str, is_read_first: bool, log: dict[str, list[str]]
):
    path = tmp_path / "m.json"
    path.write_bytes(DAMAGE[kind])
    store = open_json(path, convert_1x=convert_1x)

    if is_read_first:
        assert store.load("s") is None
    store.update("s", say("a"))

    assert store.load("s") == {"said": ["a"]}
    assert (tmp_path / "m.json.corrupt-1").read_bytes() == DAMAGE[kind]
    assert names(tmp_path) == ["m.json", "m.json.corrupt-1", "m.json.lock"]
    assert log["error"] == [
        f"{PLUGIN}: {path} is damaged or unknown; it was set aside as {path}.corrupt-1 and a new one begins"
    ]


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_sessions(tmp_path: Path, data: bytes, log: dict[str, list[str]]):
    (tmp_path / "m.json").write_bytes(data)
    store = open_json(tmp_path / "m.json")

    assert store.sessions() == []
    store.update("s", say("a"))
    assert (log["error"], names(tmp_path)) == ([], ["m.json", "m.json.lock"])


def test_damage_while_it_is_used_is_set_aside_too(tmp_path: Path):
    store = open_json(tmp_path / "m.json")
    store.update("s", say("a"))
    (tmp_path / "m.json").write_bytes(b"garbage")

    assert store.load("s") is None
    assert store.update("s", say("b")) == {"said": ["b"]}


def test_processes_that_find_the_same_damage_set_it_aside_once(tmp_path: Path):
    (tmp_path / "m.json").write_bytes(b"garbage")

    works = [lambda n=n: open_json(tmp_path / "m.json").update(f"{n}", say("a")) and None for n in range(4)]

    assert in_children(*works) == [0] * 4
    assert sorted(open_json(tmp_path / "m.json").sessions()) == ["0", "1", "2", "3"]
    assert names(tmp_path) == ["m.json", "m.json.corrupt-1", "m.json.lock"]


@pytest.mark.parametrize("version", [2, 99])
def test_a_newer_file_stays_untouched(tmp_path: Path, version: int):
    text = f'{{"format": "ovos-memory/test", "version": {version}, "sessions": {{"s": {{"new": 1}}}}}}'
    (tmp_path / "m.json").write_text(text)
    store = open_json(tmp_path / "m.json")

    for _ in range(2):
        with pytest.raises(StoreTooNew, match="update the package"):
            store.load("s")
        with pytest.raises(StoreTooNew):
            store.update("s", say("a"))

    assert (tmp_path / "m.json").read_text() == text


def test_the_file_of_another_memory_is_refused_and_stays_untouched(tmp_path: Path):
    JsonState(tmp_path / "m.json", kind="entity", plugin=PLUGIN).update("s", say("a"))
    before = (tmp_path / "m.json").read_bytes()

    with pytest.raises(StoreUnavailable, match="give each memory a path of its own"):
        open_json(tmp_path / "m.json").update("s", say("b"))

    assert (tmp_path / "m.json").read_bytes() == before


# ---------------------------------------------------------------------- what 1.x left
def convert_1x(raw: Any) -> dict[str, Record] | None:
    return {session: {"said": list(old["buffer"])} for session, old in raw.items()}


def test_what_1x_left_is_copied_and_converted_at_the_first_use(tmp_path: Path):
    old = json.dumps({"a": {"buffer": ["x", "y"]}, "format": {"buffer": []}, "é": {"buffer": ["z"]}})
    (tmp_path / "m.json").write_text(old)

    store = open_json(tmp_path / "m.json", convert_1x=convert_1x)

    assert store.load("a") == {"said": ["x", "y"]}
    assert store.sessions() == ["a", "format", "é"]
    assert (tmp_path / "m.json.1x.bak").read_text() == old
    assert stat.S_IMODE((tmp_path / "m.json.1x.bak").stat().st_mode) == 0o600
    assert json.loads((tmp_path / "m.json").read_text())["format"] == "ovos-memory/test"
    assert open_json(tmp_path / "m.json").load("é") == {"said": ["z"]}
    assert names(tmp_path) == ["m.json", "m.json.1x.bak", "m.json.lock"]


def test_processes_that_find_a_1x_file_convert_it_once(tmp_path: Path):
    (tmp_path / "m.json").write_text('{"s": {"buffer": ["x"]}}')

    def work() -> None:
        open_json(tmp_path / "m.json", convert_1x=convert_1x).update("s", say("y"))

    assert in_children(work, work, work) == [0] * 3
    assert open_json(tmp_path / "m.json").load("s") == {"said": ["x", "y", "y", "y"]}
    assert names(tmp_path) == ["m.json", "m.json.1x.bak", "m.json.lock"]


def test_an_empty_1x_file_is_taken_over(tmp_path: Path, log: dict[str, list[str]]):
    (tmp_path / "m.json").write_text("{}")

    open_json(tmp_path / "m.json", convert_1x=convert_1x).update("s", say("a"))

    assert log["error"] == []


def test_what_is_forgotten_while_another_thread_closes_the_store_is_gone_from_the_file(tmp_path: Path):
    store = JsonState(tmp_path / "m.json", kind="test", plugin=PLUGIN)
    store.update("s", lambda record: {"said": ["secret"]})

    def forget(record: Record | None) -> None:
        closing = threading.Thread(target=store.close)
        closing.start()
        closing.join(10)

    store.update("s", forget)

    assert b"secret" not in (tmp_path / "m.json").read_bytes()
    assert store.sessions() == []


def test_what_others_recorded_stays_when_the_collector_closes_the_store_within_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = open_json(tmp_path / "m.json")
    store.update("mine", say("a"))
    store.update("theirs", say("b"))
    is_still = state_json._Seen.is_still

    def collected(self: Any, path: Path) -> bool:
        found = is_still(self, path)
        store.close()  # its last user is gone; the collector runs in any allocation, on this thread
        return found

    monkeypatch.setattr(state_json._Seen, "is_still", collected)

    store.update("mine", say("c"))

    assert dict(open_json(tmp_path / "m.json").items()) == {
        "mine": {"said": ["a", "c"]},
        "theirs": {"said": ["b"]},
    }
