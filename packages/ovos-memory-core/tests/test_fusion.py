"""Fusion: ranked lists of several retrievers to one."""

from __future__ import annotations

import copy
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.core.fusion import (
    FusionMode,
    RankedList,
    convex,
    fuse,
    interleave,
    merge,
    priority,
    rrf,
    weighted,
)
from ovos_memory.core.text import identity
from ovos_memory.core.types import MemoryHit

MODES: list[FusionMode] = ["rrf", "weighted", "merge", "priority", "interleave", "convex"]


def hit(content: str, score: float = 1.0, source: str | None = None, **metadata: object) -> MemoryHit:
    return MemoryHit(content, source, score, metadata)


def ranked(member: str, *contents: str, weight: float = 1.0) -> RankedList:
    """Return a list whose scores fall from 1.0 in steps of 0.1."""
    return RankedList(member, [hit(text, 1 - place / 10) for place, text in enumerate(contents)], weight)


def texts(hits: list[MemoryHit]) -> list[str]:
    return [found.content for found in hits]


CONTENTS = st.sampled_from(["a", "b", "c", "d", "e", " a ", "\uff41", "", "long text"])
SCORES = st.one_of(
    st.floats(-5, 5), st.sampled_from([0.0, 1.0, math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324])
)
LISTS = st.lists(
    st.tuples(
        st.lists(st.builds(hit, CONTENTS, SCORES), max_size=6),
        st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        st.sampled_from([None, 0.0, -1.0, 1.7e308]),
    ),
    max_size=4,
).map(lambda rows: [RankedList(f"m{place}", *row) for place, row in enumerate(rows)])


# ---------------------------------------------------------------- what all modes share
@pytest.mark.parametrize("mode", MODES)
def test_nothing_fuses_to_nothing(mode: FusionMode) -> None:
    assert fuse(mode, []) == []
    assert fuse(mode, [ranked("one"), ranked("two")]) == []


@pytest.mark.parametrize("mode", MODES)
def test_one_list_keeps_its_order(mode: FusionMode) -> None:
    assert texts(fuse(mode, [ranked("one", "a", "b", "c")])) == ["a", "b", "c"]


@pytest.mark.parametrize("mode", MODES)
def test_a_limit_keeps_the_best(mode: FusionMode) -> None:
    lists = [ranked("one", "a", "b", "c"), ranked("two", "b", "d")]

    assert fuse(mode, lists, limit=2) == fuse(mode, lists)[:2]
    assert fuse(mode, lists, limit=0) == []


@pytest.mark.parametrize("mode", MODES)
def test_inputs_are_never_changed(mode: FusionMode) -> None:
    lists = [RankedList("one", [hit("a", 1, tags=["x"])]), RankedList("two", [hit("a", 2), hit("b", 1)])]
    before = copy.deepcopy(lists)

    fused = fuse(mode, lists)
    fused[0].metadata["mine"] = True  # type: ignore[index]

    assert lists == before


@pytest.mark.parametrize("mode", MODES)
def test_fused_hits_say_where_they_came_from(mode: FusionMode) -> None:
    lists = [RankedList("one", [hit("x", 0.9), hit("a", 0.4, "one_7", colour="red")]), ranked("two", "a")]

    found = {text.content: text for text in fuse(mode, lists)}["a"]

    assert found.metadata["fusion_score"] == found.score
    assert found.metadata["retrievers"]["one"] == {"rank": 2, "score": 0.4}
    if mode != "priority":
        assert found.metadata["retrievers"]["two"] == {"rank": 1, "score": 1.0}
        assert found.source is None  # that of the better-ranked hit
    else:
        assert (found.source, found.metadata["colour"]) == ("one_7", "red")


@pytest.mark.parametrize("mode", MODES)
def test_texts_are_the_same_whatever_their_ids_and_unicode_form(mode: FusionMode) -> None:
    first = RankedList("one", [hit("caf\u00e9", 1, "id_1")])
    second = RankedList("two", [hit(" cafe\u0301\n", 1, None)])

    assert len(fuse(mode, [first, second])) == 1


