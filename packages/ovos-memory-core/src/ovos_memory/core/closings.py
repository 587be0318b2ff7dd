"""Closings under way: whoever wants the same thing anew waits for them, but neither for its own nor for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

from ovos_utils.log import LOG

WAIT_S = 5.0
"""How long a closing is waited for; one that takes longer hangs, or waits for whoever waits for it."""


class Closing:
    """One resource that is being closed.

    Attributes:
        key: What it was known by.
        what: Its kind, for messages: keys may hold what nobody else shall read.
        thread: Who closes it.
        is_over: Set when it is closed, or failed to be.
    """

    __slots__ = ("is_over", "key", "thread", "what")

    def __init__(self, key: Hashable, what: str) -> None:
        self.key = key
        self.what = what
        self.thread = threading.get_ident()
        self.is_over = threading.Event()


class Closings:
    """The closings of a process; beginning and ending one waits for nothing, for the collector may do both."""

    def __init__(self) -> None:
        self._under_way: set[Closing] = set()

    def begin(self, key: Hashable, what: str) -> Closing:
        """Note that the calling thread closes what ``key`` names."""
        closing = Closing(key, what)
        self._under_way.add(closing)
        return closing

    def run(self, closing: Closing, close: Callable[[], None]) -> None:
        """Call ``close``; whether it returns or raises, nobody waits for it afterwards."""
        try:
            close()
        finally:
            self._under_way.discard(closing)
            closing.is_over.set()

    def by_others(self, key: Hashable) -> Closing | None:
        """Return a closing of ``key`` by another thread.

        The calling thread's own is none: a ``close()`` that asks for its key would wait for itself.
        """
        me = threading.get_ident()
        under_way = self._under_way.copy()  # in one step, since others begin and end theirs meanwhile
        return next((each for each in under_way if each.thread != me and each.key == key), None)

    def wait(self, closing: Closing, timeout_s: float) -> None:
        """Wait until a closing is over; one that outlasts ``timeout_s`` seconds is not waited for again."""
        if not closing.is_over.wait(timeout_s):
            self._under_way.discard(closing)
            LOG.warning(
                "a shared %s has not closed within %.0f s; another one is opened beside it",
                closing.what,
                timeout_s,
            )
