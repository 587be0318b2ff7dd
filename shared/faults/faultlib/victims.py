"""Processes that are killed: forked from a server that has imported everything, so that hundreds are cheap."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Step = Callable[[int], None]
"""What a victim calls when something was accepted: its number."""
_PACKED = struct.Struct("<q")
_LINES = -1
"""In place of an accepted number: how many lines ran comes next."""


@dataclass(frozen=True)
class Death:
    """When a process is killed.

    Attributes:
        after_s: Seconds after it began, from outside; ``None``: not so.
        at_line: At the n-th line of our code that it runs, from within; ``None``: not so.
    """

    after_s: float | None = None
    at_line: int | None = None


NEVER = Death()


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        accepted: The numbers it reported, in order.
        is_killed: Whether it was killed before it was done.
        lines: How many lines of our code it ran, when it was not killed and lines were counted.
        seconds: How long it took.
    """

    accepted: list[int]
    is_killed: bool
    lines: int
    seconds: float


def run(work: Callable[..., None], *arguments: Any, death: Death = NEVER, timeout_s: float = 60.0) -> Ended:
    """Run ``work(step, *arguments)`` in a process of its own, and kill it when it is time.

    Raises:
        AssertionError: It raised, or did not end.
    """
    context = _server()
    reader, writer = os.pipe()
    try:
        with _handed(writer) as passed:
            process = context.Process(target=_live, args=(passed, death, work, arguments))
            began = time.monotonic()
            process.start()
        os.close(writer)
        writer = -1
        killer = _killer(process, reader, death)
        process.join(timeout_s)
        seconds = time.monotonic() - began
        is_stuck = process.is_alive()
        if is_stuck:
            process.kill()
            process.join()
        if killer is not None:
            killer.cancel()
        reports = list(_reports(reader))
    finally:
        os.close(reader)
        if writer != -1:
            os.close(writer)
    assert not is_stuck, f"a process did not end in {timeout_s:g} s"
    code = process.exitcode
    assert code in (0, -signal.SIGKILL), f"a process ended with {code}"
    lines = reports[reports.index(_LINES) + 1] if _LINES in reports else 0
    accepted = reports[: reports.index(_LINES)] if _LINES in reports else reports
    return Ended(accepted, code != 0, lines, seconds)


def _server() -> Any:
    context = multiprocessing.get_context("forkserver")
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if FOLDER not in known:  # the server is a fresh interpreter
        os.environ["PYTHONPATH"] = os.pathsep.join([FOLDER, *filter(None, known)])
    context.set_forkserver_preload(["faultlib.works"])
    return context


class _handed:
    """A pipe's end on its way to a process that is no child of ours."""

    def __init__(self, descriptor: int) -> None:
        from multiprocessing.connection import Connection

        self._connection = Connection(os.dup(descriptor), readable=False)

    def __enter__(self) -> Any:
        return self._connection

    def __exit__(self, *reason: object) -> None:
        self._connection.close()


def _killer(process: Any, reader: int, death: Death) -> threading.Timer | None:
    if death.after_s is None:
        return None
    first = os.read(reader, _PACKED.size)  # it is at work
    assert not first or _PACKED.unpack(first)[0] == 0
    timer = threading.Timer(death.after_s, process.kill)
    timer.start()
    return timer


def _reports(reader: int) -> Iterator[int]:
    with os.fdopen(os.dup(reader), "rb") as stream:
        while len(piece := stream.read(_PACKED.size)) == _PACKED.size:
            (number,) = _PACKED.unpack(piece)
            yield number


def _live(connection: Any, death: Death, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    pipe = connection.fileno()

    def step(number: int) -> None:
        os.write(pipe, _PACKED.pack(number))

    if death.after_s is not None:
        step(0)
    lines = _Lines(death.at_line)
    if death.at_line is not None:
        lines.count()
    work(step, *arguments)
    if death.at_line is not None:
        sys.settrace(None)
        step(_LINES)
        step(lines.seen)


class _Lines:
    """Counts lines of our code, in all threads, and kills the process at one of them."""

    def __init__(self, last: int | None) -> None:
        self.seen = 0
        self._last = last
        self._lock = threading.Lock()

    def count(self) -> None:
        """Begin."""
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if "/ovos_memory/" in frame.f_code.co_filename else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            with self._lock:
                self.seen += 1
                if self.seen == self._last:
                    os.kill(os.getpid(), signal.SIGKILL)
        return self._line


@contextlib.contextmanager
def beside(work: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Run ``work(step, *arguments)`` in a process of its own meanwhile, from its first step on; then kill it."""
    context = _server()
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_stay, args=(writer, work, arguments))
    process.start()
    try:
        assert reader.poll(30) and reader.recv() is not None
        yield
    finally:
        process.kill()
        process.join()


def _stay(writer: Any, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    work(writer.send, *arguments)
