"""Text as the family handles it: cleaned on the way in, filled, cut and compared without surprises.

Pure functions over ``str``, standard library only; none of them raises for any text, half surrogates
included.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence

ELLIPSIS = "…"
"""What stands where a text was cut."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_ZERO_WIDTH_JOINER = "\u200d"
_VIRAMA_CLASS = 9
# Not marks by category, yet drawn as one with what stands in front of them: zero-width (non-)joiner, Thai and
# Lao vowel signs, half-width voicing marks.
_JOINS_BACK = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f")


def clean(value: object) -> str:
    """Return the text of any message content, fit to be stored, sent and hashed.

    Args:
        value: A string, ``None``, a list of content parts (``{"type": "text", "text": …}`` or plain strings;
            images and other parts are left out), one such part, bytes (UTF-8), or any object, whose ``str()``
            counts.

    Returns:
        ``""`` for ``None``; the parts' texts joined by newlines; a string that needs no change as it is.
        Surrogate pairs become the character they stand for, halves U+FFFD; NUL is removed (SQLite's C
        functions and many tokenizers end a text there).
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return _clean_str(value)
    if isinstance(value, (bytes, bytearray)):
        return _clean_str(value.decode("utf-8", "replace"))
    if isinstance(value, (list, tuple)):
        return "\n".join(text for text in map(_part, value) if text)
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return _part(value)
    return _clean_str(str(value))


def fill(template: str, /, **values: str) -> str:
    """Return the template with ``{name}`` replaced for every name that is given.

    One pass: values are never looked at again, so a ``{context}`` that somebody said stays what it is. All
    other braces are plain text, ``{{`` included.
    """
    if not values:
        return template
    names = "|".join(map(re.escape, values))
    return re.sub(r"\{(" + names + r")\}", lambda match: values[match[1]], template)


def truncate(text: str, max_chars: int) -> str:
    """Return at most ``max_chars`` code points of a text; what was cut ends with "…".

    The cut never falls inside what a reader sees as one character (marks, joined emoji, flags, conjuncts,
    surrogate pairs); blanks in front of the ellipsis go. A single character longer than the limit leaves the
    ellipsis alone. Costs O(``max_chars``) whatever the length of the text.

    Args:
        text: Any text.
        max_chars: Code points, the ellipsis included; 0 and less give ``""``.
    """
    if max_chars <= 0:
        return ""
    if len(text) <= max_chars:
        return text
    end = max_chars - len(ELLIPSIS)
    while end > 0 and not _may_cut(text, end):
        end -= 1
    return text[:end].rstrip() + ELLIPSIS


def identity(text: str) -> str:
    """Return what makes two recalled texts the same one: NFKC, trimmed."""
    return unicodedata.normalize("NFKC", text).strip()


def fold(text: str) -> str:
    """Return the text for a phrase match without regard to case and Unicode form (NFKC, case folded)."""
    if text.isascii():
        return text.casefold()
    # Folding looks at one code point at a time, so composed letters hide their marks from it, and its results
    # need not be in normal form: decompose, fold, compose.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold())


def session_tag(session_id: str) -> str:
    """Return 8 hex digits that stand for a session in logs: session ids may name people."""
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def share(lengths: Sequence[int], total: int) -> list[int]:
    """Divide a character budget fairly: short texts get all they need and leave the rest to the long ones.

    Max-min fairness by water-filling: every text that gets less than its length gets the same, up to one
    character (earlier ones get the odd characters).

    Args:
        lengths: What each text would like to have, >= 0.
        total: The budget; less than 0 counts as 0.

    Returns:
        One allotment per length, in the same order, never above it; together ``min(total, sum(lengths))``.
    """
    allotments = [0] * len(lengths)
    left = max(total, 0)
    # By length, and of equal ones the later first: what the division leaves over falls to the earlier ones.
    waiting = sorted(range(len(lengths)), key=lambda index: (lengths[index], -index))
    for done, index in enumerate(waiting):
        allotments[index] = min(lengths[index], left // (len(waiting) - done))
        left -= allotments[index]
    return allotments


def _clean_str(value: str) -> str:
    value = str.__str__(value)  # a subclass (an Enum, markup) becomes a plain str
    if value.isascii():
        return value.replace("\0", "")
    if _SURROGATES.search(value):
        value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value.replace("\0", "")


def _part(part: object) -> str:
    if isinstance(part, str):
        return _clean_str(part)
    if isinstance(part, Mapping) and part.get("type", "text") in _TEXT_PARTS:
        text = part.get("text")
        return _clean_str(text) if isinstance(text, str) else ""
    return ""


def _may_cut(text: str, index: int) -> bool:
    """Tell whether a reader sees a boundary between ``text[index - 1]`` and ``text[index]``.

    An approximation of the extended grapheme clusters of UAX #29 that errs on the side of not cutting.
    """
    before, after = text[index - 1], text[index]
    if before.isascii() and after.isascii():
        return True
    if before == _ZERO_WIDTH_JOINER or unicodedata.combining(before) == _VIRAMA_CLASS or _extends(after):
        return False
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return False
    if not (_is_flag_letter(before) and _is_flag_letter(after)):
        return True
    start = index
    while start > 0 and _is_flag_letter(text[start - 1]):
        start -= 1
    return (index - start) % 2 == 0


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character)[0] == "M"
        or character in _JOINS_BACK
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags: the flags of Scotland and Wales
        or "\u1160" <= character <= "\u11ff"  # Hangul vowels and finals in decomposed (NFD) Korean
        or "\ud7b0" <= character <= "\ud7fb"
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
