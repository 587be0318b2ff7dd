"""Private files, whole-file replacement, set-aside names and 1.x copies."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ovos_memory.core.files import (
    backup_1x,
    create_private_file,
    file_id,
    kept_copies,
    make_private_folder,
    replace_file,
    set_aside,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_created_folders_and_files_are_for_their_owner_only_whatever_the_umask(tmp_path: Path, umask: int):
    folder = tmp_path / "a" / "b"
    make_private_folder(folder)
    created = create_private_file(folder / "f")

    assert created
    assert [mode(tmp_path / "a"), mode(folder), mode(folder / "f")] == [0o700, 0o700, 0o600]


def test_what_existed_keeps_its_mode(tmp_path: Path):
    folder = tmp_path / "a"
    folder.mkdir(mode=0o755)
    (folder / "f").write_bytes(b"x")
    os.chmod(folder / "f", 0o644)

    make_private_folder(folder / "b")
    created = create_private_file(folder / "f")

    assert not created
    assert (mode(folder), mode(folder / "f"), (folder / "f").read_bytes()) == (0o755, 0o644, b"x")


def test_a_folder_below_a_file_cannot_be_created(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"")

    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "f" / "a")


def test_replacing_keeps_the_mode_of_the_old_file_and_leaves_no_other(tmp_path: Path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    os.chmod(path, 0o640)

    replace_file(path, [b"n", b"ew"])

    assert (path.read_bytes(), mode(path), os.listdir(tmp_path)) == (b"new", 0o640, ["f"])


def test_a_new_file_is_private(tmp_path: Path, umask: int):
    replace_file(tmp_path / "f", [b"new"])

    assert mode(tmp_path / "f") == 0o600


def test_a_replacement_that_fails_changes_nothing_and_leaves_no_temporary_file(tmp_path: Path):
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def parts():
        yield b"new"
        raise OSError(28, "no space")

    with pytest.raises(OSError, match="no space"):
        replace_file(path, parts())

    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["f"])


def test_a_temporary_file_of_a_killed_process_is_in_nobodys_way(tmp_path: Path):
    (tmp_path / "f.tmp").write_bytes(b"half a fi")

    replace_file(tmp_path / "f", [b"new"])

    assert os.listdir(tmp_path) == ["f"]


def test_setting_aside_takes_the_companions_along_and_counts_on(tmp_path: Path):
    path = tmp_path / "m.db"
    for n in (1, 2):
        path.write_bytes(b"%d" % n)
        (tmp_path / "m.db-wal").write_bytes(b"w%d" % n)
        assert set_aside(path, file_id(path), companions=("-wal", "-shm")) == tmp_path / f"m.db.corrupt-{n}"

    found = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert found == {
        "m.db.corrupt-1": b"1",
        "m.db.corrupt-1-wal": b"w1",
        "m.db.corrupt-2": b"2",
        "m.db.corrupt-2-wal": b"w2",
    }


def test_only_the_file_that_was_found_damaged_is_set_aside(tmp_path: Path):
    path = tmp_path / "m.db"
    path.write_bytes(b"damaged")
    damaged = file_id(path)
    os.rename(path, tmp_path / "elsewhere")
    path.write_bytes(b"a new one, by a faster process")

    assert set_aside(path, damaged) is None
    assert path.read_bytes() == b"a new one, by a faster process"


def test_a_copy_of_a_1x_file_is_private_and_made_once(tmp_path: Path):
    path = tmp_path / "m.json"
    path.write_bytes(b"{}")
    os.chmod(path, 0o644)

    first, second = backup_1x(path), backup_1x(path)

    assert first == second == tmp_path / "m.json.1x.bak"
    assert (first.read_bytes(), mode(first), mode(path)) == (b"{}", 0o600, 0o644)


def test_a_copy_never_replaces_another_one(tmp_path: Path):
    path = tmp_path / "m.json"
    for text in (b"1", b"2", b"3"):
        path.write_bytes(text)
        backup_1x(path)

    found = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p != path}
    assert found == {"m.json.1x.bak": b"1", "m.json.1x.bak-1": b"2", "m.json.1x.bak-2": b"3"}


def test_kept_copies_are_found_for_forgetting(tmp_path: Path):
    for name in (
        "m.db",
        "m.db-wal",
        "m.db.corrupt-1",
        "m.db.corrupt-1-wal",
        "m.db.1x.bak",
        "m.db2.corrupt-1",
    ):
        (tmp_path / name).write_bytes(b"")

    kept = [p.name for p in kept_copies(tmp_path / "m.db")]

    assert kept == ["m.db.1x.bak", "m.db.corrupt-1", "m.db.corrupt-1-wal"]
    assert kept_copies(tmp_path / "nowhere" / "m.db") == []
