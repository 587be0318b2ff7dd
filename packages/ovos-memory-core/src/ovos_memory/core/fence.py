"""The fence around what a memory puts into a prompt, and what keeps stored text inside it.

A language model takes text for an instruction because of where it stands and how it looks. So recalled text
sits between two marks of ours, and whatever in it could end the fence, begin a chat role, or be read as a
control token by a chat template is defused *visibly*: one character is replaced, or a quote mark is put in
front; nothing is dropped. Everything else stays as it was said: foreign markup such as ``</context>`` cannot
close a fence of ours.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterable

from ovos_memory.core.text import ELLIPSIS, clean, truncate

RECALL_TAG = "recalled-memory"
"""Fences what a search recalled."""
FACTS_TAG = "known-facts"
"""Fences durable facts about the user."""
SUMMARY_TAG = "conversation-summary"
"""Fences the summary of an earlier conversation."""
PENDING_TAG = "recent-statements"
"""Fences sentences that no fact was drawn from yet."""
NOTES_TAG = "memory-notes"
"""Fences anything else a memory contributes."""
TAGS = (RECALL_TAG, FACTS_TAG, SUMMARY_TAG, PENDING_TAG, NOTES_TAG)
"""Every tag of the family; none of them survives in stored text."""

FENCE_OPEN = f"<{RECALL_TAG}>"
FENCE_CLOSE = f"</{RECALL_TAG}>"
QUOTE = "> "
"""What is put in front of a line that would pass for something else."""

_ROLES = ("system", "developer", "user", "assistant", "tool", "human", "ai")
_OPEN_MARK = f"<({'|'.join(TAGS)})>"

# The bodies of regex character classes. Each pattern below is a chain of classes that have no character in
# common, so matching never backtracks and stays linear on megabytes of hostile text.
_NEWLINES = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # what str.splitlines splits at
_UNSEEN = (  # controls, combining marks and what Unicode calls "default ignorable"
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\u3164\ufe00-\ufe0f"
    "\ufe20-\ufe2f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_BLANKS = "\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000" + _UNSEEN
_GAPS = _BLANKS + _NEWLINES
_SLASHES = "/\uff0f\u2044\u2215\u29f8\\\\\uff3c"
_DASHES = "_.~\xb7\u058a\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d\uff3f\\-"
_COLONS = ":\uff1a\ufe55\ufe13\u02d0\ua789\u2236"

NEWLINE = f"(?:\r\n|\r(?!\n)|[{_NEWLINES.replace(chr(13), '')}])"
"""Regex of one line end, whatever its kind."""
BLANK = f"[{_BLANKS}]"
"""Regex of one character that takes or shows nothing within a line."""

# Where Unicode keeps letters that decompose into ASCII ones: accented, full-width, bold, circled, raised …
_COMPATIBLE = (
    *((0xC0, 0x250), (0x1E00, 0x1F00)),
    *((0x2B0, 0x300), (0x1D2C, 0x1DC0), (0x2070, 0x20A0), (0x2100, 0x2190), (0x2460, 0x2500)),
    *((0x2C7C, 0x2C7E), (0xFF21, 0xFF5B), (0x1D400, 0x1D800), (0x1F130, 0x1F150)),
)
# Cyrillic, Greek and Armenian letters that look like Latin ones. None from ASCII: "A1:" is no "AI:".
_LOOKALIKES = dict(
    zip(
        "\u0430\u03b1\u0441\u03f2\u0501\u0435\u0454\u0261\u04bb\u0456\u03b9\u043a\u03ba\u04cf\u043c\u0578"
        "\u043e\u03bf\u0440\u03c1\u0433\u0455\u0442\u03c4\u03c5\u03bd\u0475\u0443\u03b3",
        "aaccdeeghiikklmnoopprsttuvvyy",
        strict=True,
    )
)
_NO_ANGLE, _NO_BRACKET = "\u2039", "\u27e6"  # neither becomes the real one under NFKC


def break_marks(text: str) -> str:
    """Return the text without any spelling of our fence marks and without chat-template control tokens.

    The bracket that begins one is replaced by one that only looks like it and is none to a tokenizer, not
    even to one that normalises; the length stays. Marks are recognised in any case, with blanks or
    invisible characters inside, in full-width and other compatibility letters, as HTML entities, with
    attributes or without an end. Doing it twice changes nothing.
    """
    if "[" in text:
        text = _bracket_tokens().sub(_NO_BRACKET, text)
    if "<" in text:
        text = _tokens().sub(_NO_ANGLE, text)
    if "<" in text or "&" in text or "\uff1c" in text or "\ufe64" in text:
        text = _fence_marks().sub(_NO_ANGLE, text)
    return text


def defuse(text: str) -> str:
    """Return stored text so that it can neither leave a fence nor pass for another speaker.

    Beside :func:`break_marks`, lines that begin with a role label (``System:``, ``**assistant:**``,
    ``### User:``) get a "> " in front. Doing it twice changes nothing.
    """
    said = "\n" + break_marks(text)  # the newline in front makes the first line like the others
    seen = said if said.isascii() else said.translate(_plain_letters())  # character by character
    ends = [found.end() for found in _role_labels().finditer(seen)]
    return QUOTE.join(said[a:b] for a, b in itertools.pairwise([0, *ends, len(said)]))[1:]


def one_line(text: str, max_chars: int) -> str:
    """Return a short foreign text on one line, marks broken, at most ``max_chars`` code points."""
    return truncate(break_marks(" ".join(text[: 4 * max_chars].split())), max_chars)


def listed(items: Iterable[str]) -> str:
    """Return a list with one "- " line per item: newlines become blanks, so no item can begin another."""
    lines = (" ".join(clean(item).split()) for item in items)
    return "\n".join(f"- {defuse(line)}" for line in lines if line)


def wrap(tag: str, heading: str, inner: str) -> str:
    """Return heading, opening mark, text and closing mark, one below the other; a blank heading has no line.

    The marks stand exactly where this function puts them: whatever looks like one elsewhere is broken, even
    across the joints of the parts that ``inner`` was put together from.
    """
    heading = break_marks(clean(heading).strip())
    fence = f"<{tag}>\n{break_marks(inner)}\n</{tag}>"
    return f"{heading}\n{fence}" if heading else fence


def fenced(heading: str, body: str, *, tag: str = NOTES_TAG, max_chars: int | None = None) -> str:
    """Return a memory's own block (facts, summary …) under the rules of a recalled one.

    Args:
        heading: What the block is, in the memory's own words; blank: none.
        body: Stored text, prose or a list (see :func:`listed`); it is defused here.
        tag: One of :data:`TAGS`.
        max_chars: Bounds the whole block; the body is cut with "…". ``None``: no limit.

    Returns:
        The block, its closing mark the last line; ``""`` for a blank body or when there is no room for one.

    Raises:
        ValueError: The tag is not one of ours, so stored text could close it.
    """
    if tag not in TAGS:
        raise ValueError(f"tag must be one of {', '.join(TAGS)}, got {tag!r}")
    body = clean(body).strip()
    if max_chars is None:
        return wrap(tag, heading, defuse(body)) if body else ""
    room = max_chars - len(wrap(tag, heading, ""))
    # Cut before defusing, which is slow on megabytes; it may add characters, so cut again.
    body = truncate(defuse(truncate(body, room)), room)
    return wrap(tag, heading, body) if body.strip(ELLIPSIS) else ""


def strip_injected(text: str) -> str:
    """Return what was really said in a message that a host recorded together with our block.

    Fenced blocks of ours go, and with each the line directly in front of it (the header). A longer header
    keeps its other lines: losing the user's words would be worse. What stands before and after a block is
    joined by a newline.

    Returns:
        The same object when there is no block in it.
    """
    kept: list[str] = []
    done = position = 0
    unclosed: set[str] = set()
    while (opening := re.compile(_OPEN_MARK).search(text, position)) is not None:
        tag, position = opening[1], opening.end()
        end = -1 if tag in unclosed else text.find(f"</{tag}>", position)
        if end < 0:
            unclosed.add(tag)  # never search for it again: cost stays linear
            continue
        kept.append(_without_header(text[done : opening.start()]))
        done = position = end + len(f"</{tag}>")
    if not done:
        return text
    kept.append(text[done:])
    return "\n".join(piece for piece in (part.strip() for part in kept) if piece)


def _without_header(before: str) -> str:
    """Return the text in front of a fence without the line that ends right there, unless it is blank."""
    if not before.endswith("\n"):
        return before
    return before[:-1].rpartition("\n")[0] if before[:-1].rpartition("\n")[2].strip() else before


@functools.cache
def _letters() -> dict[str, str]:
    """Return per ASCII letter the body of a character class: cases, compatibility forms, look-alikes."""
    classes = {letter: letter + letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"}
    for other, letter in _LOOKALIKES.items():
        classes[letter] += other + other.upper()
    for character in (chr(code) for start, end in _COMPATIBLE for code in range(start, end)):
        plain = unicodedata.normalize("NFKD", character)[0].casefold()
        if plain in classes:
            classes[plain] += character
    return classes


@functools.cache
def _plain_letters() -> dict[int, str]:
    """Return the letter that each spelling of it stands for, by code point."""
    return {ord(spelt): letter for letter, body in _letters().items() for spelt in body}


@functools.cache
def _tokens() -> re.Pattern[str]:
    """Return the pattern of the bracket that begins a control token of a chat template."""
    return re.compile(
        rf"<(?=[|\uff5c][^<>|\uff5c{_NEWLINES}]{{1,80}}[|\uff5c]>"  # ChatML, Llama 3, Phi, DeepSeek
        r"|</?sys>>"  # Llama 2
        r"|/?(?:s|bos|eos|pad|unk|mask|cls|sep|(?:start|end)_of_(?:turn|image)|think|tool_call|tool_response)>)",
        re.IGNORECASE,
    )


@functools.cache
def _bracket_tokens() -> re.Pattern[str]:
    """Return the pattern of the bracket that begins a control token in square brackets."""
    tokens = "inst|system_prompt|available_tools|tool_calls|tool_results|tool_content"
    return re.compile(rf"\[(?=/?(?:{tokens})\])", re.IGNORECASE)


@functools.cache
def _fence_marks() -> re.Pattern[str]:
    """Return the pattern of the first character of anything that reads as a mark of ours."""
    loose, letters = _GAPS + _DASHES, _letters()
    tags = "|".join(
        f"[{loose}]*".join(f"[{letters[letter]}]" for letter in tag.replace("-", "")) for tag in TAGS
    )
    entity = r"(?<=&)(?:[lL][tT]|#0*60|#[xX]0*3[cC]);?"
    return re.compile(f"[<\uff1c\ufe64&](?=(?:(?<!&)|{entity})[{_SLASHES}{loose}]*(?:{tags}))")


@functools.cache
def _role_labels() -> re.Pattern[str]:
    """Return the pattern of the newline in front of a line that begins with a role label, in plain letters.

    With all their spellings in it the pattern would take ten times as long to compile, in a user's first turn.
    """
    roles = "|".join(f"[{_UNSEEN}]*".join(f"[{c}{c.upper()}]" for c in role) for role in _ROLES)
    before = f"[{_BLANKS}]*(?:#+[{_BLANKS}]*)?[*_`~\"'\\[({{<|\u201c\u2018\xab\u2039\u27e6]*"
    after = f"[{_BLANKS}*_`~\"'\\])}}>|\u201d\u2019\xbb\u203a\u27e7]*[{_COLONS}]"
    return re.compile(f"[{_NEWLINES}](?={before}(?:{roles}){after})")
