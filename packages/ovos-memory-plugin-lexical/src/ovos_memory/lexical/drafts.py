"""Documents as the analyzer sees them, kept at hand while they wait for the index."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ovos_memory.core.ledger_codec import document_of, session_key
from ovos_memory.core.text import identity
from ovos_memory.core.types import Document
from ovos_memory.lexical.analysis import Analyzer

_KEPT = 512
_HELD = -1
"""In place of a change number, for documents that the ledger does not have."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as the analyzer sees it.

    Attributes:
        row: Its row in the ledger; negative while it is only in memory.
        session: Its session's number, -1 while that is not known.
        n: Its number in the session.
        created_at: Epoch seconds.
        digest: Equal for identical documents of a session.
        counts: Term -> how often it occurs.
        words: Terms, repeats included.
    """

    row: int
    session: int
    n: int
    created_at: float
    digest: int
    counts: dict[str, int]
    words: int


class Drafts:
    """Makes drafts, each only once; safe from any thread.

    Args:
        analyzer: Makes the terms.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self._kept: dict[tuple[int, int], Draft] = {}

    def get(self, row: int, change: int) -> Draft | None:
        """Return the draft of a document at that change, when it is at hand."""
        return self._kept.get((row, change))

    def of_row(self, row: tuple[Any, ...]) -> Draft:
        """Return the draft of a document as selected from the ledger, its session's number behind it."""
        document = document_of(row[:10])
        draft = self._kept.get((document.row, document.change))
        return draft or self._keep((document.row, document.change), self._made(document, row[10]))

    def of_held(self, document: Document, row: int, session: int) -> Draft:
        """Return the draft of a document that the ledger does not have, or not as it is now."""
        key = (digest_of(document), _HELD)
        draft = self._kept.get(key) or self._keep(key, self._made(document, session))
        return replace(draft, row=row, session=session, n=document.n, created_at=document.created_at)

    def drop(self, keys: Iterable[tuple[int, int]]) -> None:
        """Let go of drafts, by row and change."""
        for key in keys:
            self._kept.pop(key, None)

    def _keep(self, key: tuple[int, int], draft: Draft) -> Draft:
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        self._kept[key] = draft
        return draft

    def _made(self, document: Document, session: int) -> Draft:
        said = document.text if document.text is not None else f"{document.question}\n{document.answer}"
        terms = self.analyzer.terms(said)
        return Draft(
            document.row,
            session,
            document.n,
            document.created_at,
            digest_of(document),
            dict(Counter(terms)),
            len(terms),
        )


def digest_of(document: Document) -> int:
    """Return 64 bits that are equal for identical documents of a session."""
    said = identity(document.content).encode("utf-8", "surrogatepass")
    whole = hashlib.blake2b(
        said, digest_size=8, key=hashlib.sha256(session_key(document.session_id)).digest()
    )
    return int.from_bytes(whole.digest(), "little", signed=True)
