from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ovos_memory.local_rag.matrix import Matrix
from ovos_memory.local_rag.records import StoredVector


def unit(rng: np.random.Generator, count: int, dimension: int = 8) -> np.ndarray:
    vectors = rng.normal(size=(count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def rows(vectors: np.ndarray, session: str = "s", *, first: int = 1) -> list[StoredVector]:
    return [StoredVector(first + n, session, first + n, 0, v.tobytes()) for n, v in enumerate(vectors)]


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 700), st.integers(1, 50))
def test_the_nearest_come_first_as_a_full_sort_has_them(seed: int, count: int, top_k: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, query = unit(rng, count), unit(rng, 1)[0]
    matrix = Matrix(8)
    matrix.add(rows(vectors))

    found = matrix.search(query, top_k)

    order = np.argsort(-(vectors @ query), kind="stable")[:top_k]
    np.testing.assert_allclose([m.score for m in found], (vectors @ query)[order], rtol=1e-5)
    assert len(found) == min(top_k, count)


def test_of_equal_vectors_the_newest_come_first_and_are_in_at_the_border() -> None:
    vector = unit(np.random.default_rng(1), 1)[0]
    matrix = Matrix(8)
    matrix.add(rows(np.tile(vector, (20, 1))))

    assert [m.document_id for m in matrix.search(vector, 3)] == ["s_20", "s_19", "s_18"]


def test_a_session_is_searched_alone() -> None:
    rng = np.random.default_rng(2)
    vectors, query = unit(rng, 300), unit(rng, 1)[0]
    matrix = Matrix(8)
    matrix.add(rows(vectors[:299], "loud"))
    matrix.add(rows(vectors[299:], "quiet", first=300))

    assert [m.document_id for m in matrix.search(query, 5, session="quiet")] == ["quiet_300"]
    assert matrix.search(query, 5, session="nobody") == []


def test_windows_of_a_document_count_once_and_the_best_stands() -> None:
    rng = np.random.default_rng(3)
    query = unit(rng, 1)[0]
    matrix = Matrix(8)
    near = [StoredVector(n, "s", 0, n, query.tobytes()) for n in range(1, 9)]
    matrix.add(near)
    matrix.add(rows(unit(rng, 5), first=100))

    found = matrix.search(query, 3)

    assert found[0].document_id == "s_0" and len({m.document_id for m in found}) == 3


def test_removed_vectors_are_not_found_and_new_ones_are() -> None:
    rng = np.random.default_rng(4)
    vectors = unit(rng, 600)
    matrix = Matrix(8)
    matrix.add(rows(vectors[:599]))

    matrix.remove([1, 2, 9_999])
    matrix.add(rows(vectors[599:], first=600))

    assert len(matrix) == 598
    assert matrix.search(vectors[0], 1)[0].document_id != "s_1"
    assert matrix.search(vectors[599], 1)[0].document_id == "s_600"


def test_an_empty_matrix_finds_nothing() -> None:
    assert Matrix(8).search(np.ones(8, dtype=np.float32), 5) == []
