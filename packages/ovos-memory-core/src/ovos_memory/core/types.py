"""Value objects that the modules hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage

DEFAULT_SESSION = "default"
"""The session of a caller that names none (``None``); the empty string is a session of its own."""


@dataclass(frozen=True, slots=True)
class MemoryHit:
    r"""One recalled text.

    Attributes:
        content: The text as it was stored; of an exchange ``"Q: <user>\nA: <assistant>"``.
        source: Id of the document it came from, ``"<session_id>_<n>"`` in this family; ``None`` when unknown.
        score: Bigger is better; the scale is the retriever's own and comparable only within one list.
        metadata: Facts about the hit, such as ``session_id`` and ``created_at`` (epoch seconds, UTC).
    """

    content: str
    source: str | None = None
    score: float = 0.0
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a user said and what was answered, tool calls included.

    Attributes:
        question: The user's words; ``""`` when the assistant spoke first.
        answer: The assistant's words, its pieces joined by newlines; tool output is not part of it.
        messages: All messages in order, private copies.
    """

    question: str
    answer: str
    messages: tuple[AgentMessage, ...]

    @property
    def content(self) -> str:
        """The text that is indexed and recalled."""
        return exchange_content(self.question, self.answer)


@dataclass(frozen=True, slots=True)
class Document:
    """A stored exchange (or a text stored verbatim).

    Attributes:
        session_id: The session it belongs to, opaque.
        n: Its number within the session, from 0, never reused.
        question: See :class:`Exchange`; ``""`` for a verbatim text.
        answer: See :class:`Exchange`; ``""`` for a verbatim text.
        messages: The messages as recorded; empty for a verbatim text.
        created_at: Epoch seconds, UTC.
        text: The verbatim text, or ``None`` for an exchange.
        metadata: What the caller gave with a verbatim text.
        row: Row number in its ledger, ascending in order of arrival; -1 while it is only in memory.
        change: Number of the ledger's last change to it; every append, extension and edit takes a new one.
    """

    session_id: str
    n: int
    question: str
    answer: str
    messages: tuple[AgentMessage, ...]
    created_at: float
    text: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    row: int = -1
    change: int = -1

    @property
    def id(self) -> str:
        """``"<session_id>_<n>"``."""
        return document_id(self.session_id, self.n)

    @property
    def content(self) -> str:
        """The text that is indexed and recalled."""
        return exchange_content(self.question, self.answer) if self.text is None else self.text


def exchange_content(question: str, answer: str) -> str:
    """Return the recalled text of an exchange."""
    return f"Q: {question}\nA: {answer}"


def document_id(session_id: str, n: int) -> str:
    """Return the stable id of the ``n``-th document of a session."""
    return f"{session_id}_{n}"


def parse_document_id(identifier: str) -> tuple[str, int] | None:
    """Split an id into session and number; ``None`` when it is not one.

    The number is the part behind the *last* underscore, so ``"a_1_0"`` belongs to the session ``"a_1"`` and no two
    sessions ever share an id.
    """
    session_id, separator, digits = identifier.rpartition("_")
    if not separator or len(digits) > 19 or not digits.isascii() or not digits.isdecimal():
        return None
    return (session_id, int(digits)) if digits == str(int(digits)) else None
