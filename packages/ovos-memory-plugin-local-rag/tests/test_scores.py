from __future__ import annotations

import math

import pytest

from ovos_memory.local_rag.scores import Direction, judge

COSINES = [0.9, 0.6, 0.1]
STORES = {
    "cosine distance": ([1 - c for c in COSINES], Direction.DISTANCE),
    "similarity": (COSINES, Direction.SIMILARITY),
    "l2": ([math.sqrt(2 - 2 * c) for c in COSINES], Direction.DISTANCE),
    "negative inner product": ([-c for c in COSINES], Direction.DISTANCE),
    "scaled similarity": ([(1 + c) / 2 for c in COSINES], Direction.SIMILARITY),
}


@pytest.mark.parametrize("name", STORES)
def test_the_direction_shows_in_a_few_rows(name: str) -> None:
    values, direction = STORES[name]

    assert judge(values, COSINES) is direction


@pytest.mark.parametrize(("value", "direction"), [(0.02, Direction.DISTANCE), (0.98, Direction.SIMILARITY)])
def test_one_near_row_is_enough(value: float, direction: Direction) -> None:
    assert judge([value], [0.98]) is direction


@pytest.mark.parametrize(("values", "cosines"), [([], []), ([0.5], [0.5]), ([0.3, 0.3], [0.9, 0.1])])
def test_without_evidence_there_is_no_verdict(values: list[float], cosines: list[float]) -> None:
    assert judge(values, cosines) is None


def test_scores_are_bigger_for_the_better() -> None:
    assert Direction.DISTANCE.score(0.25) == 0.75
    assert Direction.SIMILARITY.score(0.25) == 0.25
