"""Stored text is shown and never obeyed."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.cli.output import moment, one_line, safe


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    shown = safe(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs", "M"])))
def test_all_else_stays_as_it_was(text: str) -> None:
    assert safe(text) == text


def test_escape_sequences_are_written_out() -> None:
    assert safe("\x1b[2J") == "\\x1b[2J" and safe("a\u202eb") == "a\\u202eb" and safe("\ud83d") == "\\ud83d"
    assert safe("one\ntwo\tthree") == "one\ntwo\tthree"


@given(st.text(), st.integers(2, 50))
def test_one_line_is_one_and_not_longer(text: str, most: int) -> None:
    shown = one_line(text, most)
    assert "\n" not in shown and len(shown) <= most


def test_times_are_shown_in_utc() -> None:
    assert moment(1767225600.0) == "2026-01-01 00:00:00"
    assert moment(None) == "-" and moment(1e300) == "1e+300"
