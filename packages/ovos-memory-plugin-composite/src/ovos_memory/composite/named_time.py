"""Hits of a time that the question names, as one more list to fuse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ovos_memory.composite.rounds import Round
from ovos_memory.core.text import identity

if TYPE_CHECKING:
    from ovos_memory.composite.members import Member
    from ovos_memory.composite.settings import CompositeSettings
    from ovos_memory.core.fusion import RankedList
    from ovos_memory.core.types import MemoryHit

LIST_NAME = "named time"
"""Stands among the members in ``metadata["retrievers"]``."""
_WEIGHING = ("rrf", "weighted", "convex")


def with_named_time(
    lists: Sequence[RankedList],
    query: str,
    *,
    members: Sequence[Member],
    settings: CompositeSettings,
    session_id: str | None,
) -> list[RankedList]:
    """Return the lists, and one of those of their hits that are of a time which the query names, if there are any.

    A retriever ranks by what was said; when it was said is known of every hit with a ``created_at``, whichever
    member found it.  Which times a question names, the first member tells that can (its ``time_fit``).

    Args:
        lists: What the members found; not changed.
        query: The finished query.
        members: All of them.
        settings: With ``date_weight`` 0, or a fusion that takes no weights, nothing is added.
        session_id: For logs.
    """
    reader = next((member for member in members if member.reads_times), None)
    if reader is None or not settings.date_weight or settings.fusion not in _WEIGHING:
        return list(lists)
    dated = _dated(lists)
    moments = list(dict.fromkeys(moment for moment, _ in dated))
    answers = Round(
        [reader] if moments else [],
        "time_fit",
        lambda member: member.time_fit(query, moments),
        timeout_s=settings.member_timeout_s,
        session_id=session_id,
    ).answers()
    fits = dict(zip(moments, answers[0][1], strict=True)) if answers else {}
    ranked = sorted(
        ((fit, hit) for moment, hit in dated if (fit := fits.get(moment, 0.0)) > 0),
        key=lambda each: -each[0],
    )
    return [*lists, _ranked(ranked, settings.date_weight)] if ranked else list(lists)


def _dated(lists: Sequence[RankedList]) -> list[tuple[float, MemoryHit]]:
    """Return the hits that tell when they were said, each text once, with that moment (epoch seconds)."""
    found: dict[str, tuple[float, MemoryHit]] = {}
    for ranked in lists:
        for hit in ranked.hits:
            moment = hit.metadata.get("created_at")
            if isinstance(moment, (int, float)) and math.isfinite(moment):
                found.setdefault(identity(hit.content), (float(moment), hit))
    return list(found.values())


def _ranked(fitting: Sequence[tuple[float, MemoryHit]], weight: float) -> RankedList:
    from dataclasses import replace

    from ovos_memory.core.fusion import RankedList

    return RankedList(LIST_NAME, [replace(hit, score=fit) for fit, hit in fitting], weight, 0.0)
