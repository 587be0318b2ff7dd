"""A session's messages as a record: JSON values with the time each message was said.

::

    {"messages": [{"ts": 1767225600.0, "role": "user", "content": "hello"}, …]}

Tool calls, their ids and the names of tools are kept: a call and its result still fit after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core import turns as core_turns
from ovos_memory.core.turns import Turn, as_stored, stored_items, with_said

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a window holds: at most so many messages (0: any number), none older than so many seconds."""

    max_messages: int
    max_age_s: float | None


def read_turns(record: Mapping[str, Any] | None) -> list[Turn]:
    """Return the turns of a record, oldest first, as new objects; what cannot be read in it is left out."""
    return core_turns.read_turns(stored_items(record))


def with_turns(
    record: Mapping[str, Any] | None, said: Iterable[AgentMessage], *, now: float, limits: Limits
) -> Record:
    """Return a record with messages behind those it holds, by the turn rules, and within its limits.

    What falls out of the limits is gone for good.  A message is never older than the one before it: where the
    clock went backwards, the time of that one holds.
    """
    turns = with_said(read_turns(record), said, now=now)
    return {"messages": as_stored(within(turns, now=now, limits=limits))}


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
        session: {"messages": as_stored(core_turns.read_turns(value["buffer"]))}
        for session, value in found.items()
    }
