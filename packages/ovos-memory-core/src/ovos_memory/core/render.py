"""Recalled hits to one context block: prefixed, dated, fenced, and within its budget.

The shape of a block::

    <header>
    <recalled-memory>
    - [2026-05-07] [source: default_3] Q: what is my favourite colour?
    A: You said it is teal.

    - …
    </recalled-memory>

A rendered hit is ``chunk_prefix``, with ``include_dates`` the day it was stored (``"[2026-05-07] "``, UTC),
with ``include_sources`` the id of its document (``"[source: default_3] "``), and the content, its further
lines verbatim but for what :mod:`ovos_memory.core.fence` defuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ovos_memory.core.fence import (
    BLANK,
    FENCE_CLOSE,
    FENCE_OPEN,
    NEWLINE,
    QUOTE,
    RECALL_TAG,
    break_marks,
    defuse,
    fenced,
    listed,
    one_line,
    strip_injected,
    wrap,
)
from ovos_memory.core.text import clean, share, truncate
from ovos_memory.core.types import MemoryHit

if TYPE_CHECKING:  # the settings' pydantic is slow to load and not needed to render
    from ovos_memory.core.settings import ContextSettings

__all__ = [
    "FENCE_CLOSE",
    "FENCE_OPEN",
    "Block",
    "block",
    "break_marks",
    "defuse",
    "fenced",
    "listed",
    "strip_injected",
]

MIN_HIT_CHARS = 200
"""A hit is cut to no less while others can be dropped instead."""
_LEAST_CHARS = 16
"""Less than this of the only hit that is left tells nothing."""
_SOURCE_CHARS = 80
_ISO_DAY = r"\d{4}-\d{2}-\d{2}(?!\d)"


@dataclass(frozen=True, slots=True)
class Block:
    """A rendered context block.

    Attributes:
        header: What the block is, one or more lines; ``""``: no header line.
        body: The fenced hits; the closing mark is its last line and stands nowhere else.
    """

    header: str
    body: str

    def __str__(self) -> str:
        """Return header and body, one below the other."""
        return f"{self.header}\n{self.body}" if self.header else self.body


def block(hits: Iterable[MemoryHit], context: ContextSettings) -> Block | None:
    """Render hits, best first, within ``context.max_chars``.

    The budget bounds ``str(block)`` as a whole. Each hit gets a fair part of it: short ones all they need,
    and what they leave goes to the long ones, whose cut ends with "…". Where that would leave fewer than
    :data:`MIN_HIT_CHARS` characters of a hit, the worst hits are dropped instead.

    Args:
        hits: Best first; those without a visible character are left out. They stay unchanged.
        context: Header, prefix, separator, dates, sources and budget.

    Returns:
        The block; ``None`` without hits, or without room for a piece of the best one.
    """
    header = break_marks(clean(context.header).strip())
    # Broken as one text, for a mark may come about at the joint; the length stays.
    joint = break_marks(context.chunk_separator + context.chunk_prefix)
    separator, prefix = joint[: len(context.chunk_separator)], joint[len(context.chunk_separator) :]
    room = None
    if context.max_chars is not None:
        room = context.max_chars - len(str(Block(header, wrap(RECALL_TAG, "", ""))))
        if room <= 0:
            return None
    quoted = _boundary_quoter(separator, prefix)
    pieces = (_Piece(prefix + _label(hit, context), quoted(_content(hit, room))) for hit in hits)
    visible = (piece for piece in pieces if piece.text.strip())
    chosen = list(visible) if room is None else _fit(visible, room, len(separator))
    if not chosen:
        return None
    return Block(header, wrap(RECALL_TAG, "", separator.join(piece.label + piece.text for piece in chosen)))


@dataclass(frozen=True, slots=True)
class _Piece:
    """One hit: what stands in front of it (prefix, date, source), and its defused text."""

    label: str
    text: str


def _content(hit: MemoryHit, room: int | None) -> str:
    content = clean(hit.content)
    # Megabytes need not be defused: what is longer than the room is cut in any case, for defusing never
    # shortens.
    return defuse(content if room is None else content[: room + 1])


def _fit(pieces: Iterable[_Piece], room: int, separator_length: int) -> list[_Piece]:
    """Return the best pieces that fit the room, each cut to its fair share."""
    best: list[_Piece] = []
    least = -separator_length
    for piece in pieces:
        least += separator_length + len(piece.label) + min(len(piece.text), MIN_HIT_CHARS)
        if best and least > room:
            break
        best.append(piece)
    if not best:
        return []
    spare = room - sum(len(piece.label) for piece in best) - separator_length * (len(best) - 1)
    if spare < min(len(best[0].text), _LEAST_CHARS):  # only ever true of a single piece
        return []
    allotments = share([len(piece.text) for piece in best], spare)
    return [
        _Piece(piece.label, truncate(piece.text, chars))
        for piece, chars in zip(best, allotments, strict=True)
    ]


def _label(hit: MemoryHit, context: ContextSettings) -> str:
    label = _date(hit) if context.include_dates else ""
    return label + _source(hit) if context.include_sources else label


def _date(hit: MemoryHit) -> str:
    """Return ``"[2026-05-07] "``, ``""`` for a hit without a usable time."""
    created_at = (hit.metadata or {}).get("created_at")
    if isinstance(created_at, str) and (day := re.match(_ISO_DAY, created_at, re.ASCII)):
        return f"[{day[0]}] "
    if isinstance(created_at, bool) or not isinstance(created_at, (int, float)):
        return ""
    try:
        return f"[{datetime.fromtimestamp(created_at, tz=timezone.utc):%Y-%m-%d}] "
    except (OverflowError, OSError, ValueError):  # a time that no calendar holds, or no number at all
        return ""


def _source(hit: MemoryHit) -> str:
    """Return ``"[source: default_3] "``, ``""`` for a hit without one.

    Session ids are the callers' strings: on one line, without marks, and without brackets that end the label.
    """
    name = one_line(clean(hit.source), _SOURCE_CHARS).replace("[", "(").replace("]", ")")
    return f"[source: {name}] " if name else ""


def _boundary_quoter(separator: str, prefix: str) -> Callable[[str], str]:
    """Return a function that puts a "> " in front of what would pass for the beginning of another hit.

    That is the separator followed by the prefix. Between newlines blanks do not matter, and any newline
    counts.
    """
    joint = separator + prefix
    if not joint:
        return lambda text: text
    # A prefix may itself begin with blanks or newlines: the mark belongs behind them, or the joint stays
    # whole.
    cut = len(separator) + len(prefix) - len(prefix.lstrip())
    lead, tail = joint[:cut], joint[cut:]
    # Where the prefix is "> ", one more of them would be just what it must not be.
    mark = next((mark for mark in (QUOTE, "| ") if joint not in lead + mark + tail), QUOTE)
    if lead.isspace() and "\n" in lead:
        newlines = lead.count("\n")
        start = f"{NEWLINE}(?:{BLANK}*{NEWLINE}){{{newlines - 1}}}(?={BLANK}*{re.escape(tail)})"
    else:
        start = f"{re.escape(lead) or f'(?<!{re.escape(mark)})'}(?={re.escape(tail)})"
    boundary = re.compile(f"{start}(?!{re.escape(mark)})")
    return lambda text: boundary.sub(lambda match: match[0] + mark, text)
