"""One side of a comparison: a process that holds memories and times what they do, one JSON command per line.

It runs in the environment of either side, so it needs nothing beyond the standard library and OVOS's plugin manager, and
it knows the memories by their entry points and public methods alone.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

os.environ.setdefault("OVOS_DEFAULT_LOG_LEVEL", "ERROR")
_answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # whatever a plugin prints is no answer

from corpus import Corpus  # noqa: E402
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole  # noqa: E402

GROUP = "opm.agents.memory"
memories: dict[str, Any] = {}
bare: dict[str, sqlite3.Connection] = {}


def load(name: str, plugin: str, config: dict[str, Any], first_question: str | None = None) -> dict[str, Any]:
    """Build a memory; the time is that of its construction, and of a first context when asked for one."""
    (entry,) = [entry for entry in entry_points(group=GROUP) if entry.name == plugin]
    factory = entry.load()
    start = time.perf_counter()
    memories[name] = memory = factory(config=config)
    if first_question is not None:
        memory.build_conversation_context(first_question, "user-1")
    return {"ms": (time.perf_counter() - start) * 1e3}


def fill(name: str, corpus: dict[str, Any], first: int, count: int, sessions: int) -> dict[str, Any]:
    """Tell exchanges, dealt out to sessions in turn."""
    texts = Corpus(**corpus)
    start = time.perf_counter()
    for number in range(first, first + count):
        memories[name].update_history(_pair(*texts.exchange(number)), f"user-{number % sessions}")
    return {"s": time.perf_counter() - start}


def tell(name: str, exchanges: list[list[str]]) -> dict[str, Any]:
    """Tell exchanges, given as question, answer, session."""
    memory = memories[name]
    said = [(_pair(question, answer), session) for question, answer, session in exchanges]
    return _timed(lambda each: memory.update_history(*each), said)


def ask(name: str, questions: list[list[str]]) -> dict[str, Any]:
    """Build a context for each question, given as question, session."""
    memory = memories[name]
    return _timed(lambda each: memory.build_conversation_context(*each), questions)


def turns(name: str, exchanges: list[list[str]]) -> dict[str, Any]:
    """Build a context for each question and then tell the exchange, as an assistant does."""
    memory = memories[name]
    said = [(question, _pair(question, answer), session) for question, answer, session in exchanges]
    recorded, built = [], []
    for question, messages, session in said:
        start = time.perf_counter()
        memory.build_conversation_context(question, session)
        between = time.perf_counter()
        memory.update_history(messages, session)
        recorded.append((time.perf_counter() - between) * 1e3)
        built.append((between - start) * 1e3)
    return {"update_ms": recorded, "context_ms": built}


def commit(path: str, texts: list[str]) -> dict[str, Any]:
    """Commit each text on its own to a bare SQLite file, durably; then append each to a bare file and sync that."""
    if path not in bare:
        bare[path] = sqlite3.connect(path, isolation_level=None)
        bare[path].executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE texts (id INTEGER PRIMARY KEY, text)"
        )
    insert = "INSERT INTO texts (text) VALUES (?)"
    committed = _timed(lambda text: bare[path].execute(insert, (text,)), texts)["ms"]
    with open(f"{path}.txt", "ab", buffering=0) as file:
        synced = _timed(lambda text: (file.write(text.encode()), os.fdatasync(file.fileno())), texts)["ms"]
    return {"commit_ms": committed, "fsync_ms": synced}


def search(name: str, questions: list[list[str]], top_k: int) -> dict[str, Any]:
    """Return what is found for questions, given as question, session."""
    memory = memories[name]
    return {"found": [[hit.content for hit in memory.search(q, s, top_k)] for q, s in questions]}


def touch(name: str, first: int, count: int) -> dict[str, Any]:
    """Say something once in each of many sessions."""
    for number in range(first, first + count):
        memories[name].update_history(_pair("hello there", "good morning"), f"visitor-{number}")
    return {}


def look(name: str, first: int, count: int) -> dict[str, Any]:
    """Ask for sessions that do not exist; return the memory blocks that stay behind per call."""
    memory = memories[name]
    gc.collect()
    before = sys.getallocatedblocks()
    for number in range(first, first + count):
        memory.get_history(f"nobody-{number}")
    gc.collect()
    return {"blocks": (sys.getallocatedblocks() - before) / count}


def resident(settle_s: float = 0.0) -> dict[str, Any]:
    """Return the process's resident megabytes."""
    time.sleep(settle_s)
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {"mb": pages * os.sysconf("SC_PAGE_SIZE") / 1e6}


def rest(name: str, most_s: float = 60.0) -> dict[str, Any]:
    """Wait until a memory has nothing to do in the background; one that does nothing there has no such figure."""
    health = getattr(memories[name], "health", dict)
    ends_at = time.monotonic() + most_s
    while (found := health()).get("work", {}).get("pending"):
        if time.monotonic() > ends_at:
            raise TimeoutError(f"{name} is still at work after {most_s:g} s: {found}")
        time.sleep(0.02)
    return {}


def close(name: str) -> dict[str, Any]:
    """Let go of a memory."""
    getattr(memories.pop(name), "close", lambda: None)()
    gc.collect()
    return {}


def _timed(act: Callable[[Any], object], things: Iterable[Any]) -> dict[str, Any]:
    """Return the milliseconds that each took, by the clock and of the processor."""
    wall, processor = [], []
    for thing in things:
        cpu, start = time.process_time(), time.perf_counter()
        act(thing)
        wall.append((time.perf_counter() - start) * 1e3)
        processor.append((time.process_time() - cpu) * 1e3)
    return {"ms": wall, "cpu_ms": processor}


def _pair(question: str, answer: str) -> list[AgentMessage]:
    return [AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer)]


OPERATIONS: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (load, fill, tell, ask, turns, commit, search, touch, look, resident, rest, close)
}


def main() -> None:
    """Answer commands until there are no more."""
    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = OPERATIONS[command.pop("do")](**command)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=_answers, flush=True)


if __name__ == "__main__":
    main()
