"""The question to the model, and whether its answer may take the place of the previous summary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ovos_memory.core.errors import BadReply
from ovos_memory.core.text import fill, fold, share, truncate
from ovos_memory.core.types import Document

DEFAULT_PROMPT = """You keep the running summary of a conversation between a user and an assistant, so that \
nothing important is lost when the conversation itself is no longer shown.

Summary so far:
{summary}

What was said since then:
{exchanges}

Write the new summary. Carry over everything from the summary so far that may still matter: all names, dates,
numbers, places, decisions, wishes and open questions. Correct what has changed, then add what is new. Write
plain sentences in the language of the conversation, at most {words} words. Answer with the summary only."""

RETRY_HINT = "\n\nThese details of the summary so far must not get lost: {details}."

CHARS_PER_TOKEN = 4
"""In European languages; others have fewer, so the bound in characters holds for all."""
MAX_PIECE_CHARS = 6_000
"""Characters of exchanges in one question."""
MIN_PIECE_CHARS = 500
"""The least that a question is cut down to when longer ones were refused."""
MIN_KEPT_DETAILS = 0.6
"""Share of the previous summary's names and numbers that a new summary has to keep."""
LONG_SUMMARY_CHARS = 200
"""A previous summary of this length must not shrink to a third."""
MAX_DETAILS = 24
"""Names and numbers that a repeated question lists."""
LAST_TRY = 2

_PREAMBLE = re.compile(
    r"^(?:(?:sure|okay|ok|certainly|of course|absolutely|great)\b[^\n:.!]{0,80}[!.:]\s*)?"
    r"(?:(?:here(?:'s| is)|this is|below is)\b[^\n:]{0,80}:\s*)?"
    r"(?:\W{0,4}(?:new |updated |running |the )*(?:summary|zusammenfassung|resumen|resumo|résumé"
    r"|riassunto|samenvatting)"
    r"(?: so far)?\W{0,4}:\s*)?",
    re.IGNORECASE,
)
_CHATTY = re.compile(
    r"\b(?:as an ai|i(?:'m| am) (?:sorry|unable|an ai|happy to)|i can(?:'t|not) (?:help|summari[sz]e"
    r"|assist|provide)|how can i (?:help|assist)"
    r"|let me know if|please provide|would you like me to|es tut mir leid, ich|lo siento, (?:no|pero)|je"
    r" suis désolé)\b",
    re.IGNORECASE,
)
_REFUSING_START = 160
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？]+(?!\d)|\n|$|\.(?=\d))*")
_DETAIL = re.compile(r"[^\W_]+(?:[-.:/'’][^\W_]+)*")
_TURN = re.compile(r"^\W*(?:user|assistant)\W*:", re.IGNORECASE | re.MULTILINE)
_BLANKS = re.compile(r"\s+")


def max_chars(max_tokens: int) -> int:
    """Return how long a summary may be."""
    return max(CHARS_PER_TOKEN * max_tokens, 80)


def make_prompt(
    template: str,
    previous: str,
    documents: Sequence[Document],
    *,
    max_tokens: int,
    room: int = MAX_PIECE_CHARS,
) -> str:
    """Return the question: the previous summary in full, and what was said since within ``room`` characters.

    Placeholders that a template leaves out are appended: without them a summary could only lose.
    """
    for name, label in (("summary", "Summary so far"), ("exchanges", "What was said since then")):
        alias = "{exchange}" if name == "exchanges" else "{previous_summary}"
        if f"{{{name}}}" not in template and alias not in template:
            template += f"\n\n{label}:\n{{{name}}}"
    shown, said = previous or "(nothing yet)", _said(documents, room)
    return fill(
        template,
        summary=shown,
        previous_summary=shown,
        exchanges=said,
        exchange=said,
        words=str(max(20, int(max_tokens * 0.7))),
    )


def first_piece(documents: Sequence[Document], *, room: int = MAX_PIECE_CHARS) -> list[Document]:
    """Return the oldest documents that fit into ``room`` characters; at least one."""
    piece: list[Document] = []
    left = room
    for document in documents:
        left -= len(document.question) + len(document.answer) + len(document.text or "") + 20
        if piece and left < 0:
            break
        piece.append(document)
    return piece


