"""Query words that stand nearly everywhere say nothing about what is meant, but pull a query's vector their way."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.text import fold

if TYPE_CHECKING:
    from ovos_memory.core.ledger import SqliteLedger

_WORD = re.compile(r"\w+")
_SAMPLE = 2_000
"""Newest documents that the shares are taken from."""
_FEWEST = 20
"""Below so many documents a share means nothing."""
_GROWTH = 1.1


class CommonWords:
    """Shares of documents that hold a word, from the ledger's newest ones; safe from any thread.

    Args:
        ledger: The documents.
    """

    def __init__(self, ledger: SqliteLedger) -> None:
        self._ledger = ledger
        self._lock = ProcessLock()
        self._counts: Counter[str] = Counter()
        self._documents = 0
        self._seen_change = -1

    def without(self, text: str, share: float) -> str:
        """Return a text without the words that stand in more than ``share`` (0..1) of the documents.

        Where nothing would be left, or there are too few documents to tell, it is returned as it is.
        """
        self._refresh()
        if self._documents < _FEWEST:
            return text
        limit = share * self._documents
        kept = _WORD.sub(lambda word: "" if self._counts[fold(word[0])] > limit else word[0], text)
        return " ".join(kept.split()) if _WORD.search(kept) else text

    def _refresh(self) -> None:
        change = self._ledger.last_change()
        with self._lock:
            if self._seen_change >= 0 and change < max(
                self._seen_change * _GROWTH, self._seen_change + _FEWEST
            ):
                return
            counts: Counter[str] = Counter()
            documents = self._ledger.changed(max(0, change - _SAMPLE), _SAMPLE)
            for document in documents:
                counts.update(set(_WORD.findall(fold(document.content))))
            self._counts, self._documents, self._seen_change = counts, len(documents), change
