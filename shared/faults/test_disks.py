"""Disks that are full, files that may not be written or belong to somebody else."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultlib.account import Account
from faultlib.kinds import KINDS, PERSISTENT, make, numbers, opened, wait_until
from faultlib.victims import run
from faultlib.works import NOBODY, as_nobody, fill_disk

from ovos_memory.testing.messages import pair

pytestmark = pytest.mark.faults
needs_root = pytest.mark.skipif(
    os.getuid() != 0, reason="files of another owner need two users: run it as root"
)


@pytest.mark.parametrize("kind", PERSISTENT)
def test_a_full_disk_loses_nothing(kind: str, account: Account, dice: random.Random, tmp_path: Path) -> None:
    what = "disk full: no file grows (RLIMIT_FSIZE)"
    for number in range(3):
        folder = tmp_path / f"store{number}"
        with account.fault(what):
            ended = run(fill_disk, kind, dice.randrange(1_000, 120_000), str(folder))
            with opened(kind, folder) as memory:
                for store, found in numbers(memory).items():
                    account.kept(what, ended.accepted, found, where=store)
            assert not list(folder.rglob("*.tmp")) and not list(folder.rglob("*.corrupt-*"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system with room for 2 MB: what is held until there is room must fit, with the log it goes through."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here: needs root with the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("kind", [kind for kind in PERSISTENT if kind != "composite"])
def test_a_full_file_system_loses_nothing(kind: str, account: Account, small_disk: Path) -> None:
    what, folder = "disk full: a small file system (tmpfs)", small_disk / "store"
    with opened(kind, folder) as memory:
        memory.update_history(pair("question 0", "answer"), "s")
        ballast = small_disk / "ballast"
        with account.fault(what), open(ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
            for number in range(1, 12):
                memory.update_history(pair(f"question {number}", "x" * 8_000), "s")
            assert numbers(memory)[""] == list(range(12))
            assert memory.build_conversation_context("question", "s")[-1].content.endswith("question")
            ballast.unlink()
            file.close()
            memory.update_history(pair("question 12", "answer"), "s")
            assert wait_until(lambda: not memory.health()["held"]), "there is room again"
    with opened(kind, folder) as memory:
        account.kept(what, list(range(13)), numbers(memory)[""])


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """Return a folder that every user may pass through; pytest keeps its own to their owner."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        os.chmod(folder, 0o755)
        (Path(folder) / "spare").mkdir()
        os.chmod(Path(folder) / "spare", 0o777)
        yield Path(folder)


@needs_root
@pytest.mark.parametrize("kind", PERSISTENT)
def test_files_that_can_only_be_read_are_read(kind: str, account: Account, shared_folder: Path) -> None:
    """A backup, an image's file system: what is there is recalled, what is new lives in this process."""
    what, folder, spare = "files that can only be read", shared_folder / "store", shared_folder / "spare"
    with opened(kind, folder) as memory:
        for number in range(5):
            memory.update_history(pair(f"question {number}", "answer"), "s")
    before = _permit(folder, 0o444, 0o555)
    with account.fault(what):
        ended = run(as_nobody, kind, str(spare), str(folder))
        if KINDS[kind].keeps_history:
            account.kept(what, [0, 1, 2, 3, 4, 100, 101, 102, 103], ended.accepted)
        assert {path: path.read_bytes() for path in before} == before


@needs_root
@pytest.mark.parametrize("kind", PERSISTENT)
def test_files_of_somebody_else_stop_nobody(kind: str, account: Account, shared_folder: Path) -> None:
    """Run once as root, then as a user: what is new lives in this process, and the files stay as they are."""
    what, folder, spare = "files of another owner", shared_folder / "store", shared_folder / "spare"
    with opened(kind, folder) as memory:
        memory.update_history(pair("question 0", "answer"), "s")
    before = _permit(folder, 0o600, 0o700)
    with account.fault(what):
        ended = run(as_nobody, kind, str(spare), str(folder))
        if KINDS[kind].keeps_history:
            account.kept(what, [100, 101, 102, 103], ended.accepted)
        assert {path: path.read_bytes() for path in before} == before


@needs_root
def test_a_file_keeps_its_owner_when_root_replaces_it(account: Account, tmp_path: Path) -> None:
    """The command line run with sudo must not take a file away from the assistant."""
    memory = make("recency-json", tmp_path)
    memory.update_history(pair("question 0", "answer"), "s")
    os.chown(tmp_path / "recency.json", NOBODY, NOBODY)
    with account.fault("files of another owner"):
        memory.update_history(pair("question 1", "answer"), "s")
        assert (tmp_path / "recency.json").stat().st_uid == NOBODY


def _permit(folder: Path, file_mode: int, folder_mode: int) -> dict[Path, bytes]:
    """Set modes, and return what is in the files."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".db", ".json")]
    for path in files:
        os.chmod(path, file_mode)
    for each in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        os.chmod(each, folder_mode)
    return {path: path.read_bytes() for path in files}
