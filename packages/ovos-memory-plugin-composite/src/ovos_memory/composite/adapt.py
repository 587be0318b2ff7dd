"""What members answer, checked and turned into our own types: a stranger is neither trusted nor changed."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import MemberError
from ovos_memory.core.exchanges import normalise
from ovos_memory.core.text import clean
from ovos_memory.core.types import MemoryHit

Searcher = Callable[[str, "str | None", int], object]
"""Calls a member's search with query, session and how many hits at most."""

_LEADING_ROLES = (MessageRole.SYSTEM, MessageRole.DEVELOPER)


def bind_search(search: Callable[..., object]) -> tuple[Searcher, bool]:
    """Return a member's ``search`` behind one signature, and whether it is told the session.

    Raises:
        MemberError: It cannot be called with a query (and ``session_id``, ``top_k`` where it takes them).
    """
    try:
        signature = inspect.signature(search)
    except (TypeError, ValueError):  # written in C: nothing to look at
        return lambda query, session_id, top_k: search(query, session_id=session_id, top_k=top_k), True
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    by_name = {
        n for n, p in signature.parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    takes_session, takes_top_k = (takes_any or name in by_name for name in ("session_id", "top_k"))

    def call(query: str, session_id: str | None, top_k: int) -> object:
        keywords: dict[str, Any] = {}
        if takes_session:
            keywords["session_id"] = session_id
        if takes_top_k:
            keywords["top_k"] = top_k
        return search(query, **keywords)

    try:
        signature.bind(
            "query",
            **({"session_id": None} if takes_session else {}),
            **({"top_k": 1} if takes_top_k else {}),
        )
    except TypeError as error:
        raise MemberError(
            f"search{signature} cannot be called as search(query, session_id=…, top_k=…)"
        ) from error
    return call, takes_session


def takes_keyword(function: Callable[..., object], name: str) -> bool:
    """Tell whether a parameter of that name can be given by keyword; of what shows no parameters, not."""
    try:
        parameter = inspect.signature(function).parameters.get(name)
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind in (
        parameter.KEYWORD_ONLY,
        parameter.POSITIONAL_OR_KEYWORD,
    )


def read_hits(found: object, *, limit: int) -> list[MemoryHit]:
    """Return what a search returned as hits, in its order; hits without words are left out.

    Args:
        found: A list (or other iterable) of objects with a text ``content`` and, as they like, ``source``,
            ``score`` and ``metadata``.
        limit: How many are read at most.

    Raises:
        MemberError: It is something else.
    """
    return [
        hit
        for hit in (_read_hit(item) for item in islice(_items(found, "search"), limit))
        if hit.content.strip()
    ]


def _read_hit(item: object) -> MemoryHit:
    content = getattr(item, "content", None)
    if not isinstance(content, str):
        raise MemberError(
            f"search returned a {type(item).__name__} among its hits, which has no text `content`"
        )
    source, metadata = getattr(item, "source", None), getattr(item, "metadata", None)
    return MemoryHit(
        content=clean(content),
        source=None if source is None else str(source),
        score=_number(getattr(item, "score", 0.0)),
        metadata=copy.deepcopy(dict(metadata)) if isinstance(metadata, Mapping) else {},
    )


def _number(value: object) -> float:
    """Return a score as a float; what is none becomes NaN, which fusion ranks last."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def read_floor(value: object) -> float | None:
    """Return the score of a text that a member finds nothing of, ``None`` where it does not say."""
    number = math.nan if value is None or isinstance(value, bool) else _number(value)
    return number if math.isfinite(number) else None


def read_shares(found: object, *, count: int) -> list[float]:
    """Return a member's numbers from 0 to 1, what is beyond them moved to the nearer end.

    Raises:
        MemberError: They are not so many, or no numbers.
    """
    numbers = [_number(value) for value in _items(found, "time_fit")]
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise MemberError(f"time_fit must return {count} numbers, one for each moment")
    return [min(1.0, max(0.0, number)) for number in numbers]


def read_blocks(context: object) -> list[AgentMessage]:
    """Return the leading system and developer messages of a member's context, as private copies.

    Raises:
        MemberError: It is not a list of messages.
    """
    blocks = []
    for message in _items(context, "build_conversation_context"):
        try:
            role = MessageRole(getattr(message, "role", None))
        except ValueError as error:
            kind = type(message).__name__
            raise MemberError(f"build_conversation_context returned a {kind} among its messages") from error
        if role not in _LEADING_ROLES:
            break
        blocks.append(AgentMessage(role=role, content=clean(message.content).strip()))
    return [block for block in blocks if block.content]


def read_history(history: object) -> list[AgentMessage]:
    """Return a member's history as private, cleaned copies.

    Raises:
        MemberError: It is not a list of messages.
    """
    messages = list(_items(history, "get_history"))
    for message in messages:
        if not hasattr(message, "role") or not hasattr(message, "content"):
            raise MemberError(f"get_history returned a {type(message).__name__} among its messages")
    return normalise(messages)


def _items(found: object, method: str) -> Iterable[Any]:
    if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Iterable):
        raise MemberError(f"{method} returned a {type(found).__name__} where a list is due")
    return found
