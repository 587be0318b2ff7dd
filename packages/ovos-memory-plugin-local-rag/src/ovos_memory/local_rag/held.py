"""Exchanges that are only in memory, because the ledger cannot be written just now: found all the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ovos_memory.core.shared import LruDict
from ovos_memory.core.types import Document, MemoryHit

if TYPE_CHECKING:
    from ovos_memory.local_rag.embedder import Embedder
    from ovos_memory.local_rag.matrix import Floats

_MOST = 1_000
_NEWEST = 1 << 62


class HeldVectors:
    """Vectors of held documents; safe from any thread.

    Args:
        embedder: Makes them.
        document_prefix: In front of every text that is embedded.
    """

    def __init__(self, embedder: Embedder, *, document_prefix: str = "") -> None:
        self._embedder = embedder
        self._prefix = document_prefix
        self._vectors: LruDict[tuple[str, str], list[Floats]] = LruDict(_MOST)

    def of(self, document: Document) -> list[Floats]:
        """Return a document's vectors, made once.

        Raises:
            ModelUnavailable: The model cannot be used just now.
        """
        key = document.id, document.content
        known = self._vectors.get(key)
        if known is None:
            known = self._vectors[key] = self._embedder.batch([self._prefix + document.content])[0]
        return known

    def ranked(
        self, vector: Floats, session_id: str | None, documents: Iterable[Document]
    ) -> list[tuple[MemoryHit, int]]:
        """Return hits, each with how new it is.

        Args:
            vector: The query's.
            session_id: Only this session; ``None``: all.
            documents: What is held.
        """
        ranked = []
        for at, document in enumerate(documents):
            if session_id is not None and document.session_id != session_id:
                continue
            scores = [float(made @ vector) for made in self.of(document)]
            if scores:
                ranked.append((hit_of(document, max(scores)), _NEWEST + at))
        return ranked


def hit_of(document: Document, score: float) -> MemoryHit:
    """Return a document as a hit."""
    metadata = dict(document.metadata) | {
        "session_id": document.session_id,
        "created_at": document.created_at,
    }
    return MemoryHit(document.content, document.id, float(score), metadata)
