"""Two sides in processes of their own, asked in turns, so that both see the same machine at the same time."""

from __future__ import annotations

import gc
import hashlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus import Corpus

HERE = Path(__file__).resolve().parent
LEXICAL = "ovos-memory-plugin-lexical"
BATCH = 10
"""Calls of one side before it is the other's turn."""


class WorkerFailed(RuntimeError):
    """A side could not do what it was told."""


class Worker:
    """A process of one side.

    Args:
        python: Interpreter of the side's environment.
        home: Folder for its configuration and data.
    """

    def __init__(self, python: str, home: Path) -> None:
        names = ("CONFIG", "DATA", "STATE", "CACHE")
        own = {f"XDG_{name}_HOME": str(home / name.lower()) for name in names}
        self._process = subprocess.Popen(
            [python, str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={**os.environ, **own, "HOME": str(home), "OVOS_DEFAULT_LOG_LEVEL": "ERROR"},
        )

    def __call__(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Let it do something and return its answer.

        Raises:
            WorkerFailed: It could not.
        """
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            raise WorkerFailed(f"{do}: {answer['error']}")
        return answer

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@dataclass(frozen=True)
class Row:
    """A figure beside its target.

    Attributes:
        name: The work.
        target: What is to be reached, in words.
        ours: Our figure.
        theirs: The figure it is compared with; ``None`` when the target is a number of its own.
        unit: Of both.
        value: What the target is about: their ratio, or our figure.
        bound: ``value`` may be at most this; at least, when ``is_least``.
        is_least: See ``bound``.
    """

    name: str
    target: str
    ours: float
    theirs: float | None
    unit: str
    value: float
    bound: float
    is_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the target is reached."""
        return self.value >= self.bound if self.is_least else self.value <= self.bound


def ratio(name: str, ours: float, theirs: float, bound: float, *, target: str = "", unit: str = "ms") -> Row:
    """Return a row about ours : theirs."""
    return Row(name, target or f"<= {bound:.4g} x", ours, theirs, unit, ours / theirs, bound)


def limit(name: str, ours: float, bound: float, unit: str, beside: float | None = None) -> Row:
    """Return a row about our figure alone; ``beside`` tells what the machine itself needs."""
    return Row(name, f"<= {bound:g} {unit}", ours, beside, unit, ours, bound)


@dataclass
class Bench:
    """What a run works with.

    Attributes:
        sizes: Of the lexical stores, ascending.
        corpus: Where the text comes from.
        theirs: Interpreter of the other package's environment; ``None``: only ours is measured.
        work: Folder for what lasts as long as the run; on a disk, for durability is measured.
        stores: Folder of filled stores, which later runs may use.
        scale: 1 for the figures that count; a test divides every count by more.
        largest_of_theirs: Beyond this size only ours is measured: the other side takes a second per question.
        model: A GGUF embeddings model, for those that need one.
        notes: Figures that no target is about, for whoever reads the table.
        curves: Drawn at the end: title to side to (size, milliseconds).
    """

    sizes: Sequence[int]
    corpus: Corpus
    theirs: str | None
    work: Path
    stores: Path
    scale: int = 1
    largest_of_theirs: int = 100_000
    model: str | None = None
    notes: list[str] = field(default_factory=list)
    curves: dict[str, dict[str, list[tuple[float, float]]]] = field(default_factory=dict)

    def scaled(self, count: int, least: int = 10) -> int:
        """Return a count as large as this run affords."""
        return max(least, count // self.scale)

    @property
    def sides(self) -> dict[str, str]:
        """The interpreters of the sides by name."""
        return {"ours": sys.executable} | ({"theirs": self.theirs} if self.theirs else {})

    @property
    def fast_folder(self) -> str | None:
        """A folder in memory where there is one: filling need not wait for a disk."""
        shared = Path("/dev/shm")
        if shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 4e9:
            return str(shared)
        return None

    @contextmanager
    def worker(self, side: str) -> Iterator[Worker]:
        """Have a process of a side."""
        home = Path(tempfile.mkdtemp(dir=self.work))
        worker = Worker(self.sides[side], home)
        try:
            yield worker
        finally:
            worker.end()
            shutil.rmtree(home, ignore_errors=True)

    def lexical_store(self, side: str, size: int, sessions: int) -> Path:
        """Return a lexical store of that size, filled through the plugin's own interface unless it is there."""
        source = f"{self.corpus.path}/{self.corpus.seed}".encode()
        name = f"{side}-{size}-in-{sessions}-{hashlib.sha256(source).hexdigest()[:8]}"
        folder = self.stores / name
        if folder.exists():
            return folder / "lexical.db"
        print(f"  filling a store of {size} exchanges ({side})", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=self.fast_folder, prefix="bench-") as fast:
            with self.worker(side) as worker:
                config = {"db_path": f"{fast}/lexical.db", "max_history": 10}
                worker("load", name="m", plugin=LEXICAL, config=config)
                told = {"path": self.corpus.path, "seed": self.corpus.seed}
                worker("fill", name="m", corpus=told, first=0, count=size, sessions=sessions)
                worker("close", name="m")
            self.stores.mkdir(parents=True, exist_ok=True)
            shutil.copytree(fast, f"{folder}.part")
            Path(f"{folder}.part").rename(folder)
        return folder / "lexical.db"


def in_turns(calls: dict[str, Callable[[list[Any]], dict[str, Any]]], things: list[Any]) -> dict[str, dict]:
    """Hand each side the same things, a batch at a time in turns; return all times by side.

    Args:
        calls: By side: does a batch, returns lists of figures by name.
        things: What is done; the first batch warms up and does not count.
    """
    figures: dict[str, dict[str, list[float]]] = {side: {} for side in calls}
    for start in range(0, len(things), BATCH):
        for side, call in calls.items():
            for name, values in call(things[start : start + BATCH]).items():
                if start or len(things) <= BATCH:
                    figures[side].setdefault(name, []).extend(values)
    return figures


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that so great a share (0..1] of all does not exceed: the nearest rank."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def side_by_side(*functions: Callable[[int], object], rounds: int) -> list[float]:
    """Return each function's median milliseconds, called in turns; the first few do not count."""
    times: list[list[float]] = [[] for _ in functions]
    gc.disable()
    for number in range(rounds):
        for function, into in zip(functions, times, strict=True):
            start = time.perf_counter()
            function(number)
            into.append((time.perf_counter() - start) * 1e3)
    gc.enable()
    return [median(into[min(5, rounds // 2) :]) for into in times]
