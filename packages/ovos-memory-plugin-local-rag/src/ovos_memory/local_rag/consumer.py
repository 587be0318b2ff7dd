"""Vectors as background work: after a model change, for what failed, or always with ``background``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ovos_memory.core.types import Document

if TYPE_CHECKING:
    from ovos_memory.local_rag.index import VectorIndex
    from ovos_memory.local_rag.matrix import Floats

CONSUMER = "vectors"
"""Names the vectors in the ledger's marks."""


class VectorConsumer:
    """Embeds what the worker claims.

    Args:
        index: Embeds, and stores the vectors.
    """

    name = CONSUMER
    lease_s = 120.0

    def __init__(self, index: VectorIndex) -> None:
        self._index = index

    @property
    def fingerprint(self) -> str:
        """The model's; that of the last one known while none is loaded."""
        return self._index.current.fingerprint()

    def ready_in_s(self) -> float:
        """Return the seconds until the model may be there."""
        return self._index.embedder.ready_in_s()

    def choose(self, claimed: Sequence[Document]) -> Sequence[Document]:
        """Return all: they are embedded in one batch."""
        return claimed

    def handle(self, documents: Sequence[Document]) -> list[list[Floats]]:
        """Return the vectors of the documents' windows.

        Raises:
            ModelUnavailable: The model cannot be used just now.
            BadReply: A document has no usable vector.
        """
        return self._index.embed(documents, must_all_work=True)

    def keep(self, documents: Sequence[Document], result: list[list[Floats]]) -> None:
        """Store the vectors, and hand them over to the vector store."""
        self._index.keep(documents, result)
        self._index.push_safely()
