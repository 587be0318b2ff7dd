"""What is remembered, as it is listed; apart from the other values, for a turn needs none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """How much of a session is stored, and from when (epoch seconds, UTC)."""

    session_id: str
    documents: int
    first_at: float
    last_at: float


@dataclass(frozen=True, slots=True)
class Record:
    """One remembered thing, as the management contract lists it.

    Attributes:
        id: Unique within its memory.
        kind: ``exchange``, ``text`` (stored verbatim), ``message``, ``fact`` or ``summary``.
        session_id: The session it belongs to.
        created_at: Epoch seconds, UTC.
        text: What is remembered, as text.
        origin: The plugin or member it came from.
        details: What else there is to it, as JSON values: a question and an answer, messages, metadata.
    """

    id: str
    kind: str
    session_id: str
    created_at: float
    text: str
    origin: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
