"""What a backlog holds while its store cannot be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core.exchanges import append_turns, make_exchange
from ovos_memory.core.types import Document, Exchange


@dataclass(frozen=True)
class Held:
    """A change that waits for the store.

    Attributes:
        document: As it will be, for views; its number is a guess until it is stored.
        pieces: The later pieces of a document that is on disk already; ``None``: a new document.
    """

    document: Document
    pieces: tuple[AgentMessage, ...] | None = None


def exchange_of(document: Document) -> Exchange:
    """Return what was said in a document."""
    return Exchange(document.question, document.answer, document.messages)


def longer_by(document: Document, pieces: Sequence[AgentMessage]) -> Document:
    """Return a document with later pieces of its answer."""
    exchange = make_exchange(append_turns(document.messages, pieces))
    return replace(document, question=exchange.question, answer=exchange.answer, messages=exchange.messages)
