"""Files that another process keeps for itself: for three seconds, for half a minute, for ever."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from faultlib.account import Account
from faultlib.kinds import PERSISTENT, make, numbers, opened, wait_until
from faultlib.victims import beside
from faultlib.works import hold

from ovos_memory.testing.messages import pair

WRITE_S, CONTEXT_S = 3.5, 3.5
"""Each store waits a second for a lock, once in a while; the composite's members side by side; the rest is the
machine's."""
CLOSE_S = 8.0


def locks(folder: Path) -> list[str]:
    """Return what to hold, so that no store of a folder can be written."""
    return [str(p) for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix in (".db", ".lock")]


def timed(limit_s: float, function: Any, *arguments: Any) -> Any:
    began = time.monotonic()
    result = function(*arguments)
    took = time.monotonic() - began
    assert took < limit_s, f"{function.__name__} took {took:.1f} s"
    return result


def attack(account: Account, folder: Path, kinds: list[str], seconds: float, what: str) -> None:
    """Hold the files of many kinds at once, talk meanwhile, and look for all of it afterwards."""
    memories = {kind: make(kind, folder / kind) for kind in kinds}
    for memory in memories.values():
        memory.update_history(pair("question 0", "answer"), "s")
        numbers(memory)
    ends_at = time.monotonic() + seconds
    with beside(hold, locks(folder), seconds + 60):
        for kind, memory in memories.items():
            for number in (1, 2, 3):
                timed(WRITE_S, memory.update_history, pair(f"question {number}", "answer"), "s")
            context = timed(CONTEXT_S, memory.build_conversation_context, "question", "s")
            assert context[-1].content.endswith("question"), kind
        time.sleep(max(0.0, ends_at - time.monotonic()))
    for kind, memory in memories.items():
        with account.fault(what):
            memory.update_history(pair("question 4", "answer"), "s")
            assert wait_until(lambda memory=memory: not held_by(memory)), (
                f"{kind} still holds what it could write"
            )
            memory.close()
            with opened(kind, folder / kind) as again:
                for store, found in numbers(again).items():
                    account.kept(what, list(range(5)), found, where=f"{kind} {store}")


def held_by(memory: Any) -> int:
    """Return how many exchanges wait in memory."""
    told = memory.health()
    members = [member["health"] for member in told.get("members", {}).values()]
    return sum(part.get("held", 0) for part in (told, *members))


@pytest.mark.faults
def test_a_lock_of_three_seconds_loses_nothing(account: Account, tmp_path: Path) -> None:
    attack(account, tmp_path, PERSISTENT, 3.0, "a lock of 3 s")


@pytest.mark.soak
def test_a_lock_of_half_a_minute_loses_nothing(account: Account, tmp_path: Path) -> None:
    attack(account, tmp_path, PERSISTENT, 30.0, "a lock of 30 s")


@pytest.mark.faults
@pytest.mark.parametrize("kind", PERSISTENT)
def test_a_lock_for_ever_stops_no_conversation(kind: str, account: Account, tmp_path: Path) -> None:
    """Nothing can be written; the conversation goes on, somebody can see it, and the memory lets itself be closed."""
    what = "a lock for ever"
    with opened(kind, tmp_path) as memory:
        memory.update_history(pair("question 0", "answer"), "s")
    memory = make(kind, tmp_path)
    with account.fault(what), beside(hold, locks(tmp_path), 600.0):
        for number in (1, 2):
            timed(WRITE_S, memory.update_history, pair(f"question {number}", "answer"), "s")
        context = timed(CONTEXT_S, memory.build_conversation_context, "question", "s")
        assert context[-1].content.endswith("question")
        timed(CONTEXT_S, memory.get_history, "s")
        assert held_by(memory) > 0, "health tells nothing"
        timed(CLOSE_S, memory.close)
    assert wait_until(lambda: not held_by(memory))
    memory.close()
    with opened(kind, tmp_path) as again:
        for store, found in numbers(again).items():
            account.kept(what, [0, 1, 2], found, where=store)