@given(LISTS, st.sampled_from(MODES))
def test_each_text_comes_once_with_a_finite_score_best_first(
    lists: list[RankedList], mode: FusionMode
) -> None:
    fused = fuse(mode, lists)

    keys = [identity(found.content) for found in fused]
    assert len(set(keys)) == len(keys)
    assert "" not in keys
    assert all(math.isfinite(found.score) for found in fused)
    if mode != "priority":
        assert [found.score for found in fused] == sorted((found.score for found in fused), reverse=True)


@given(LISTS, st.sampled_from(["merge", "interleave"]))
def test_without_dedup_every_visible_hit_is_kept(lists: list[RankedList], mode: FusionMode) -> None:
    given_texts = Counter(found.content for one in lists for found in one.hits if found.content.strip())

    assert Counter(texts(fuse(mode, lists, dedup=False))) == given_texts


@given(LISTS.filter(lambda lists: len(lists) > 1), st.randoms(use_true_random=False), st.sampled_from(MODES))
def test_the_order_of_lists_matters_only_for_ties(
    lists: list[RankedList], random: object, mode: FusionMode
) -> None:
    if mode == "priority":
        return
    shuffled = list(lists)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    def scores(order: list[RankedList]) -> dict[str, float]:
        return {identity(found.content): found.score for found in fuse(mode, order)}

    assert scores(shuffled) == scores(lists)


@given(LISTS, st.sampled_from(["rrf", "weighted", "priority", "convex"]))
def test_dedup_has_no_say_where_a_text_always_counts_once(lists: list[RankedList], mode: FusionMode) -> None:
    # repr, for a NaN in the input never equals itself
    assert repr(fuse(mode, lists, dedup=False)) == repr(fuse(mode, lists, dedup=True))


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="rrf, weighted, merge, priority, interleave, convex, got 'max'"):
        fuse("max", [])  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_a_bad_weight_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="weight of 'one'"):
        RankedList("one", [], weight)


@pytest.mark.parametrize("floor", [-math.inf, math.nan])
def test_a_bad_floor_is_refused(floor: float) -> None:
    with pytest.raises(ValueError, match="floor of 'one'"):
        RankedList("one", [], floor=floor)


def test_a_hit_without_words_is_left_out() -> None:
    lists = [RankedList("one", [MemoryHit(None), hit("  "), hit("a")])]  # type: ignore[arg-type]

    assert [found.metadata["retrievers"]["one"]["rank"] for found in rrf(lists)] == [1]


def test_metadata_that_is_missing_does_not_matter() -> None:
    assert rrf([RankedList("one", [MemoryHit("a", metadata=None)])])[0].content == "a"  # type: ignore[arg-type]


# ---------------------------------------------------------------- rrf
def test_rrf_adds_weight_over_k_plus_rank() -> None:
    fused = rrf([ranked("one", "a", "b"), ranked("two", "b", "c", weight=2)])

    assert texts(fused) == ["b", "c", "a"]
    assert [found.score for found in fused] == [
        pytest.approx(1 / 62 + 2 / 61),
        pytest.approx(2 / 62),
        pytest.approx(1 / 61),
    ]


def test_rrf_takes_its_k() -> None:
    assert rrf([ranked("one", "a", "b")], k=0)[1].score == 0.5
    for k in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="rrf_k must be"):
            rrf([], k=k)


def test_a_repeat_counts_once_at_its_best_rank_and_pushes_nothing_down() -> None:
    fused = rrf([ranked("one", "dup", "dup", "dup", "x"), ranked("two", "best", "dup")])

    assert texts(fused) == ["dup", "best", "x"]
    assert fused[0].score == pytest.approx(1 / 61 + 1 / 62)
    assert fused[2].metadata["retrievers"] == {"one": {"rank": 2, "score": pytest.approx(0.7)}}


