"""Exchanges that follow each other, as the passages that they are together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Integers = NDArray[np.int64]

_BLOCK = 4_096
"""Pairs whose vectors are gathered at once."""
_LEAST_LENGTH = 1e-3
"""Two vectors that cancel each other out make no passage."""


@dataclass(frozen=True, slots=True)
class Passages:
    """Every two documents of a session that follow each other: one passage, whose vector is the sum of theirs.

    A query that speaks of *it* is near to the sentence with the name and to the one with the answer; the sum of their
    vectors is near to both.  (That a passage's vector may be the sum of its parts': Arora, Liang and Ma, "A Simple
    but Tough-to-Beat Baseline for Sentence Embeddings", ICLR 2017.)  Nothing of it is stored: a document that is
    forgotten takes its part of every passage along.

    Attributes:
        rows: Places of the vectors, in order of their documents; shape (vectors,).
        starts: Where each document begins in ``rows``; shape (documents + 1,), the last is the end.
        documents: The documents, ascending; a session's next has the next number; shape (documents,).
        newest: The highest ``seq`` among each document's vectors; shape (documents,).
        lengths: Of the sum of each document's vector and the next one's, 0 where no next one is known;
            shape (documents,).  A document of several windows counts with their mean.
    """

    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    documents: Integers
    newest: Integers
    lengths: Floats

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the places [from, to) of the documents with these numbers, both ends included."""
        import numpy as np

        low, high = np.searchsorted(self.documents, (first, last + 1))
        return int(low), int(high)

    def scores(self, by_row: Floats, span: tuple[int, int], weight: float) -> Floats:
        """Return the score of each document in a span: its own similarity, and ``weight`` of its better passage's.

        ``(own + weight * max(with the one before, with the one after)) / (1 + weight)``: all are cosines, and so is
        the score.  A document without neighbours has its own similarity.

        Args:
            by_row: Cosine of the query and each vector of these documents, in the order of ``rows``.
            span: As :meth:`span` gives it; it neither begins nor ends within a session.
            weight: > 0.
        """
        import numpy as np

        low, high = span
        starts = self.starts[low:high] - self.starts[low]
        counts = np.diff(self.starts[low : high + 1])
        own = np.maximum.reduceat(by_row, starts)
        means = np.add.reduceat(by_row, starts) / counts
        lengths = self.lengths[low : high - 1]
        is_pair = lengths > 0
        together = np.full(high - low + 1, -np.inf, dtype=np.float32)
        sums = (means[:-1] + means[1:])[is_pair] / lengths[is_pair]
        together[1:-1][is_pair] = np.clip(sums, -1.0, 1.0)
        better = np.maximum(together[:-1], together[1:])
        better = np.where(np.isfinite(better), better, own)
        return np.asarray((own + weight * better) / (1 + weight), dtype=np.float32)


def find_passages(vectors: Floats, documents: Integers, seqs: Integers, known: Passages | None) -> Passages:
    """Return the passages of documents.

    Args:
        vectors: Unit length; shape (vectors, dimension).
        documents: The document of each; shape (vectors,).
        seqs: The number of each, never used twice; shape (vectors,).
        known: Those from before something changed: only what is new is computed.
    """
    import numpy as np

    rows = np.argsort(documents, kind="stable")
    unique, starts = np.unique(documents[rows], return_index=True)
    newest = np.maximum.reduceat(seqs[rows], starts) if len(starts) else seqs[:0]
    starts = np.append(starts, len(rows))
    lengths = np.zeros(len(unique), dtype=np.float32)
    found = Passages(rows, starts, unique, newest, lengths)
    if len(unique) > 1:
        wanted = np.append(np.diff(unique) == 1, False)
        if known is not None and len(known.documents):
            wanted &= ~_take_over(found, known, wanted)
        for block in np.array_split(np.flatnonzero(wanted), max(1, int(wanted.sum()) // _BLOCK)):
            lengths[block] = _lengths(vectors, found, block)
    return found


def _take_over(found: Passages, known: Passages, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Fill in the lengths of wanted passages that did not change; return which these are."""
    import numpy as np

    at = np.minimum(np.searchsorted(known.documents, found.documents), len(known.documents) - 1)
    # New vectors have higher numbers; of several windows some may have come, or gone, without that.
    is_same = known.documents[at] == found.documents
    is_same &= known.newest[at] == found.newest
    is_same &= np.diff(known.starts)[at] == np.diff(found.starts)
    is_kept = wanted & is_same & np.append(is_same[1:], False)
    is_kept &= known.lengths[at] > 0
    found.lengths[is_kept] = known.lengths[at][is_kept]
    return np.asarray(is_kept, dtype=np.bool_)


def _lengths(vectors: Floats, found: Passages, firsts: NDArray[np.intp]) -> Floats:
    import numpy as np

    sums = _mean_vectors(vectors, found, firsts) + _mean_vectors(vectors, found, firsts + 1)
    lengths = np.linalg.norm(sums, axis=1)
    return np.where(lengths > _LEAST_LENGTH, lengths, 0).astype(np.float32)


def _mean_vectors(vectors: Floats, found: Passages, places: NDArray[np.intp]) -> Floats:
    import numpy as np

    counts = found.starts[places + 1] - found.starts[places]
    total: Floats = vectors[found.rows[found.starts[places]]]  # indexing with an array copies
    for window in range(1, int(counts.max(initial=1))):
        more = counts > window
        total[more] += vectors[found.rows[found.starts[places[more]] + window]]
    return np.asarray(total / counts[:, None].astype(np.float32), dtype=np.float32)
