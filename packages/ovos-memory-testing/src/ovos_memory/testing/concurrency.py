"""Rules of use from many threads and processes: nothing raises, nothing is lost, nothing is mixed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ovos_memory.testing.checks import check_context
from ovos_memory.testing.messages import assistant, pair, said, user
from ovos_memory.testing.processes import Child, pack
from ovos_memory.testing.suite import MemorySuite, needs

THREADS = 8
EXCHANGES = 50
SESSIONS = 16


class ConcurrencySuite(MemorySuite):
    """HiveMind's agent calls one memory from up to 16 threads."""

    @needs("keeps_history", "window_key")
    def test_eight_threads_on_one_session_lose_nothing(self) -> None:
        """800 of 800 messages, each answer behind its question, each thread's in its order."""
        memory = self.new({str(self.window_key): 0})

        def talk(thread: int) -> None:
            for number in range(EXCHANGES):
                memory.update_history(pair(f"q {thread} {number}", f"a {thread} {number}"), "s")

        run_together([partial(talk, t) for t in range(THREADS)])
        turns = said(memory.get_history("s"))
        assert len(turns) == 2 * THREADS * EXCHANGES
        assert all(turns[n + 1] == ("assistant", f"a{turns[n][1][1:]}") for n in range(0, len(turns), 2))
        for thread in range(THREADS):
            own = [text for role, text in turns if role == "user" and text.startswith(f"q {thread} ")]
            assert own == [f"q {thread} {number}" for number in range(EXCHANGES)]

    @needs("keeps_history", "window_key")
    def test_sixteen_threads_on_sixteen_sessions_mix_nothing(self) -> None:
        """Question and answer in separate calls, contexts in between."""
        memory = self.new({str(self.window_key): 0})

        def talk(session: str) -> None:
            for number in range(8):
                memory.update_history([user(f"{session} asks {number}")], session)
                memory.update_history([assistant(f"{session} hears {number}")], session)
                utterance = f"what does {session} say"
                check_context(memory.build_conversation_context(utterance, session), utterance)

        run_together([partial(talk, f"session{n}") for n in range(SESSIONS)])
        for number in range(SESSIONS):
            session = f"session{number}"
            expected = [(f"{session} asks {n}", f"{session} hears {n}") for n in range(8)]
            assert [m.content for m in memory.get_history(session)] == [
                text for both in expected for text in both
            ]

    @needs("retrieves")
    def test_sixteen_threads_store_every_exchange_once(self) -> None:
        """Each with an id of its own, while others search."""
        memory = self.new()

        def talk(thread: int) -> None:
            for number in range(8):
                memory.update_history(pair(f"tea {thread} {number}", "noted"), f"session{thread % 4}")
                memory.search(f"tea {thread}", f"session{thread % 4}")

        run_together([partial(talk, t) for t in range(SESSIONS)])
        sessions = [f"session{n}" for n in range(4)]
        found = {hit.source: hit.content for s in sessions for hit in memory.search("tea", s, 500)}
        assert sorted(found) == sorted(f"{s}_{n}" for s in sessions for n in range(32))
        assert len(set(found.values())) == SESSIONS * 8

    @needs("keeps_history", "window_key")
    def test_readers_see_whole_exchanges(self) -> None:
        """A history read while others write never ends inside an exchange that came in one call."""
        memory = self.new({str(self.window_key): 0})
        torn: list[int] = []
        is_done = threading.Event()

        def write() -> None:
            try:
                for number in range(40):
                    memory.update_history(pair(f"question {number}", f"answer {number}"), "s")
            finally:
                is_done.set()

        def read() -> None:
            while not is_done.is_set():
                torn.append(len(memory.get_history("s")) % 2)

        run_together([write, read, read])
        assert not any(torn)

    @needs("persistent", "keeps_history", "window_key")
    def test_two_processes_lose_nothing(self) -> None:
        """60 exchanges of each on one session and one store, written at the same time."""
        settings = {str(self.window_key): 0}
        children = self._ready(settings)
        for number, child in enumerate(children):
            child.send("burst", first=1000 * number, count=60, session_id="s")
        for child in children:
            for _ in range(61):
                child.reply()
            child.end()

        turns = said(self.new(settings).get_history("s"))
        assert len(turns) == 240
        assert all(turns[n + 1] == ("assistant", f"answer{turns[n][1][8:]}") for n in range(0, 240, 2))
        for first in (0, 1000):
            own = [int(t[1].split()[1]) for t in turns[::2] if int(t[1].split()[1]) // 1000 == first // 1000]
            assert own == list(range(first, first + 60))

    @needs("persistent", "keeps_history")
    def test_two_processes_keep_each_others_sessions(self) -> None:
        """40 sessions of each: none is lost to a rewrite from a stale read."""
        packed = [pack(message) for message in pair("q", "r")]
        children = self._ready({})
        for number in range(40):
            for name, child in zip("ab", children, strict=True):
                child.send("update", messages=packed, session_id=f"{name}{number}")
        for child in children:
            for _ in range(40):
                child.reply()
            child.end()

        memory = self.new()
        lost = [f"{n}{i}" for n in "ab" for i in range(40) if len(memory.get_history(f"{n}{i}")) != 2]
        assert not lost

    def _ready(self, settings: Mapping[str, Any]) -> list[Child]:
        """Return two processes that have started, so that they work at the same time."""
        children = [self.child(settings).start() for _ in range(2)]
        for child in children:
            child.get_history("nobody")
        return children


def run_together(functions: Sequence[Callable[[], Any]], *, timeout_s: float = 60.0) -> None:
    """Run functions at the same moment, each on its thread; raise what the first of them raised."""
    start = threading.Barrier(len(functions))
    failures: list[BaseException] = []

    def run(function: Callable[[], Any]) -> None:
        start.wait()
        try:
            function()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), (
        f"still at work after {timeout_s:g} s: a deadlock?"
    )
    if failures:
        raise failures[0]