def test_ties_keep_the_order_of_members_then_the_rank() -> None:
    assert texts(rrf([ranked("one", "a", "b"), ranked("two", "c", "d")])) == ["a", "c", "b", "d"]
    assert texts(rrf([ranked("one", "a", "b"), ranked("two", "b", "a")])) == ["a", "b"]
    # Equal sums from different ranks: the earlier member's hit first, whatever its rank.
    assert texts(rrf([ranked("one", "x", "a"), ranked("two", "b", "x", weight=61 / 62)], k=60)) == [
        "x",
        "a",
        "b",
    ]


def test_a_tie_is_no_matter_of_rounding() -> None:
    def at(member: str, **places: str) -> RankedList:
        return ranked(member, *(places.get(f"at{rank}", f"{member}{rank}") for rank in range(1, 8)))

    # "a" holds the ranks 1, 7, 2 and "b" 1, 2, 7: a plain sum makes the second larger in the last digit.
    lists = [at("one", at1="a"), at("two", at7="a"), at("three", at2="a")]
    lists += [at("four", at1="b"), at("five", at2="b"), at("six", at7="b")]

    assert [found.content for found in rrf(lists)][:2] == ["a", "b"]


def test_the_metadata_is_that_of_the_best_ranked_hit_and_of_the_earlier_list_among_equals() -> None:
    low = RankedList("one", [hit("x"), hit("a", 1, "low", note="low")])
    high = RankedList("two", [hit("a", 1, "high", note="high")])
    equal = RankedList("three", [hit("a", 1, "equal", note="equal")])

    found = {text.content: text for text in rrf([low, high, equal])}["a"]

    assert (found.source, found.metadata["note"]) == ("high", "high")


@pytest.mark.parametrize("mode", ["rrf", "weighted", "convex"])
def test_weight_zero_contributes_nothing(mode: FusionMode) -> None:
    fused = fuse(mode, [ranked("one", "a"), ranked("two", "b", "a", weight=0)])

    assert texts(fused) == ["a"]
    assert list(fused[0].metadata["retrievers"]) == ["one"]


# ---------------------------------------------------------------- weighted
def test_weighted_adds_scores_spread_over_their_own_list() -> None:
    bm25 = RankedList("lexical", [hit("a", 30), hit("b", 20), hit("c", 10)])
    cosine = RankedList("dense", [hit("b", 0.9), hit("c", 0.8)], weight=0.5)

    fused = weighted([bm25, cosine])

    assert [(found.content, found.score) for found in fused] == [("a", 1.0), ("b", 1.0), ("c", 0.0)]


def test_equal_scores_count_one_each() -> None:
    assert [found.score for found in weighted([RankedList("one", [hit("a", 7), hit("b", 7)])])] == [1.0, 1.0]
    assert weighted([RankedList("one", [hit("a", -3)], weight=2)])[0].score == 2.0


def test_a_score_that_is_no_number_counts_as_the_lowest() -> None:
    hits = [hit("a", 2.0), hit("b", math.nan), hit("c", 1.0), hit("d", math.inf), hit("e", None)]  # type: ignore[arg-type]

    fused = weighted([RankedList("one", hits)])

    assert [(found.content, found.score) for found in fused] == [
        *(("a", 1.0), ("b", 0.0), ("c", 0.0), ("d", 0.0), ("e", 0.0)),
    ]


def test_huge_scores_do_not_overflow() -> None:
    fused = weighted([RankedList("one", [hit("a", 1.7e308), hit("b", 0), hit("c", -1.7e308)])])

    assert [found.score for found in fused] == [1.0, 0.5, 0.0]


