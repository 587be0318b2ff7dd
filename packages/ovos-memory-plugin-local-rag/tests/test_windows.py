from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.local_rag.windows import MAX_WINDOWS, estimate_tokens, split_windows


def words(text: str) -> int:
    return len(text.split())


def test_a_short_text_is_one_window() -> None:
    assert split_windows("hello there", max_tokens=16, count_tokens=words) == ["hello there"]
    assert split_windows("", max_tokens=16) == [""]


@given(st.text(max_size=2_000), st.integers(8, 64), st.none() | st.integers(1, 300))
def test_every_window_fits(text: str, max_tokens: int, max_chars: int | None) -> None:
    windows = split_windows(text, max_tokens=max_tokens, max_chars=max_chars)

    assert 1 <= len(windows) <= MAX_WINDOWS
    assert all(len(w) <= 1 or estimate_tokens(w) <= max_tokens or w == text for w in windows)
    assert all(len(w) <= (max_chars or len(text)) for w in windows)
    assert all(w in text for w in windows)
    assert text.startswith(windows[0])


@given(st.lists(st.text("abcdefg", min_size=1, max_size=9), min_size=40, max_size=150))
def test_nothing_of_a_text_of_some_windows_is_lost(parts: list[str]) -> None:
    text = " ".join(f"{n}{part}" for n, part in enumerate(parts))
    windows = split_windows(text, max_tokens=24, count_tokens=words)

    assert len(windows) <= MAX_WINDOWS
    assert all(any(word in window.split() for window in windows) for word in text.split())


def test_windows_overlap_so_that_a_seam_cuts_no_statement() -> None:
    text = " ".join(f"word{n}" for n in range(100))
    first, second = split_windows(text, max_tokens=40, count_tokens=words)[:2]

    assert set(first.split()[-3:]) & set(second.split())


def test_of_an_endless_text_beginning_and_end_stay() -> None:
    text = "ALPHA " + "filler " * 50_000 + "OMEGA"
    windows = split_windows(text, max_tokens=64)

    assert len(windows) <= MAX_WINDOWS
    assert windows[0].startswith("ALPHA") and windows[-1].endswith("OMEGA")


def test_scripts_without_blanks_count_more() -> None:
    assert estimate_tokens("天気はどうですか") >= 8
    assert estimate_tokens("what is the weather like") <= 12