def accept(reply: str, previous: str, documents: Sequence[Document], *, limit: int, rejected: int = 0) -> str:
    """Return the summary that a reply holds.

    Args:
        reply: The visible text of the answer.
        previous: The summary so far, ``""`` at first.
        documents: What the model was to add.
        limit: Characters of a summary.
        rejected: Answers to this question that were no good. A summary that came back unchanged is good
            enough the second time; from the third on one may lose details: the sentences that held them are
            carried over.

    Raises:
        BadReply: It is empty, an echo, chatter, too short, or it lost too much of the previous summary.
    """
    text = _without_preamble(reply)
    if _word_count(text) < 3:
        raise BadReply("the summary is empty or too short to be one")
    if _is_echo(text, documents) or (not rejected and _is_unchanged(text, previous, documents)):
        raise BadReply("the summary repeats what it was given")
    if _CHATTY.search(text[:_REFUSING_START]):
        raise BadReply("the answer is chatter instead of a summary")
    is_last_try = rejected >= LAST_TRY
    if len(previous) >= LONG_SUMMARY_CHARS and 3 * len(text) < len(previous) and not is_last_try:
        raise BadReply("the summary is much shorter than the one before")
    lost = lost_details(previous, text)
    kept = len(details(previous)) - len(lost)
    if lost and kept < MIN_KEPT_DETAILS * (kept + len(lost)) and not is_last_try:
        raise BadReply("the summary lost names and numbers of the one before")
    return bounded(carry_over(text, previous, lost, limit=limit), limit)


def details(text: str) -> list[str]:
    """Return the names and numbers of a text, each once, in order: what a summary must not lose."""
    found: dict[str, str] = {}
    for sentence in _SENTENCE.findall(text):
        for position, match in enumerate(_DETAIL.finditer(sentence)):
            word = match.group()
            if any(c.isdigit() for c in word) or (position > 0 and word[0].isupper() and len(word) > 1):
                found.setdefault(fold(word), word)
    return list(found.values())


def lost_details(previous: str, text: str) -> list[str]:
    """Return the names and numbers of the previous summary that a new one does not have."""
    present = {fold(match.group()) for match in _DETAIL.finditer(text)}
    whole = fold(text)
    return [
        word
        for word in details(previous)
        if fold(word) not in present and not (len(word) > 3 and fold(word) in whole)
    ]


def carry_over(text: str, previous: str, lost: Sequence[str], *, limit: int) -> str:
    """Return the summary, and behind it the sentences of the previous one that hold lost details."""
    missing = {fold(word) for word in lost}
    for sentence in _SENTENCE.findall(previous) if missing else ():
        sentence = sentence.strip()
        held = {fold(match.group()) for match in _DETAIL.finditer(sentence)}
        if held & missing and len(text) + len(sentence) + 1 <= limit:
            text = f"{text} {sentence}"
            missing -= held
    return text


def bounded(text: str, limit: int) -> str:
    """Return a summary of at most ``limit`` characters, cut behind a sentence if one ends late."""
    if len(text) <= limit:
        return text
    end = 0
    for match in _SENTENCE.finditer(text):
        if match.end() > limit:
            break
        end = match.end()
    return text[:end].strip() if end >= limit // 2 else truncate(text, limit)


def _said(documents: Sequence[Document], room_chars: int = MAX_PIECE_CHARS) -> str:
    texts = [
        text for document in documents for text in (document.question, document.answer, document.text or "")
    ]
    room = iter(share([len(text) for text in texts], room_chars))
    lines: list[str] = []
    for document in documents:
        parts = (("User", document.question), ("Assistant", document.answer), ("Note", document.text or ""))
        for speaker, text in parts:
            shortened = truncate(text, next(room))
            if shortened.strip():
                lines.append(f"{speaker}: {_BLANKS.sub(' ', shortened).strip()}")
    return "\n".join(lines)


def _without_preamble(reply: str) -> str:
    text = reply.strip()
    return text[_PREAMBLE.match(text).end() :].strip(" \n\"'*#")  # type: ignore[union-attr]


def _word_count(text: str) -> int:
    """Count words; where scripts have none, two characters count as one."""
    joined = sum(unicodedata.category(c) == "Lo" for c in text)
    return len(re.findall(r"[^\W_]+", text)) + joined // 2


def _is_echo(text: str, documents: Sequence[Document]) -> bool:
    """Tell whether a reply is the question over again: our instructions, or the exchanges."""
    same = _plain(text)
    if "what was said since then" in same or "summary so far:" in same or same in _plain(DEFAULT_PROMPT):
        return True
    if len(_TURN.findall(text)) >= 2:
        return True
    transcript = _plain(_said(documents))
    return len(same) > 40 and (
        same == transcript or (len(transcript) > 200 and same.startswith(transcript[:200]))
    )


def _is_unchanged(text: str, previous: str, documents: Sequence[Document]) -> bool:
    """Tell whether the previous summary came back though there was something to add."""
    if not previous or _plain(text) != _plain(previous):
        return False
    return any(len(d.question) + len(d.answer) > 40 and details(d.question) for d in documents)


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", fold(text)).strip()
