"""What a store's numbers mean: a distance, as the plugin template says, or a similarity, as some return."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import combinations

_NEAR = 0.02
_APART = 0.05
_DIFFERENT = 0.005


class Direction(Enum):
    """Which way a store's numbers run."""

    DISTANCE = "distance"
    """Smaller is better: the score is 1 - distance."""
    SIMILARITY = "similarity"
    """Bigger is better: the score is the number itself."""

    def score(self, value: float) -> float:
        """Return the score of a store's number; bigger is better."""
        return 1.0 - value if self is Direction.DISTANCE else value


def judge(values: Sequence[float], cosines: Sequence[float]) -> Direction | None:
    """Tell from a few rows which way a store's numbers run, ``None`` when they do not show it.

    Args:
        values: The store's numbers.
        cosines: The cosine similarities of the same rows, from vectors that are known.
    """
    pairs = list(zip(values, cosines, strict=True))
    is_cosine = bool(pairs) and all(abs(v - c) < _NEAR for v, c in pairs)
    is_cosine_distance = bool(pairs) and all(abs(v - (1 - c)) < _NEAR for v, c in pairs)
    tells_apart = any(abs(c - (1 - c)) > _APART for _, c in pairs)
    if is_cosine != is_cosine_distance and tells_apart:
        return Direction.SIMILARITY if is_cosine else Direction.DISTANCE
    agreeing = opposing = 0
    for (v1, c1), (v2, c2) in combinations(pairs, 2):
        if abs(c1 - c2) > _DIFFERENT and v1 != v2:
            if (v1 > v2) == (c1 > c2):
                agreeing += 1
            else:
                opposing += 1
    if agreeing > 2 * opposing:
        return Direction.SIMILARITY
    return Direction.DISTANCE if opposing > 2 * agreeing else None
