"""Times that other programs cannot spoil."""

from __future__ import annotations

import time

from ovos_memory.testing.timing import times_as_long


def test_two_calls_are_compared_round_by_round() -> None:
    made: list[tuple[str, int]] = []

    def call(number: int) -> None:
        made.append(("call", number))
        time.sleep(0.05)

    ratio = times_as_long(call, lambda number: made.append(("beside", number)), 3)

    assert made == [(name, number) for number in range(3) for name in ("call", "beside")]
    assert ratio > 10
