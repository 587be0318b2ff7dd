"""Forked children: what a test does there, and how it came out."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable

HANGS_AFTER_S = 30
"""A child that takes longer is ended by the alarm."""


def in_child(work: Callable[[], object]) -> int:
    """Run ``work`` in a forked child; return its exit status, 0 when it neither raised nor hung."""
    child = os.fork()
    if child == 0:
        signal.alarm(HANGS_AFTER_S)
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
