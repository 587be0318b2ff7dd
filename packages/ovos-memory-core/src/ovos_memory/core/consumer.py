"""What a background worker works for: the contract between it and facts, summaries, vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from ovos_memory.core.types import Document

R = TypeVar("R")


class Consumer(Protocol[R]):
    """Who does the work on documents.

    Attributes:
        name: Names the consumer within the ledger (``facts``, ``summary``, ``vectors``).
        fingerprint: With what it works; another one makes all documents pending again.
        lease_s: Seconds that one call of :meth:`handle` may take.
    """

    name: str
    fingerprint: str
    lease_s: float

    def ready_in_s(self) -> float:
        """Return the seconds until work makes sense (a model pauses); 0: now."""

    def choose(self, claimed: Sequence[Document]) -> Sequence[Document]:
        """Return the claimed documents that are handled together, the first among them; others wait."""

    def handle(self, documents: Sequence[Document]) -> R:
        """Do the slow part.  No transaction is open, and nothing is stored yet.

        Raises:
            ModelUnavailable: Not now; the documents stay pending and no failure counts.
            Exception: These documents cannot be handled: of several a smaller part is tried, of a single one
                the fifth failure parks it.
        """

    def keep(self, documents: Sequence[Document], result: R) -> None:
        """Store the result of documents that are still there, and mark them done."""
