"""``kill -9`` at random points: of writing, indexing, the queue, forgetting, the take-over of version 1's files.

Half of the processes are killed from outside after a random time, which hits SQLite and the disk; half at a random
line of our own code, in whatever thread, which hits everything else.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faultlib.account import Account
from faultlib.kinds import PERSISTENT, numbers, opened
from faultlib.victims import Death, run
from faultlib.works import EXCHANGES, write

from ovos_memory.testing.messages import pair

pytestmark = pytest.mark.faults
ROUNDS = 14


def deaths(dice: random.Random, count: int, work: Callable[..., None], *arguments: Any) -> list[Death]:
    """Return when to kill, after seeing how long the work takes when nobody does.

    ``arguments`` end with a folder that is used up by this.
    """
    whole = run(work, *arguments, death=Death(at_line=-1))
    assert not whole.is_killed and whole.lines > 0
    timed = run(work, *arguments)
    return [
        Death(after_s=dice.uniform(0, timed.seconds))
        if number % 2
        else Death(at_line=dice.randint(1, whole.lines))
        for number in range(count)
    ]


def check(account: Account, kind: str, folder: Path, accepted: list[int], *, what: str, new: int) -> None:
    """Every accepted exchange is there once and in order, the files are sound, and a new one is taken."""
    with opened(kind, folder) as memory:
        for store, found in numbers(memory).items():
            account.kept(what, accepted, found, new=new, where=store)
            assert found == sorted(found)
        memory.update_history(pair("question 999999", "still here"), "s")
        assert all(found[-1] == 999_999 for found in numbers(memory).values())
        memory.forget(query="question 999999")
    sound(folder)


def sound(folder: Path) -> None:
    """Every file is what it was: whole SQLite, whole JSON, nothing half written or set aside."""
    for path in folder.rglob("*"):
        if path.suffix == ".db":
            with sqlite3.connect(path) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            connection.close()
        elif path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
        assert ".corrupt-" not in path.name, f"{path.name} was set aside"


@pytest.mark.parametrize("kind", PERSISTENT)
def test_what_was_accepted_survives_a_kill_while_writing(
    kind: str, account: Account, dice: random.Random, tmp_path: Path
) -> None:
    what, folder, accepted, first = "kill -9 while writing", tmp_path / "store", [], 0
    for death in deaths(dice, ROUNDS, write, kind, 0, str(tmp_path / "trial")):
        with account.fault(what):
            ended = run(write, kind, first, str(folder), death=death)
            accepted += ended.accepted
            first += EXCHANGES
            check(account, kind, folder, accepted, what=what, new=len(ended.accepted))
