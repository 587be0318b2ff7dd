"""Rules of bad days: a path that cannot be used, a damaged file, a lock, a full disk.

A conversation goes on, nothing that was accepted is lost, and somebody can see what is wrong.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.testing.messages import pair, texts
from ovos_memory.testing.suite import MemorySuite, needs

_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
connection.execute("COMMIT")
"""
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "noise": lambda content: bytes(range(255, 0, -1)) * 40,
    "prose": lambda content: b"this is no store\n" * 50,
    "another JSON": lambda content: b'[1, 2, {"three": null}]\n',
    "cut in half": lambda content: content[: len(content) // 2],
    "overwritten with zeros": lambda content: bytes(len(content)),
    "emptied": lambda content: b"",
}
_RECOGNISABLE = ("noise", "prose", "another JSON")


class DegradeSuite(MemorySuite):
    """The persona is never lost to storage."""

    # ------------------------------------------------------------------ paths
    @needs("persistent")
    def test_a_path_that_cannot_be_used_does_not_stop_a_persona(self) -> None:
        """The constructor never raises for storage, and a turn still works."""
        for folder in (self._blocked(), Path("/proc/nope"), Path("/dev/null/nope"), Path("/" + "x" * 300)):
            memory = self.new(folder=folder)
            self.tell(memory, "my code is 4512", session_id="s")
            self.context(memory, "what is my code")
            memory.get_history("s")

    @needs("persistent")
    def test_without_a_store_the_conversation_is_kept_in_memory(self) -> None:
        """History and recall go on for this process."""
        memory = self.new(folder=self._blocked())
        self.tell(memory, "my code is 4512")
        self.tell(memory, "the bin day is Friday")

        self._remembers(memory, "4512")
        self._remembers(memory, "Friday")

    @needs("persistent")
    def test_what_was_kept_in_memory_is_written_when_the_path_recovers(self) -> None:
        """In order, and before what comes next."""
        folder = self._blocked()
        memory = self.new(folder=folder)
        for number in range(4):
            self.tell(memory, f"my code is {number}")
        folder.unlink()
        self.tell(memory, "my code is 4")

        other = self.child(folder=folder)
        for number in range(5):
            self._remembers(other, f"my code is {number}", query=f"code {number}")
        if self.keeps_history:
            codes = [m.content for m in other.get_history("s") if m.content.startswith("my code")]
            assert codes == [f"my code is {number}" for number in range(5)]

    @needs("persistent", "plugin")
    def test_trouble_is_logged_once_with_plugin_and_path(self) -> None:
        """Not on every turn, and so that one knows where to look."""
        folder = self._blocked()
        memory = self.new(folder=folder)
        for number in range(6):
            self.tell(memory, f"my code is {number}")
            self.context(memory, "what is my code")

        lines = self.logs.lines(logging.WARNING)
        assert any(str(folder) in line for line in lines), lines
        assert all("ovos-memory-plugin-" in line or self.plugin in line for line in lines), lines
        repeated = sorted({line for line in lines if lines.count(line) > 1})
        assert not repeated, repeated

    @needs("persistent", "reports_health")
    def test_health_counts_what_failed(self) -> None:
        """For a doctor who comes later."""
        healthy = self.new()
        self.tell(healthy, "my code is 4512")
        assert _failures(healthy.health()) == 0
        memory = self.new(folder=self._blocked())
        self.tell(memory, "my code is 4512")
        self.context(memory, "what is my code")

        assert _failures(memory.health()) > 0

    # ------------------------------------------------------------------ damage
    @needs("persistent", "takes_over_damage")
    @pytest.mark.parametrize("damage", DAMAGES)
    def test_a_damaged_file_does_not_stop_a_persona(self, damage: str) -> None:
        """It is set aside, a new one is begun, and that one works."""
        folder, spoilt = self._spoilt(damage)
        memory = self.new(folder=folder)
        self.tell(memory, "the bin day is Friday")
        self._remembers(memory, "Friday")
        memory.close()

        again = self.new(folder=folder)
        self._remembers(again, "Friday")
        if damage in _RECOGNISABLE:
            kept = [p.read_bytes() for p in folder.rglob("*") if p.is_file()]
            assert spoilt in kept, "the damaged file was thrown away"
            assert self.logs.lines(logging.WARNING), "nobody was told"

    @needs("persistent")
    def test_a_folder_in_place_of_the_file_does_not_stop_a_persona(self) -> None:
        """An odd mount, a container volume that did not exist."""
        folder = self.folder / "odd"
        for name in self._layout():
            (folder / name).mkdir(parents=True)
        memory = self.new(folder=folder)
        self.tell(memory, "the bin day is Friday")

        self._remembers(memory, "Friday")

    @needs("persistent")
    def test_a_store_that_vanishes_while_in_use_does_not_stop_a_persona(self) -> None:
        """Somebody cleaned up; the turns after that are kept again."""
        memory = self.new()
        self.tell(memory, "my code is 4512")
        for path in self.folder.rglob("*"):
            if path.is_file():
                path.unlink()
        for number in range(3):
            self.tell(memory, f"the bin day number {number} is Friday")

        self._remembers(memory, "Friday", query="bin day Friday")
        self.context(memory, "what is my code")

    # ------------------------------------------------------------------ locks
    @needs("persistent", "path_key", "store_format=sqlite")
    def test_a_lock_of_another_process_delays_a_turn_little_and_loses_nothing(self) -> None:
        """A write waits about a second at most, is kept, and is there after the release, in order."""
        memory = self.new()
        self.tell(memory, "tea 0")
        (path,) = [self.folder / name for name in self._layout()]
        with _held(path):
            start = time.monotonic()
            self.tell(memory, "tea 1")
            written_s = time.monotonic() - start
            self._remembers(memory, "tea 1", query="tea 1")
            start = time.monotonic()
            memory.build_conversation_context("tea", "s")
            read_s = time.monotonic() - start
            self.tell(memory, "tea 2")
        self.tell(memory, "tea 3")

        assert written_s < 2.5, f"a write waited {written_s:.1f} s for the lock"
        assert read_s < 1.5, f"a context waited {read_s:.1f} s for the lock"
        said = texts(self.child().get_history("s")) if self.keeps_history else ""
        assert [line for line in said.splitlines() if "tea" in line] == [f"tea {n}" for n in range(4)]

    @needs("persistent", "path_key", "store_format=sqlite")
    def test_a_lock_at_the_start_does_not_stop_a_persona(self) -> None:
        """Two programs begin at the same moment."""
        first = self.new()
        self.tell(first, "tea 0")
        (path,) = [self.folder / name for name in self._layout()]
        other = self.child()
        with _held(path):
            other.update_history(pair("tea 1", "noted"))
        other.update_history(pair("tea 2", "noted"))
        other.end()

        for number in range(3):
            self._remembers(first, f"tea {number}", query=f"tea {number}")

    # ------------------------------------------------------------------ full disks
    @needs("persistent")
    def test_a_full_disk_loses_nothing(self) -> None:
        """Old data stay readable, the turn is remembered, and it is on disk once there is room again."""
        child = self.child()
        child.update_history(pair("tea one", "noted"))
        child.ask("limit", size=2_000)
        child.update_history(pair("tea two " + "x" * 5_000, "noted"))
        child.build_conversation_context("tea")
        self._remembers(child, "tea two", query="tea two")
        child.ask("limit", size=None)
        child.update_history(pair("tea three", "noted"))
        child.end()

        memory = self.new()
        for number in ("one", "two", "three"):
            self._remembers(memory, f"tea {number}", query=f"tea {number}")
        memory.close()
        strays = {p.name for p in self.folder.rglob("*") if p.is_file()} - self._names()
        assert not strays, f"left behind: {strays}"

    # ------------------------------------------------------------------ scenes
    def _remembers(self, memory: Any, text: str, *, query: str | None = None) -> None:
        """Assert that a text is in the history or is recalled."""
        seen = texts(memory.get_history("s")) if self.keeps_history else ""
        if self.retrieves:
            hits = memory.search(query or text, "s", 50)
            found = "\n".join(hit[0] if isinstance(hit, tuple) else hit.content for hit in hits)
            assert text in found, f"{text!r} is not recalled"
        if self.keeps_history:
            assert text in seen, f"{text!r} is not in the history"

    def _blocked(self) -> Path:
        """Return a folder that cannot be made, because a file has its name."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        blocked = self.folder / "blocked"
        blocked.write_text("not a folder")
        return blocked

    def _layout(self) -> list[Path]:
        """Return the files a memory of this configuration keeps, below its folder."""
        return list(self._healthy())

    def _names(self) -> set[str]:
        """Return the names of files that may be there, SQLite's companions included."""
        names = {path.name for path in self._healthy()}
        return names | {f"{name}{ending}" for name in names for ending in ("-wal", "-shm", ".lock")}

    def _healthy(self) -> Mapping[Path, bytes]:
        """Return what a healthy memory that was closed leaves in its folder."""
        folder = self.folder.parent / "healthy"
        if not folder.exists():
            memory = self.new(folder=folder)
            for number in range(40):
                self.tell(memory, f"my code is {number} " + "x" * 200)
            memory.close()
        found = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        companions = ("-wal", "-shm", "-journal", ".lock")
        return {p: content for p, content in found.items() if not p.name.endswith(companions)}

    def _spoilt(self, damage: str) -> tuple[Path, bytes]:
        """Return a folder whose files are damaged, and the content of one of them."""
        folder, content = self.folder / "spoilt", b""
        for name, healthy in self._healthy().items():
            content = DAMAGES[damage](healthy)
            (folder / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / name).write_bytes(content)
        self.logs.clear()
        return folder, content


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the write lock of an SQLite file in another process."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _HOLD, os.fspath(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == b"held\n"
        yield
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def _failures(value: Any) -> int:
    """Return the sum of all counters named ``failures``, however deep."""
    if isinstance(value, Mapping):
        own = value.get("failures", 0)
        return (own if isinstance(own, int) else 0) + sum(_failures(part) for part in value.values())
    return 0
