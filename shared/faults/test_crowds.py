"""Several processes on every kind of store at once: each accepted exchange is there once, in order."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from faultlib.account import Account
from faultlib.kinds import PERSISTENT, numbers, opened
from faultlib.victims import Ended, run
from faultlib.works import talk

pytestmark = pytest.mark.faults
SESSIONS = 4
TURNS = {"recency-json": 80, "composite": 60}


@pytest.mark.parametrize("kind", PERSISTENT)
def test_three_processes_lose_nothing(kind: str, account: Account, tmp_path: Path) -> None:
    what, turns = "three processes on one store", TURNS.get(kind, 150)
    ended: dict[int, Ended] = {}

    def work(first: int) -> None:
        ended[first] = run(talk, kind, first, turns, SESSIONS, str(tmp_path))

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 10_000, 20_000)]
    with account.fault(what, len(threads)):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with opened(kind, tmp_path) as memory:
            for session in range(SESSIONS):
                for store, found in numbers(memory, f"s{session}").items():
                    for first in sorted(ended):
                        accepted = [n for n in ended[first].accepted if n % SESSIONS == session]
                        own = [n for n in found if first <= n < first + 10_000]
                        account.kept(what, accepted, own, where=f"{store} s{session}")
                        assert len(accepted) >= turns // SESSIONS
                    assert len(found) == len(set(found))
