"""Query words that stand nearly everywhere say nothing about what is meant, but pull a query's vector their way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
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
_CAPITALISED = 0.9
"""A word that is written with a capital letter at least so often is a name; others only begin sentences."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """Of folded words, in the newest documents.

    Attributes:
        documents: How many there are.
        holding: Documents that hold the word.
        written: How often it is written.
        capitalised: How often with a capital letter.
    """

    documents: int = 0
    holding: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    capitalised: Counter[str] = field(default_factory=Counter)


class CommonWords:
    """Shares of documents that hold a word, from the ledger's newest ones; safe from any thread.

    Args:
        ledger: The documents.
    """

    def __init__(self, ledger: SqliteLedger) -> None:
        self._ledger = ledger
        self._lock = ProcessLock()
        self._counts = _Counts()
        self._seen_change = -1

    def without(self, text: str, share: float) -> str:
        """Return a text without the words that stand in more than ``share`` (0..1) of the documents.

        Where nothing would be left, or there are too few documents to tell, it is returned as it is.
        """
        counts = self._current()
        return _without(text, counts, lambda word: counts.holding[word] > share * counts.documents)

    def without_names(self, text: str, share: float) -> str:
        """Return a text without the names that stand in more than ``share`` (0..1) of the documents, likewise.

        Those are mostly of who speaks: each calls the other by name, whatever they speak of.  What else is common
        stays, for a sentence model was trained on whole sentences.  A script without capital letters has no names.
        """
        counts = self._current()
        return _without(
            text,
            counts,
            lambda word: counts.holding[word] > share * counts.documents and _is_name(word, counts),
        )

    def _current(self) -> _Counts:
        change = self._ledger.last_change()
        with self._lock:
            is_due = change >= max(self._seen_change * _GROWTH, self._seen_change + _FEWEST)
            if self._seen_change < 0 or is_due:
                self._counts, self._seen_change = self._counted(change), change
            return self._counts

    def _counted(self, change: int) -> _Counts:
        documents = self._ledger.changed(max(0, change - _SAMPLE), _SAMPLE)
        counts, folded = _Counts(len(documents)), {}
        for document in documents:
            words = _WORD.findall(document.content)
            for word in words:
                if word not in folded:
                    folded[word] = fold(word)
            counts.holding.update({folded[word] for word in words})
            counts.written.update(folded[word] for word in words)
            counts.capitalised.update(folded[word] for word in words if word[0].isupper())
        return counts


def _is_name(word: str, counts: _Counts) -> bool:
    # A single letter is no name: English writes I with a capital wherever it stands.
    return len(word) > 1 and counts.capitalised[word] >= _CAPITALISED * counts.written[word] > 0


def _without(text: str, counts: _Counts, is_left_out: Callable[[str], bool]) -> str:
    if counts.documents < _FEWEST:
        return text
    kept = _WORD.sub(lambda word: "" if is_left_out(fold(word[0])) else word[0], text)
    return " ".join(kept.split()) if _WORD.search(kept) else text
