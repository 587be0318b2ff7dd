"""Lines of an export as documents and as turns: a memory takes in what another kind of memory wrote.

::

    {"id": "s_0", "kind": "exchange", "session_id": "s", "created_at": 1767225600.0,
     "question": "…", "answer": "…", "messages": […only where the two texts do not say it all…]}
    {"id": "s_1", "kind": "text", …, "text": "…", "metadata": {…}}
    {"id": "s_1767225600000", "kind": "message", …, "message": {"role": "user", "content": "…"}}
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core.exchanges import group_exchanges, make_exchange, message_from_dict
from ovos_memory.core.ledger_codec import load_messages
from ovos_memory.core.management_types import Tally
from ovos_memory.core.turns import Turn
from ovos_memory.core.types import Document, parse_document_id

Line = Mapping[str, Any]


def documents_of_lines(lines: Iterable[Line], tally: Tally) -> Iterator[Document]:
    """Yield the documents of an export, messages paired at the end; other kinds are refused in ``tally``.

    Raises:
        ValueError: A line is no record.
    """
    loose: dict[str, list[Turn]] = {}
    for place, line in enumerate(lines, 1):
        kind = _kind(line, place)
        if kind in ("exchange", "text"):
            yield _checked(_document, line, place)
        elif kind == "message" and "message" in line:
            session_id, turn = _checked(turn_of, line, place)
            loose.setdefault(session_id, []).append(turn)
        else:
            tally.refuse(kind)
    for session_id, turns in loose.items():
        times = iter(turns)
        for group in group_exchanges(turn.message for turn in turns):
            said_at = min(next(times).said_at for _ in group)
            exchange = make_exchange(group)
            yield Document(session_id, -1, exchange.question, exchange.answer, exchange.messages, said_at)


def turns_of_lines(lines: Iterable[Line], tally: Tally) -> dict[str, list[Turn]]:
    """Return the messages of an export by session, exchanges taken apart; others are refused in ``tally``.

    Raises:
        ValueError: A line is no record.
    """
    found: dict[str, list[Turn]] = {}
    for place, line in enumerate(lines, 1):
        kind = _kind(line, place)
        if kind == "message" and "message" in line:
            session_id, turn = _checked(turn_of, line, place)
            found.setdefault(session_id, []).append(turn)
        elif kind == "exchange":
            document = _checked(_document, line, place)
            found.setdefault(document.session_id, []).extend(
                Turn(document.created_at, message) for message in document.messages
            )
        else:
            tally.refuse(kind)
    return found


def _kind(line: Line, place: int) -> str:
    kind = line.get("kind") if isinstance(line, Mapping) else None
    if not isinstance(kind, str):
        raise ValueError(f"line {place} is no record of a memory: it has no kind")
    return kind


def _checked(read: Any, line: Line, place: int) -> Any:
    """Return what ``read`` makes of a line; the error names the line and never quotes it."""
    try:
        return read(line)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"line {place} is no {line['kind']}: {type(error).__name__}") from None


def session_and_time(line: Line) -> tuple[str, float]:
    """Return a line's session and its time, epoch seconds.

    Raises:
        KeyError, TypeError, ValueError: It has none.
    """
    session_id, created_at = line["session_id"], float(line["created_at"])
    if not isinstance(session_id, str) or not math.isfinite(created_at):
        raise ValueError("no session or no time")
    return session_id, created_at


def number_of(line: Line, session_id: str) -> int:
    """Return the number in a line's id; -1 when it has none of this session."""
    parsed = parse_document_id(str(line.get("id", "")))
    return parsed[1] if parsed is not None and parsed[0] == session_id else -1


def _document(line: Line) -> Document:
    session_id, created_at = session_and_time(line)
    n = number_of(line, session_id)
    metadata = dict(line.get("metadata") or {})
    if line["kind"] == "text":
        return Document(session_id, n, "", "", (), created_at, _text(line["text"]), metadata)
    question, answer = _text(line["question"]), _text(line["answer"])
    messages: tuple[AgentMessage, ...] = load_messages(question, answer, None)
    if line.get("messages") is not None:
        messages = tuple(message_from_dict(each) for each in line["messages"])
    return Document(session_id, n, question, answer, messages, created_at, metadata=metadata)


def turn_of(line: Line) -> tuple[str, Turn]:
    """Return session and turn of a message.

    Raises:
        AttributeError, KeyError, TypeError, ValueError: The line is no message.
    """
    session_id, created_at = session_and_time(line)
    message = message_from_dict(line["message"])
    _text(message.content)
    return session_id, Turn(created_at, message, number_of(line, session_id))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