# ---------------------------------------------------------------- convex
def test_convex_is_the_weighted_mean_of_scores_from_the_floor_to_the_best_hit() -> None:
    bm25 = RankedList("lexical", [hit("a", 8), hit("b", 6), hit("c", 2)], weight=0.75, floor=0)
    cosine = RankedList("dense", [hit("b", 0.9), hit("d", 0.7), hit("a", 0.5)], weight=0.25)

    fused = convex([bm25, cosine])

    assert [(found.content, found.score) for found in fused] == [
        ("b", pytest.approx(0.75 * 6 / 8 + 0.25)),
        ("a", 0.75),
        ("c", pytest.approx(0.75 * 2 / 8)),
        ("d", pytest.approx(0.25 / 2)),
    ]


def test_an_exponent_makes_the_best_hits_of_its_list_stand_out_in_convex() -> None:
    bm25 = RankedList("lexical", [hit("a", 8), hit("b", 6), hit("c", 2)], weight=0.75, floor=0, exponent=2)
    cosine = RankedList("dense", [hit("b", 0.9), hit("d", 0.7), hit("a", 0.5)], weight=0.25)

    fused = convex([bm25, cosine])

    assert [(found.content, found.score) for found in fused] == [
        ("a", 0.75),
        ("b", pytest.approx(0.75 * (6 / 8) ** 2 + 0.25)),
        ("d", pytest.approx(0.25 / 2)),
        ("c", pytest.approx(0.75 * (2 / 8) ** 2)),
    ]


@pytest.mark.parametrize("exponent", [0, -1, float("nan"), float("inf")])
def test_an_exponent_is_a_number_above_0(exponent: float) -> None:
    with pytest.raises(ValueError, match="exponent of 'one' must be a finite number > 0"):
        RankedList("one", [], exponent=exponent)


def test_only_the_proportion_of_weights_matters_to_convex() -> None:
    def fused(factor: float) -> list[tuple[str, float]]:
        lists = [
            RankedList("one", [hit("a", 3), hit("b", 1)], 3 * factor, 0),
            RankedList("two", [hit("b", 1), hit("c", 0.5)], factor, 0),
        ]
        return [(found.content, pytest.approx(found.score)) for found in convex(lists)]

    assert fused(1) == fused(1e-300) == fused(5e307)


def test_a_floor_makes_a_list_of_one_or_of_equals_count_in_full() -> None:
    assert [found.score for found in convex([RankedList("one", [hit("a", 7)])])] == [1.0]
    assert [found.score for found in convex([RankedList("one", [hit("a", 7), hit("b", 7)], floor=0)])] == [
        1,
        1,
    ]
    assert [found.score for found in convex([RankedList("one", [hit("a", 0), hit("b", 0)], floor=0)])] == [
        1,
        1,
    ]


def test_a_floor_that_scores_fall_below_gives_way_to_them() -> None:
    fused = convex([RankedList("one", [hit("a", 1), hit("b", -1), hit("c", -3)], floor=0)])

    assert [found.score for found in fused] == [1.0, 0.5, 0.0]


def test_a_list_that_found_nothing_keeps_its_share() -> None:
    dense = RankedList("dense", [hit("a", 0.6), hit("b", 0.2)], weight=0.25)

    assert [found.score for found in convex([RankedList("lexical", [], 0.75, 0), dense])] == [0.25, 0.0]
    assert [found.score for found in convex([dense])] == [1.0, 0.0]


@given(LISTS)
def test_convex_scores_stay_between_0_and_1(lists: list[RankedList]) -> None:
    assert all(0 <= found.score <= 1 + 1e-12 for found in convex(lists))


