"""Rules of many users: what is only looked at costs nothing, and memory has a bound."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

from ovos_memory.testing.messages import said
from ovos_memory.testing.suite import MemorySuite, needs

UNKNOWN_SESSIONS = 20_000


class LoadSuite(MemorySuite):
    """A server has thousands of sessions, most of them once."""

    def test_looking_at_unknown_sessions_allocates_nothing(self) -> None:
        """20 000 histories and 2 000 contexts of sessions that never said anything."""
        memory = self.new()
        self.tell(memory, "my code is 4512")
        kept = _allocated(lambda number: memory.get_history(f"unknown {number}"), UNKNOWN_SESSIONS)
        assert kept < 0.05, f"{kept:.2f} objects stay behind per history of an unknown session"

        kept = _allocated(lambda number: memory.build_conversation_context("zzz", f"new {number}"), 2_000)
        assert kept < 0.5, f"{kept:.2f} objects stay behind per context of an unknown session"

    @needs("keeps_history", "ram_sessions")
    def test_memory_holds_a_bounded_number_of_sessions(self) -> None:
        """The least recently used go."""
        bound = self.ram_sessions or 0
        memory = self.new()
        for number in range(bound + 200):
            self.tell(memory, "hello", "hi", session_id=f"session {number}")
            if number % 1_000 == 0:
                memory.get_history("session 0")

        alive = [n for n in range(bound + 200) if memory.get_history(f"session {n}")]
        assert len(alive) <= bound
        assert alive[-200:] == list(range(bound, bound + 200))

    @needs("persistent", "keeps_history")
    def test_sessions_stay_intact_among_many(self) -> None:
        """The first is the same after hundreds of others, here and after a restart."""
        memory = self.new()
        self.tell(memory, "my code is 4512", "noted", "first")
        for number in range(300):
            self.tell(memory, f"hello {number}", "hi", f"session {number}")

        expected = [("user", "my code is 4512"), ("assistant", "noted")]
        assert said(memory.get_history("first")) == expected
        assert said(self.child().get_history("first")) == expected


def _allocated(look: Callable[[int], Any], count: int) -> float:
    """Return how many memory blocks each call leaves behind, the first few apart."""
    for number in range(100):
        look(-number - 1)
    gc.collect()
    before = sys.getallocatedblocks()
    for number in range(count):
        look(number)
    gc.collect()
    return (sys.getallocatedblocks() - before) / count
