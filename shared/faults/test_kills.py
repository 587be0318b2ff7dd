"""``kill -9`` at random points: of writing, indexing, the queue, forgetting, the take-over of version 1's files.

Half of the processes are killed from outside after a random time, which hits SQLite and the disk; half at a random
line of our own code, in whatever thread, which hits everything else.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from faultlib.account import Account
from faultlib.kinds import NUMBER, PERSISTENT, numbers, opened, wait_until
from faultlib.old_files import OLD_FILES
from faultlib.victims import Death, run
from faultlib.works import EXCHANGES, SECRET, forget, index, learn, named, take_over, with_model, write

from ovos_memory.testing.messages import pair

pytestmark = pytest.mark.faults
ROUNDS = 12


def deaths(
    dice: random.Random, count: int, work: Callable[..., None], *arguments: Any, trials: Sequence[str]
) -> list[Death]:
    """Return when to kill, after seeing how long the work takes when nobody does.

    Args:
        dice: Decides.
        count: How many.
        work: What is done, and with which ``arguments``, followed by a folder.
        trials: Two folders that are used up by this.
    """
    whole = run(work, *arguments, trials[0], death=Death(at_line=-1))
    assert not whole.is_killed and whole.lines > 0
    timed = run(work, *arguments, trials[1])
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
    for death in deaths(dice, ROUNDS, write, kind, 0, trials=[str(tmp_path / "a"), str(tmp_path / "b")]):
        with account.fault(what):
            ended = run(write, kind, first, str(folder), death=death)
            accepted += ended.accepted
            first += EXCHANGES
            check(account, kind, folder, accepted, what=what, new=len(ended.accepted))


def filled(kind: str, folder: Path) -> list[int]:
    """Leave a store with exchanges, every third of which names the secret; return the numbers of the others."""
    with opened(kind, folder) as memory:
        for number in range(15):
            told = f" and I am a {SECRET}" if number % 3 == 0 else ""
            memory.update_history(pair(f"question {number}{told}", f"answer {number}"), "s")
    return [number for number in range(15) if number % 3]


def copy_of(folder: Path, target: Path) -> Path:
    return Path(shutil.copytree(folder, target))


@pytest.mark.parametrize("kind", PERSISTENT)
def test_a_kill_while_forgetting_loses_nothing_else(
    kind: str, account: Account, dice: random.Random, tmp_path: Path
) -> None:
    what, model = "kill -9 while forgetting and vacuuming", tmp_path / "model"
    others = filled(kind, model)
    trial = [str(copy_of(model, tmp_path / f"trial{n}")) for n in range(2)]
    for round_, death in enumerate(deaths(dice, 5, forget, kind, trials=trial)):
        folder = copy_of(model, tmp_path / f"store{round_}")
        with account.fault(what):
            ended = run(forget, kind, str(folder), death=death)
            with opened(kind, folder) as memory:
                for store, found in numbers(memory).items():
                    account.kept(what, others, [n for n in found if n in others], where=store)
                    account.kept(
                        what, [n for n in ended.accepted if n == 1000], [n for n in found if n == 1000]
                    )
                    if 1 in ended.accepted:
                        assert not [n for n in found if n % 3 == 0 and n < 15], "forgotten, and back again"
                memory.forget(query=SECRET)  # which an interrupted call is repeated with
                assert not [r for r in memory.records() if SECRET in r.text]
            sound(folder)
            assert not [
                p.name for p in folder.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()
            ]


@pytest.mark.parametrize("kind", ["lexical", "local-rag", "local-rag-store"])
def test_a_kill_while_indexing_costs_nothing_but_time(
    kind: str, account: Account, dice: random.Random, tmp_path: Path
) -> None:
    what, model = "kill -9 while building an index", tmp_path / "model"
    filled(kind, model)
    trial = [str(copy_of(model, tmp_path / f"trial{n}")) for n in range(2)]
    for round_, death in enumerate(deaths(dice, 6, index, kind, trials=trial)):
        folder = copy_of(model, tmp_path / f"store{round_}")
        with account.fault(what):
            run(index, kind, str(folder), death=death)
            with opened(kind, folder) as memory:
                account.kept(what, list(range(15)), numbers(memory)[""])
                found = {int(NUMBER.search(hit.content)[1]) for hit in memory.search("question", "s", 50)}
                assert found == set(range(15)), "recalled"


@pytest.mark.parametrize("kind", ["entity-json", "entity-sqlite", "longterm-json", "longterm-sqlite"])
def test_a_kill_while_a_model_works_loses_no_pending_exchange(
    kind: str, account: Account, dice: random.Random, tmp_path: Path
) -> None:
    what, folder = "kill -9 while the queue is worked on", tmp_path / "store"
    accepted: list[int] = []
    first = 0
    for death in deaths(dice, 6, learn, kind, 0, trials=[str(tmp_path / "a"), str(tmp_path / "b")]):
        with account.fault(what):
            ended = run(learn, kind, first, str(folder), death=death)
            accepted += ended.accepted
            first += EXCHANGES
            memory = with_model(kind, folder, clock=an_hour_later)  # whoever was killed has a lease till then
            try:
                memory.workplace.worker.wake()
                assert wait_until(lambda memory=memory: is_idle(memory)), memory.health()
                account.kept(what, accepted, sorted(known_to(memory)), new=len(ended.accepted))
            finally:
                memory.close()
            sound(folder)


def an_hour_later() -> float:
    return time.time() + 3_600.0


def is_idle(memory: Any) -> bool:
    """Tell whether the worker has done what there is to do; fewer exchanges than a summary takes may wait."""
    return memory.workplace.worker.pending() <= (1 if memory.kind == "longterm" else 0)


def known_to(memory: Any) -> set[int]:
    """Return the numbers that are facts, in the summary, or still there as they were said."""
    made = [fact.text for fact in memory.facts("s")] if memory.kind == "entity" else [memory.summary("s")]
    waiting = [record.text for record in memory.records(session_id="s")]
    return {number for text in (*made, *waiting) for number in named(text)}


@pytest.mark.parametrize("name", OLD_FILES)
def test_a_kill_while_version_1s_file_is_taken_over_loses_nothing_of_it(
    name: str, account: Account, dice: random.Random, tmp_path: Path
) -> None:
    what, old = "kill -9 while taking over files of version 1", OLD_FILES[name]
    trial = []
    for number in range(2):
        old.leave(tmp_path / f"trial{number}")
        trial.append(str(tmp_path / f"trial{number}"))
    for round_, death in enumerate(deaths(dice, 6, take_over, old.kind, old.changes, trials=trial)):
        folder = tmp_path / f"store{round_}"
        old.leave(folder)
        with account.fault(what):
            ended = run(take_over, old.kind, old.changes, str(folder), death=death)
            with opened(old.kind, folder, old.changes) as memory:
                account.kept(what, old.told, old.read(memory))
                account.kept(what, ended.accepted, [n for n in numbers(memory)[""] if n == 1000])
            sound(folder)