@given(
    st.lists(st.floats(0.1, 10), min_size=2, max_size=6, unique=True),
    st.floats(0.1, 100),
    st.floats(-50, 50),
)
def test_convex_does_not_depend_on_a_lists_unit_or_zero(
    scores: list[float], factor: float, offset: float
) -> None:
    def fused(factor: float, offset: float) -> dict[str, float]:
        hits = [hit(f"t{place}", factor * score + offset) for place, score in enumerate(scores)]
        moved = RankedList("one", hits, floor=offset)
        other = RankedList("two", [hit("t1", 0.9), hit("x", 0.3)])
        return {found.content: found.score for found in convex([moved, other])}

    assert fused(factor, offset) == pytest.approx(fused(1, 0), abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_the_end_of_a_list_makes_no_step(scores: list[float]) -> None:
    """The worst hit of a list without a floor is worth what a text behind it is worth: nothing."""
    hits = [hit(f"t{place}", score) for place, score in enumerate([1.5, *scores, -0.5])]
    other = RankedList("two", [hit("x", 1.0), hit("t0", 0.5)])

    whole = {found.content: found.score for found in convex([RankedList("one", hits), other])}
    floor = {
        found.content: found.score for found in convex([RankedList("one", hits[:-1], floor=-0.5), other])
    }

    assert floor == {key: score for key, score in whole.items() if key in floor}
    assert whole[hits[-1].content] == 0.0


# ---------------------------------------------------------------- merge
def test_merge_keeps_the_highest_score_of_a_text() -> None:
    lists = [
        RankedList("one", [hit("a", 0.5), hit("b", 0.4)]),
        RankedList("two", [hit("b", 0.9), hit("c", -1)]),
    ]

    assert [(found.content, found.score) for found in merge(lists)] == [("b", 0.9), ("a", 0.5), ("c", -1)]


def test_merge_looks_for_the_highest_score_among_repeats_too() -> None:
    fused = merge([RankedList("one", [hit("a", 0.1), hit("b", 0.5), hit("a", 0.9)])])

    assert [(found.content, found.score) for found in fused] == [("a", 0.9), ("b", 0.5)]


def test_merge_without_dedup_keeps_repeats_and_counts_their_ranks() -> None:
    fused = merge(
        [RankedList("one", [hit("a", 3), hit("a", 2)]), RankedList("two", [hit("a", 1)])], dedup=False
    )

    assert [(found.content, found.score) for found in fused] == [("a", 3), ("a", 2), ("a", 1)]
    assert [found.metadata["retrievers"] for found in fused] == [
        {"one": {"rank": 1, "score": 3}},
        {"one": {"rank": 2, "score": 2}},
        {"two": {"rank": 1, "score": 1}},
    ]


def test_merge_puts_a_list_without_any_score_at_the_bottom() -> None:
    lists = [RankedList("one", [hit("a", math.nan)]), RankedList("two", [hit("b", -2), hit("c", -9)])]

    assert [(found.content, found.score) for found in merge(lists)] == [("b", -2), ("a", -9), ("c", -9)]


# ---------------------------------------------------------------- priority
def test_priority_takes_the_first_list_that_has_hits() -> None:
    lists = [
        ranked("none"),
        RankedList("blank", [hit(" ")]),
        ranked("two", "a", "b", "a"),
        ranked("three", "c"),
    ]

    fused = priority(lists)

    assert [(found.content, found.score) for found in fused] == [("a", 1.0), ("b", 0.9)]
    assert list(fused[0].metadata["retrievers"]) == ["two"]


def test_priority_keeps_the_order_of_its_list() -> None:
    assert texts(priority([RankedList("one", [hit("low", 1), hit("high", 2)])])) == ["low", "high"]


# ---------------------------------------------------------------- interleave
def test_interleave_deals_out_in_turn() -> None:
    fused = interleave([ranked("one", "a", "b", "c"), ranked("two", "x"), ranked("three", "y", "b")])

    assert texts(fused) == ["a", "x", "y", "b", "c"]
    assert [found.score for found in fused] == [1, 1, 1, 1 / 2, 1 / 3]


def test_interleave_without_dedup_keeps_every_hit() -> None:
    assert texts(interleave([ranked("one", "a", "a"), ranked("two", "a", "b")], dedup=False)) == [
        "a",
        "a",
        "a",
        "b",
    ]
