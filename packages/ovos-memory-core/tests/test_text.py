"""Text: cleaned on the way in, filled, cut and compared without surprises."""

from __future__ import annotations

import enum
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.core.text import clean, fill, fold, identity, session_tag, share, truncate

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))  # half surrogates included
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAGS = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ee\U0001f1f9"  # Germany, France, Italy


class Colour(str, enum.Enum):
    RED = "red"


# ---------------------------------------------------------------- clean
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("as it is", "as it is"),
        ("", ""),
        (12, "12"),
        (b"caf\xc3\xa9 \xff", "caf\u00e9 \ufffd"),
        (Colour.RED, "red"),
        ([], ""),
        (
            ["one", {"type": "text", "text": "two"}, {"type": "image_url", "image_url": {"url": "x"}}],
            "one\ntwo",
        ),
        (({"type": "input_text", "text": "in"}, {"type": "output_text", "text": "out"}), "in\nout"),
        ([{"type": "text", "text": None}, None, 3, {"text": "bare"}], "bare"),
        ([{"type": "thinking", "text": "hm"}], ""),
        ({"type": "text", "text": "single"}, "single"),
    ],
)
def test_any_message_content_becomes_text(value: object, text: str) -> None:
    assert clean(value) == text
    assert type(clean(value)) is str


def test_half_surrogates_are_replaced_and_pairs_joined() -> None:
    assert clean("lamp \ud83d is red") == "lamp \ufffd is red"
    assert clean("ok \udc81") == "ok \ufffd"
    assert clean("smile \ud83d\ude00!") == "smile \U0001f600!"
    assert clean("\udc00\ud800 \ud83d\ud83d\ude00") == "\ufffd\ufffd \ufffd\U0001f600"


def test_nul_is_removed() -> None:
    assert clean("a\0b") == "ab"
    assert clean("\u00e4\0\u00f6") == "\u00e4\u00f6"


@given(ANY_TEXT)
def test_clean_text_can_be_encoded_and_stays_clean(text: str) -> None:
    cleaned = clean(text)

    assert "\0" not in cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert clean(cleaned) == cleaned


@given(st.text().filter(lambda text: "\0" not in text))
def test_text_that_is_in_order_is_not_touched(text: str) -> None:
    assert clean(text) == text


# ---------------------------------------------------------------- fill
def test_only_the_given_names_are_filled() -> None:
    assert fill("{a} {b} {c} {{a}} {}", a="1", b="2") == "1 2 {c} {1} {}"
    assert fill("{a} {", a="1") == "1 {"
    assert fill("{a}{a}", a="x") == "xx"
    assert fill("{a}") == "{a}"


def test_values_are_never_filled_again() -> None:
    assert fill("{a}|{b}", a="{b}", b=r"{a} \1 \g<0>") == r"{b}|{a} \1 \g<0>"


@given(ANY_TEXT, ANY_TEXT)
def test_values_arrive_as_they_are(before: str, value: str) -> None:
    before = before.replace("{", "")

    assert fill(before + "{value}", value=value) == before + value


# ---------------------------------------------------------------- truncate
@given(ANY_TEXT, st.integers(-2, 40))
def test_a_cut_text_keeps_its_limit_and_ends_visibly(text: str, limit: int) -> None:
    cut = truncate(text, limit)

    assert len(cut) <= max(limit, 0)
    if limit > 0 and len(text) > limit:
        assert cut.endswith("\u2026")
        assert text.startswith(cut[:-1])
    elif limit > 0:
        assert cut == text


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 4, "abc\u2026"),
        ("abcdef", 1, "\u2026"),
        ("abcdef", 0, ""),
        ("abc   def", 6, "abc\u2026"),
        ("abe\u0301 xyz", 4, "ab\u2026"),
        ("ab" + FAMILY + "cd", 6, "ab\u2026"),
        ("ab" + FAMILY + "cd", 8, "ab" + FAMILY + "\u2026"),
        ("a\u2764\ufe0fbcd", 3, "a\u2026"),
        ("a\U0001f44d\U0001f3fdbcd", 3, "a\u2026"),
        (FLAGS, 4, FLAGS[:2] + "\u2026"),
        (FLAGS, 5, FLAGS[:4] + "\u2026"),
        ("x" + FLAGS, 4, "x" + FLAGS[:2] + "\u2026"),
        ("a\ud83d\ude00bc", 3, "a\u2026"),
        ("\u0915\u094d\u0937\u0915\u0915", 3, "\u2026"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", 3, "\u2026"),
        ("\u0e19\u0e49\u0e33\u0e01\u0e01", 3, "\u2026"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e007fabc", 3, "\u2026"),
    ],
    ids=lambda value: ascii(value),
)
def test_a_cut_never_falls_inside_a_character_as_readers_see_it(text: str, limit: int, cut: str) -> None:
    assert truncate(text, limit) == cut


def test_cutting_costs_what_is_kept_not_what_is_there() -> None:
    hostile = "a" + "\u0301" * 3_000_000

    begun = time.thread_time()
    for _ in range(50):
        truncate(hostile, 200)

    assert time.thread_time() - begun < 0.5


# ---------------------------------------------------------------- identity, fold, session_tag
def test_identity_is_blind_to_unicode_form_and_edges() -> None:
    assert identity(" cafe\u0301\n") == identity("caf\u00e9") == "caf\u00e9"
    assert identity("\uff21\uff22") == "AB"
    assert identity("a b") != identity("a  b")
    assert identity("Tea") != identity("tea")


@given(ANY_TEXT)
def test_identity_of_an_identity_is_the_same(text: str) -> None:
    assert identity(identity(text)) == identity(text)


@given(ANY_TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x24F)))
def test_folding_is_blind_to_case_and_form(text: str) -> None:
    assert fold(text) == fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))
    assert fold(text.casefold()) == fold(text)


def test_folding_matches_what_people_type() -> None:
    assert fold("STRASSE") == fold("stra\u00dfe")
    assert fold("\uff34\uff45\uff41") == "tea"


def test_a_session_tag_is_short_stable_and_says_nothing() -> None:
    assert session_tag("default") == "37a8eec1"
    assert session_tag("\ud83d") != session_tag("\ufffd")
    assert len(session_tag("Ann::user@example")) == 8


# ---------------------------------------------------------------- share
@pytest.mark.parametrize(
    ("lengths", "total", "allotments"),
    [
        ([2, 100, 3, 50], 20, [2, 8, 3, 7]),
        ([5, 5, 5], 7, [3, 2, 2]),
        ([5, 5], 100, [5, 5]),
        ([5, 5], -1, [0, 0]),
        ([], 10, []),
        ([2_000_000] + [1000] * 10, 8000, [728, 728, 728, 727, 727, 727, 727, 727, 727, 727, 727]),
    ],
)
def test_short_texts_leave_the_rest_to_long_ones(
    lengths: list[int], total: int, allotments: list[int]
) -> None:
    assert share(lengths, total) == allotments


@given(st.lists(st.integers(0, 500), max_size=30), st.integers(-5, 4000))
def test_a_budget_is_shared_out_fairly_and_whole(lengths: list[int], total: int) -> None:
    allotments = share(lengths, total)

    assert all(0 <= got <= wanted for got, wanted in zip(allotments, lengths, strict=True))
    assert sum(allotments) == min(max(total, 0), sum(lengths))
    cut = [got for got, wanted in zip(allotments, lengths, strict=True) if got < wanted]
    if cut:
        assert max(allotments) <= min(cut) + 1
        assert max(cut) - min(cut) <= 1
