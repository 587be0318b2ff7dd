from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ovos_memory.local_rag import passages
from ovos_memory.local_rag.matrix import Matrix
from ovos_memory.local_rag.records import StoredVector


def unit(rng: np.random.Generator, count: int, dimension: int = 8) -> np.ndarray:
    vectors = rng.normal(size=(count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def stored(seq: int, session: str, n: int, vector: np.ndarray, window: int = 0) -> StoredVector:
    return StoredVector(seq, session, n, window, vector.tobytes())


def plainly(rows: list[StoredVector], query: np.ndarray, weight: float) -> dict[str, float]:
    """Return what every document scores, computed one by one."""
    windows: dict[tuple[str, int], list[np.ndarray]] = {}
    for row in rows:
        windows.setdefault((row.session, row.n), []).append(np.frombuffer(row.blob, dtype=np.float32))
    scores = {}
    for (session, n), own in windows.items():
        score = max(float(vector @ query) for vector in own)
        together = []
        for other in (windows.get((session, n - 1)), windows.get((session, n + 1))):
            if other is not None:
                total = np.mean(own, axis=0) + np.mean(other, axis=0)
                together.append(float(total @ query / np.linalg.norm(total)))
        scores[f"{session}_{n}"] = (score + weight * max(together, default=score)) / (1 + weight)
    return scores


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), min_size=1, max_size=60, unique=True),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_an_exchange_counts_with_the_better_of_its_two_passages(
    seed: int, places: list[tuple[str, int]], weight: float
) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for session, n in places:
        for window in range(int(rng.integers(1, 4))):
            rows.append(stored(len(rows) + 1, session, n, unit(rng, 1)[0], window))
    query = unit(rng, 1)[0]
    matrix = Matrix(8)
    matrix.add(rows)

    for session in (None, "a", "b"):
        found = {
            match.document_id: match.score
            for match in matrix.search(query, 99, session=session, neighbour_weight=weight)
        }

        expected = plainly([row for row in rows if session in (None, row.session)], query, weight)
        assert found == pytest.approx(expected, abs=1e-5)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_what_changes_between_searches_scores_as_if_it_had_always_been_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query = unit(rng, 1)[0]
    matrix, rows, last = Matrix(8), [], 0
    for _ in range(6):
        fresh = []
        for n in rng.integers(0, 12, size=3).tolist():  # recorded, or embedded anew in other windows
            gone = [row.seq for row in rows if row.n == n]
            matrix.remove(gone)
            rows = [row for row in rows if row.n != n]
            fresh = [row for row in fresh if row.n != n]
            for window in range(int(rng.integers(1, 3))):
                last += 1
                fresh.append(stored(last, "s", n, unit(rng, 1)[0], window))
        matrix.add(fresh)
        rows += fresh
        forgotten = int(rng.integers(0, 12))
        matrix.remove([row.seq for row in rows if row.n == forgotten])
        rows = [row for row in rows if row.n != forgotten]

        found = {m.document_id: m.score for m in matrix.search(query, 99, neighbour_weight=1.0)}

        assert found == pytest.approx(plainly(rows, query, 1.0), abs=1e-5)


def test_only_new_passages_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    plain = passages._lengths

    def counting(vectors: np.ndarray, found: passages.Passages, firsts: np.ndarray) -> np.ndarray:
        computed.append(len(firsts))
        return plain(vectors, found, firsts)

    monkeypatch.setattr(passages, "_lengths", counting)
    vectors = unit(np.random.default_rng(5), 52)
    matrix = Matrix(8)
    matrix.add(stored(n + 1, "s", n, vector) for n, vector in enumerate(vectors[:50]))
    matrix.search(vectors[0], 5, neighbour_weight=1.0)
    matrix.search(vectors[1], 5, neighbour_weight=1.0)

    matrix.add(stored(n + 51, "s", n + 50, vector) for n, vector in enumerate(vectors[50:]))
    matrix.search(vectors[0], 5, neighbour_weight=1.0)

    assert sum(computed) == 49 + 2


def test_a_forgotten_exchange_lives_on_in_no_passage() -> None:
    near, far = np.eye(8, dtype=np.float32)[:2]
    matrix = Matrix(8)
    matrix.add([stored(1, "s", 1, far), stored(2, "s", 2, near), stored(3, "s", 3, far)])
    assert matrix.search(near, 3, neighbour_weight=1.0)[1].score > 0.3

    matrix.remove([2])

    assert [m.score for m in matrix.search(near, 3, neighbour_weight=1.0)] == [0.0, 0.0]


def test_opposite_neighbours_make_no_passage() -> None:
    vector = np.eye(8, dtype=np.float32)[0]
    matrix = Matrix(8)
    matrix.add([stored(1, "s", 1, vector), stored(2, "s", 2, -vector)])

    assert [m.score for m in matrix.search(vector, 2, neighbour_weight=1.0)] == [1.0, -1.0]


def test_of_equal_exchanges_the_newest_come_first_with_neighbours_too() -> None:
    vector = np.eye(8, dtype=np.float32)[0]
    matrix = Matrix(8)
    matrix.add(stored(n, "s", n, vector) for n in range(1, 9))

    assert [m.document_id for m in matrix.search(vector, 3, neighbour_weight=1.0)] == ["s_8", "s_7", "s_6"]


def test_nothing_has_no_passages() -> None:
    vector = np.eye(8, dtype=np.float32)[0]
    matrix = Matrix(8)

    assert matrix.search(vector, 3, neighbour_weight=1.0) == []
    matrix.add([stored(1, "s", 1, vector)])
    assert matrix.search(vector, 3, session="other", neighbour_weight=1.0) == []
    assert [m.score for m in matrix.search(vector, 3, neighbour_weight=1.0)] == [1.0]
