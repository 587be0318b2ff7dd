"""What a call takes by itself, told apart from what other programs do to the machine meanwhile."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_RAM_DISK = Path("/dev/shm")


def own_s(call: Callable[[], object]) -> float:
    """Make a call and return the seconds that it took, whatever it waited for, other programs excepted.

    The time in which the calling thread could have run, but other programs had the processors, is left out
    where the system tells it (Linux). Waiting for a lock, a socket, a disk or another thread counts.
    """
    kept_out, started = _kept_out_s(), time.perf_counter()
    call()
    taken = time.perf_counter() - started
    return max(0.0, taken - (_kept_out_s() - kept_out))


def times_as_long(call: Callable[[int], object], beside: Callable[[int], object], rounds: int) -> float:
    """Return how many times as long a call takes as another one: the ratio of their medians.

    They are made in turns, so whatever else the machine does meanwhile slows both.

    Args:
        call: Given the number of the round, counting up from 0.
        beside: The same, of the other.
        rounds: How often each is made; at least one.
    """
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for samples, each in zip(taken, (call, beside), strict=True):
            samples.append(own_s(lambda: each(number)))  # noqa: B023
    return statistics.median(taken[0]) / statistics.median(taken[1])


def p99(samples: Sequence[float]) -> float:
    """Return the value that 99 of 100 samples do not exceed; needs two samples."""
    return statistics.quantiles(samples, n=100)[98]


@contextmanager
def folder_in_ram(otherwise: Path) -> Iterator[Path]:
    """Lend an empty folder that no disk slows down, where the system has such a place; else ``otherwise``."""
    if not os.access(_RAM_DISK, os.W_OK | os.X_OK):
        yield otherwise
        return
    with tempfile.TemporaryDirectory(dir=_RAM_DISK, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _kept_out_s() -> float:
    """Return for how long this thread has waited for a processor since it began, as the system counts it."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as counters:
            return int(counters.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
