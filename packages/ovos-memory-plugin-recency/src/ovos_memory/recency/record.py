"""A session's messages as a record: JSON values with the time each message was said.

::

    {"messages": [{"ts": 1767225600.0, "role": "user", "content": "hello"}, …]}

Tool calls, their ids and the names of tools are kept: a call and its result still fit after a restart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.exchanges import append_turns, message_as_dict, message_from_dict
from ovos_memory.core.text import clean

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message and when it was said (epoch seconds)."""

    said_at: float
    message: AgentMessage


@dataclass(frozen=True, slots=True)
class Limits:
    """What a window holds: at most so many messages (0: any number), none older than so many seconds."""

    max_messages: int
    max_age_s: float | None


def read_turns(record: Mapping[str, Any] | None) -> list[Turn]:
    """Return the turns of a record, oldest first, as new objects; what cannot be read in it is left out."""
    found = record.get("messages") if record is not None else None
    return [turn for item in found or () if (turn := _read_turn(item)) is not None]


def with_turns(
    record: Mapping[str, Any] | None, said: Iterable[AgentMessage], *, now: float, limits: Limits
) -> Record:
    """Return a record with messages behind those it holds, by the turn rules, and within its limits.

    What falls out of the limits is gone for good.  A message is never older than the one before it: where the
    clock went backwards, the time of that one holds.
    """
    turns = read_turns(record)
    said_at = max([now, *(turn.said_at for turn in turns[-1:])])
    for message in said:
        last = turns[-1:]
        merged = append_turns([turn.message for turn in last], [message])
        turns = [*turns[: len(turns) - len(last)], *last[: len(merged) - 1], Turn(said_at, merged[-1])]
    return {"messages": [_as_json(turn) for turn in within(turns, now=now, limits=limits)]}


def within(turns: Sequence[Turn], *, now: float, limits: Limits) -> list[Turn]:
    """Return the newest turns, as the limits allow.

    A turn that seems to come from the future is young: a clock that went backwards hides nothing.
    """
    kept = list(turns)
    if limits.max_age_s is not None:
        oldest = now - limits.max_age_s
        first = next((place for place, turn in enumerate(kept) if turn.said_at >= oldest), len(kept))
        kept = kept[first:]
    return kept[-limits.max_messages :]  # [-0:] is everything, as it should be


def convert_1x(found: Mapping[str, Any]) -> dict[str, Record] | None:
    """Return the records of a 1.x file, ``None`` when it is none.

    Its shape is ``{session: {"buffer": [{"ts", "role", "content"}]}}``.
    """
    if not all(
        isinstance(value, Mapping) and isinstance(value.get("buffer"), list) for value in found.values()
    ):
        return None
    return {
        session: {"messages": [_as_json(turn) for item in value["buffer"] if (turn := _read_turn(item))]}
        for session, value in found.items()
    }


def _as_json(turn: Turn) -> dict[str, Any]:
    return {"ts": turn.said_at, **message_as_dict(turn.message)}


def _read_turn(item: Any) -> Turn | None:
    try:
        said_at, message = float(item.get("ts") or 0.0), message_from_dict(item)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    is_said = message.role not in (MessageRole.SYSTEM, MessageRole.DEVELOPER)
    message.content = clean(message.content)
    return Turn(said_at if math.isfinite(said_at) else 0.0, message) if is_said else None
