"""What the victims are doing when they are killed; ``step`` tells that something was accepted or is complete."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import resource
import signal
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faultlib.kinds import KINDS, make, numbers, opened
from faultlib.victims import Step
from ovos_memory.core.llm.reply import Reply
from ovos_memory.testing.messages import pair

EXCHANGES = 12
SECRET = "xylophonist"
NOBODY = 65_534


def write(step: Step, kind: str, first: int, folder: str) -> None:
    """Record numbered exchanges."""
    memory = make(kind, folder)
    for number in range(first, first + EXCHANGES):
        memory.update_history(pair(f"question {number}", f"answer {number}"), "s")
        step(number)


def forget(step: Step, kind: str, folder: str) -> None:
    """Forget what names the secret, which vacuums, and record in between."""
    memory = make(kind, folder)
    memory.forget(query=SECRET)
    step(1)
    memory.update_history(pair("question 1000", "answer"), "s")
    step(1000)


def index(step: Step, kind: str, folder: str) -> None:
    """Build everything that is derived anew."""
    make(kind, folder).reindex()
    step(1)


def take_over(step: Step, kind: str, changes: Mapping[str, Any], folder: str) -> None:
    """Open what version 1 left, and record into it."""
    memory = make(kind, folder, changes)
    memory.get_history("s")
    memory.update_history(pair("question 1000", "answer"), "s")
    step(1000)


def word(number: int) -> str:
    """Return an invented word for a number, unlike the others: facts that are nearly the same replace each other."""
    dice = random.Random(number)
    return "".join(dice.choice(letters) for letters in ("bcdfghklmnprstvwz", "aeiou") * 4)


WORDS = {word(number): number for number in range(2_000)}


def named(text: str) -> list[int]:
    """Return the numbers whose invented words a text names, in order."""
    return [WORDS[found] for found in re.findall(r"[a-z]{8}", text) if found in WORDS]


class ReadyModel:
    """A language model that answers at once, and says what it was told: facts for facts, a summary else."""

    def ask(self, prompt: str, **options: Any) -> Reply:
        """Return what the user likes as facts, or all that was liked as a summary."""
        words = [word(number) for number in dict.fromkeys(named(prompt))]
        if options.get("schema") is not None:
            return Reply(json.dumps([f"Likes {each}" for each in words]))
        return Reply(f"The user likes {', '.join(words)}.")

    def ready_in_s(self) -> float:
        """Return that it is."""
        return 0.0

    def health(self) -> dict[str, Any]:
        """Return nothing of note."""
        return {}


def with_model(kind: str, folder: str | Path, **seams: Any) -> Any:
    """Return a memory whose model answers at once, and summarises often."""
    changes = {"summarize_every": 2, "recent_window": 1} if kind.startswith("longterm") else {}
    return make(kind, folder, changes, chat=ReadyModel(), **seams)


def learn(step: Step, kind: str, first: int, folder: str) -> None:
    """Record while the model's worker is busy with what was recorded."""
    memory = with_model(kind, folder)
    for number in range(first, first + EXCHANGES):
        memory.update_history(pair(f"question {number}: I like {word(number)}", "noted"), "s")
        step(number)
    memory.workplace.worker.drain(20)


# ---------------------------------------------------------------------- disks
def fill_disk(step: Step, kind: str, limit: int, folder: str) -> None:
    """Record while no file may grow beyond a size, then have room again; end without closing."""
    memory = make(kind, folder)

    def tell(numbers_: range, padding: int) -> None:
        for number in numbers_:
            memory.update_history(pair(f"question {number}", "x" * padding), "s")
            step(number)

    tell(range(3), 10)
    limit_files(limit)
    tell(range(3, 9), 5_000)
    seen = numbers(memory)
    assert all(found == list(range(9)) for found in seen.values()), f"while the disk is full: {seen}"
    memory.build_conversation_context("question", "s")
    limit_files(None)
    tell(range(9, 11), 10)


def limit_files(size: int | None) -> None:
    """Let no file of this process grow beyond a size (bytes), as a full disk does; ``None``: lift that."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def as_nobody(step: Step, kind: str, spare: str, folder: str) -> None:
    """Use a store as a user who may not write it, or not even read it; report what is recalled.

    ``spare`` is a folder for a first use, which imports what only the owner of the interpreter can read.
    """
    for _ in range(2):  # the second time reads what the first has written
        with opened(kind, spare) as memory:
            memory.update_history(pair("question 0", "answer"), "s")
            memory.build_conversation_context("question", "s")
            numbers(memory)
            memory.health()
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    memory = make(kind, folder)
    for number in range(100, 104):
        memory.update_history(pair(f"question {number}", "answer"), "s")
        assert memory.build_conversation_context("question", "s")[-1].content.endswith("question")
    told = json.dumps(memory.health(), default=str)
    assert re.search(r'"failures": [1-9]', told), f"health tells of no failure: {told}"
    if KINDS[kind].keeps_history:
        said = [m.content for m in memory.get_history("s") if m.role.value == "user"]
        for text in said:
            step(int(text.split()[1]))


# ---------------------------------------------------------------------- crowds
def talk(step: Step, kind: str, first: int, count: int, sessions: int, folder: str) -> None:
    """Record numbered exchanges, in turn in several sessions, and look now and then."""
    memory = make(kind, folder)
    for number in range(first, first + count):
        session = f"s{number % sessions}"
        memory.update_history(pair(f"question {number}", f"answer {number}"), session)
        step(number)
        if number % 25 == 0:
            memory.build_conversation_context(f"question {number}", session)
    memory.close()


def hold(step: Step, paths: list[str], seconds: float) -> None:
    """Keep others from writing, and reading, files: databases by a lock of SQLite's, others by their lock file's."""
    held: list[Any] = []
    for path in paths:
        if path.endswith(".lock"):
            held.append(os.open(path, os.O_RDWR))
            fcntl.flock(held[-1], fcntl.LOCK_EX)
        else:
            held.append(sqlite3.connect(path, isolation_level=None))
            held[-1].execute("BEGIN EXCLUSIVE")
    step(1)
    time.sleep(seconds)
    os._exit(0)
