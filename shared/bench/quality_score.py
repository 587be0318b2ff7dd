"""How much of what answers a question is among the first hits, and how sure a difference is."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

DEPTHS = (5, 10)
_SHORT = 24
"""Turns up to this long ("Yes!") must fill a whole line of a hit; longer ones only stand in it."""
_SPEAKER = re.compile(r"^(Q|A):\s*")

Scores = dict[str, dict[str, float]]
"""By question id: the recall at each depth, ``{"5": 0.5, "10": 1.0}``."""


class Turns:
    """Tells which turns of a conversation a text contains.

    Args:
        turns: Their texts by id.
    """

    def __init__(self, turns: Mapping[str, str]) -> None:
        self._turns = turns
        self._known: dict[str, frozenset[str]] = {}

    def within(self, text: str) -> frozenset[str]:
        """Return the ids of the turns in a text."""
        if text not in self._known:
            flat = " ".join(text.split())
            lines = {_SPEAKER.sub("", line.strip()) for line in text.splitlines()}
            self._known[text] = frozenset(
                name for name, turn in self._turns.items() if turn in (flat if len(turn) > _SHORT else lines)
            )
        return self._known[text]


def recall(hits: Sequence[str], evidence: frozenset[str], turns: Turns) -> dict[str, float]:
    """Return the share (0..1) of the evidence that the first 5 and 10 hits contain."""
    found: set[str] = set()
    at: dict[str, float] = {}
    for rank in range(1, max(DEPTHS) + 1):
        if rank <= len(hits):
            found |= turns.within(hits[rank - 1]) & evidence
        if rank in DEPTHS:
            at[str(rank)] = len(found) / len(evidence)
    return at


def mean(scores: Scores, depth: int) -> float:
    """Return the mean recall in per cent."""
    return 100 * sum(each[str(depth)] for each in scores.values()) / max(1, len(scores))


def difference(
    new: Scores, old: Scores, depth: int, *, rounds: int = 2000, seed: int = 0
) -> tuple[float, float, float, int]:
    """Return how much better one result is than another on the questions that both have.

    The interval is that of a paired bootstrap over conversations, and over the questions in each that is drawn:
    questions about one conversation are no independent samples.  (Cluster bootstrap: Davison and Hinkley, "Bootstrap
    Methods and their Application", 1997, section 3.8.)

    Args:
        new: Scores by question id, ``<conversation>/<number>``.
        old: What they are compared with.
        depth: Of the recall.
        rounds: How often to draw.
        seed: Of the drawing; the same gives the same interval.

    Returns:
        Mean difference, lower and upper end of its 95 % interval, in points of a per cent; how many questions.
    """
    grouped: dict[str, list[float]] = defaultdict(list)
    for name in sorted(new.keys() & old.keys()):
        grouped[name.rpartition("/")[0]].append(100 * (new[name][str(depth)] - old[name][str(depth)]))
    groups = list(grouped.values())
    count = sum(map(len, groups))
    if not count:
        return 0.0, 0.0, 0.0, 0
    draw = random.Random(seed)
    means: list[float] = []
    for _ in range(rounds):
        drawn = [
            value
            for group in draw.choices(groups, k=len(groups))
            for value in draw.choices(group, k=len(group))
        ]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    tail = rounds // 40
    return sum(map(sum, groups)) / count, means[tail], means[-1 - tail], count
