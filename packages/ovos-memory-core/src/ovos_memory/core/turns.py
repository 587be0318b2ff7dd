"""Messages one by one, with their time and a number: what the memories of a window keep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.exchanges import append_turns, message_as_dict, message_from_dict
from ovos_memory.core.text import clean


@dataclass(frozen=True, slots=True)
class Turn:
    """A message, when it was said (epoch seconds), and its number: ascending in a session, never used twice.

    Numbers are made of the time, so that nothing has to be kept of what is forgotten; -1: not numbered yet.
    """

    said_at: float
    message: AgentMessage
    n: int = field(default=-1, compare=False)


def numbered(turns: Iterable[Turn]) -> list[Turn]:
    """Return turns with a number each: the milliseconds of their time, or one more than the turn before."""
    found: list[Turn] = []
    for turn in turns:
        least = found[-1].n + 1 if found else 0
        n = max(turn.n if turn.n >= 0 else _own_number(turn), least)
        found.append(turn if turn.n == n else replace(turn, n=n))
    return found


def _own_number(turn: Turn) -> int:
    return max(0, int(turn.said_at * 1000))


def with_said(turns: Sequence[Turn], said: Iterable[AgentMessage], *, now: float) -> list[Turn]:
    """Return turns with messages behind them, by the turn rules.

    A message is never older than the one before it: where the clock went back, the time of that one holds.
    """
    result = numbered(turns)
    said_at = max([now, *(turn.said_at for turn in result[-1:])])
    for message in said:
        last = result[-1:]
        merged = append_turns([turn.message for turn in last], [message])
        kept = last[: len(merged) - 1]
        is_longer = bool(last) and not kept and message.role is not MessageRole.USER
        number = last[0].n if is_longer else -1
        before = [turn.n for turn in last]
        newest = Turn(said_at, merged[-1], number)
        if number < 0:
            newest = replace(newest, n=max([_own_number(newest), *(n + 1 for n in before)]))
        result = [*result[: len(result) - len(last)], *kept, newest]
    return result


def as_stored(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """Return turns as JSON values: time, role, content; a number only where the time does not tell it."""
    stored: list[dict[str, Any]] = []
    least = 0
    for turn in numbered(turns):
        item = {"ts": turn.said_at, **message_as_dict(turn.message)}
        if turn.n != max(_own_number(turn), least):
            item["n"] = turn.n
        least = turn.n + 1
        stored.append(item)
    return stored


def read_turns(items: Iterable[Any]) -> list[Turn]:
    """Return stored turns, oldest first, as new objects; what cannot be read among them is left out."""
    return numbered(turn for item in items if (turn := read_turn(item)) is not None)


def read_turn(item: Any) -> Turn | None:
    """Return one stored turn; ``None`` when it is none, or a system message."""
    try:
        said_at, message = float(item.get("ts") or 0.0), message_from_dict(item)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    is_said = message.role not in (MessageRole.SYSTEM, MessageRole.DEVELOPER)
    message.content = clean(message.content)
    number = item.get("n")
    n = number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else -1
    return Turn(said_at if math.isfinite(said_at) else 0.0, message, n) if is_said else None


def turn_id(session_id: str, turn: Turn) -> str:
    """Return the id of a turn."""
    return f"{session_id}_{turn.n}"


def stored_items(record: Mapping[str, Any] | None) -> list[Any]:
    """Return the messages in a session's record."""
    found = record.get("messages") if record is not None else None
    return list(found) if isinstance(found, list) else []
