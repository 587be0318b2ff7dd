"""Long texts in pieces that an embedding model can hold."""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_WINDOWS = 16
"""Windows of one text; of a longer one the beginning and the end are embedded."""
_TAIL_WINDOWS = 4
_WORD = re.compile(r"\s+")


def estimate_tokens(text: str) -> int:
    """Return an upper-side guess of how many tokens a multilingual model makes of a text.

    Where the embedder shows its tokenizer that is used instead.  A Latin letter counts a third of a token, a
    digit or a sign one half, any other letter or sign a whole one.
    """
    letters = sum(1 for c in text if c.isascii() and c.isalpha())
    blanks = sum(1 for c in text if c.isspace())
    ascii_rest = (
        sum(1 for c in text if c.isascii()) - letters - sum(1 for c in text if c.isascii() and c.isspace())
    )
    other = len(text) - letters - blanks - ascii_rest
    return 2 + letters // 3 + ascii_rest // 2 + other


def split_windows(
    text: str,
    *,
    max_tokens: int,
    count_tokens: Callable[[str], int] = estimate_tokens,
    max_chars: int | None = None,
) -> list[str]:
    """Return a text in windows of at most ``max_tokens`` tokens (and ``max_chars`` characters), in order.

    A text that fits is one window.  Windows end between words where there is one in their last quarter, and
    each repeats the last eighth of the one before, so that a statement on the seam is whole in one of them.
    At most :data:`MAX_WINDOWS` come back: of a longer text the first ones and the last few.

    Args:
        text: Any text.
        max_tokens: >= 8.
        count_tokens: Tokens of a text; called a few times per window.
        max_chars: No window is longer; ``None``: no such limit.
    """
    chars = len(text)
    if max_chars is not None:
        chars = min(chars, max(max_chars, 1))
    if chars == len(text) and (len(text) <= max_tokens // 2 or count_tokens(text) <= max_tokens):
        return [text]
    head, position = _forward(text, 0, max_tokens, count_tokens, chars, MAX_WINDOWS)
    if position >= len(text):
        return head
    # The end of a very long text: as many characters as the first windows held on average, four times.
    mean_chars = max(1, position // MAX_WINDOWS)
    start = max(position, len(text) - _TAIL_WINDOWS * mean_chars)
    tail, _ = _forward(text, start, max_tokens, count_tokens, chars, _TAIL_WINDOWS)
    return head[: MAX_WINDOWS - len(tail)] + tail


def _forward(
    text: str, start: int, max_tokens: int, count_tokens: Callable[[str], int], max_chars: int, limit: int
) -> tuple[list[str], int]:
    """Cut up to ``limit`` windows from ``start``; also return where the last one ended."""
    found: list[str] = []
    position = start
    while position < len(text) and len(found) < limit:
        size = _fitting(text, position, max_tokens, count_tokens, max_chars)
        end = position + size
        if end < len(text):
            end = _word_end(text, position, end)
        found.append(text[position:end])
        if end >= len(text):
            return found, end
        position = max(position + 1, end - (end - position) // 8)
    return found, position


def _fitting(
    text: str, start: int, max_tokens: int, count_tokens: Callable[[str], int], max_chars: int
) -> int:
    """Return how many characters from ``start`` fit; at least one."""
    size = min(max_chars, max_tokens * 4, len(text) - start)
    while size > 1:
        tokens = count_tokens(text[start : start + size])
        if tokens <= max_tokens:
            return size
        size = max(1, min(size - 1, size * max_tokens // tokens))
    return size


def _word_end(text: str, start: int, end: int) -> int:
    floor = end - (end - start) // 4
    for found in reversed(list(_WORD.finditer(text, floor, end))):
        return found.end()
    return end
