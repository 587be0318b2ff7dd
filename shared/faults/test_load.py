"""Traffic as ovos-persona-server makes it: many users, short turns, for long; nothing grows and nothing slows down."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import random
import statistics
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from faultlib.account import Account
from faultlib.kinds import make, numbers, wait_until

from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import OvosMemoryError
from ovos_memory.testing.checks import check_context
from ovos_memory.testing.messages import pair

THREADS, SESSIONS = 16, 1_000
WINDOW = {"max_history": 10}
"""What a persona keeps: of an unbounded window each turn would be slower than the one before."""
KINDS_UNDER_LOAD = ["lexical", "local-rag", "recency-sqlite", "entity-sqlite", "longterm-sqlite", "composite"]
MAX_WAL_BYTES = 16_000_000
SLOWER, FATTER_BYTES = 1.6, 40_000_000
"""Cost of a turn at the end against that of a memory just opened on the same store, which is as large; memory that may
still be gained after the first quarter."""
POOL, MEMBERS = "ovos-memory-member", 5
"""Threads of the process that serve every composite, and end by themselves when idle: never more than there were calls
at the same time, one for each member of the composite that is tested."""


class Traffic:
    """Turns of many users on one memory, timed.

    Args:
        memory: Who is asked.
        seed: For who speaks when.
    """

    def __init__(self, memory: Any, seed: int) -> None:
        self.memory = memory
        self._dice = random.Random(seed)
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._next: dict[str, int] = {}
        self.accepted: dict[str, list[int]] = {}
        self.turns: list[float] = []
        self.errors: list[BaseException] = []

    def run(self, until: float) -> None:
        """Talk on many threads until ``time.monotonic()`` is that late."""
        threads = [threading.Thread(target=self._talk, args=(until,), daemon=True) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()) + 60.0)
        assert not any(thread.is_alive() for thread in threads), "a turn hangs"
        if self.errors:
            raise self.errors[0]

    def _talk(self, until: float) -> None:
        try:
            while time.monotonic() < until and not self.errors:
                self._turn()
        except BaseException as error:
            self.errors.append(error)

    def _turn(self) -> None:
        session, number = self._enter()
        began = time.perf_counter()
        utterance = f"question {number} of {session}: tea in house {number % 97}"
        context = self.memory.build_conversation_context(utterance, session)
        self.memory.update_history(pair(utterance, f"answer {number}"), session)
        took = time.perf_counter() - began
        if number % 50 == 0:
            check_context(context, utterance)
        with self._lock:
            self._busy.discard(session)
            self.accepted.setdefault(session, []).append(number)
            self.turns.append(took)
        time.sleep(0.002)

    def cost_s(self) -> float:
        """Return the median processor time of a turn, nobody else talking: other work on the machine is no part of it."""
        costs = []
        for _ in range(60):
            began = time.process_time()
            self._turn()
            costs.append(time.process_time() - began)
        return statistics.median(costs)

    def _enter(self) -> tuple[str, int]:
        """Choose a user who is not speaking already, as a server does."""
        with self._lock:
            while True:
                name = f"Rosie::user{self._dice.randrange(SESSIONS)}@example"
                if name not in self._busy:
                    break
            self._busy.add(name)
            number = self._next[name] = self._next.get(name, -1) + 1
            return name, number


def resident_bytes() -> int:
    """Return what the process has in memory, without what its allocator only keeps for later."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def own_threads() -> int:
    return sum(thread.name != POOL for thread in threading.enumerate())


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@contextlib.contextmanager
def no_fault_of_ours() -> Iterator[None]:
    """Whatever fails, fails with an error that says why; any other one is a fault in the code, swallowed or not."""
    faults: list[str] = []
    failed = Boundary.failed

    def noted(self: Boundary, operation: str, error: BaseException, **more: Any) -> None:
        if not isinstance(error, OvosMemoryError):
            faults.append("".join(traceback.format_exception(error)))
        failed(self, operation, error, **more)

    with mock.patch.object(Boundary, "failed", noted):
        yield
    assert not faults, faults[0]


def soak(kind: str, folder: Path, seconds: float, seed: int) -> tuple[Traffic, dict[str, float]]:
    """Run traffic for a while and return what grew."""
    before = {"threads": threading.active_count(), "files": open_files()}
    settings = {} if kind.startswith(("entity", "longterm", "composite")) else WINDOW
    memory = make(kind, folder, settings)
    traffic = Traffic(memory, seed)
    began = time.monotonic()
    with no_fault_of_ours():
        traffic.run(began + seconds / 4)
        first_bytes, threads = resident_bytes(), own_threads()
        traffic.run(began + seconds)
    grown = {"bytes": float(resident_bytes() - first_bytes), "wal": 0.0}
    grown["threads"] = float(own_threads() - threads)
    grown["pool"] = float(threading.active_count() - own_threads())
    for log in folder.rglob("*-wal"):
        grown["wal"] = max(grown["wal"], float(log.stat().st_size))
    grown["turns"], grown["median_ms"] = float(len(traffic.turns)), 1_000 * statistics.median(traffic.turns)
    used = traffic.cost_s()
    memory.close()
    traffic.memory = fresh = make(kind, folder, settings)
    traffic.cost_s()  # it fills its caches
    grown["slower"] = used / traffic.cost_s()
    fresh.close()
    gc.collect()
    names = [thread.name for thread in threading.enumerate() if thread.name != POOL]
    assert wait_until(lambda: own_threads() <= before["threads"] + 3, timeout_s=10), names
    grown["files"] = float(open_files() - before["files"])
    return traffic, grown


def judge(account: Account, kind: str, traffic: Traffic, grown: dict[str, float], what: str) -> None:
    """Nothing is lost, nothing grew."""
    print(f"{kind}: " + ", ".join(f"{name} {value:,.2f}" for name, value in grown.items()))
    account.line(what).injected += 1
    for session, accepted in traffic.accepted.items():
        for store, found in numbers(traffic.memory, session).items():
            # Windows of recency keep the last messages only; all others keep everything.
            kept = accepted[-len(found) :] if "recency" in (store or kind) and found else accepted
            account.kept(what, kept, found, where=f"{kind} {store} {session}")
    assert grown["wal"] < MAX_WAL_BYTES, grown
    assert grown["bytes"] < FATTER_BYTES, grown
    assert grown["slower"] < SLOWER, grown
    assert grown["files"] <= 12 and grown["threads"] <= THREADS, grown
    assert grown["pool"] <= THREADS * MEMBERS, grown
    account.line(what).survived += 1


@pytest.mark.faults
@pytest.mark.parametrize("kind", KINDS_UNDER_LOAD)
def test_load_of_many_users_loses_nothing_and_leaks_nothing(
    kind: str, account: Account, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    traffic, grown = soak(kind, tmp_path, 8.0, request.config.option.seed)
    judge(account, kind, traffic, grown, "16 threads, 1 000 sessions: seconds")


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS_UNDER_LOAD)
def test_thirty_minutes_of_load_lose_nothing_and_leak_nothing(
    kind: str, account: Account, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    seconds = 60.0 * request.config.option.minutes / len(KINDS_UNDER_LOAD)
    traffic, grown = soak(kind, tmp_path, seconds, request.config.option.seed)
    judge(account, kind, traffic, grown, "16 threads, 1 000 sessions: soak")
