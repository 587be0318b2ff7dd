"""Exact nearest-neighbour search over vectors in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ovos_memory.core.types import document_id
from ovos_memory.local_rag.passages import Passages, find_passages
from ovos_memory.local_rag.records import Match, StoredVector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_FIRST_CAPACITY = 256
_NUMBER_BITS = 40
"""A document is one integer here: its session's code above these bits, its number within it below."""


class Matrix:
    """Vectors of one model in one float32 array that grows in place; safe from any thread.

    Args:
        dimension: Length of every vector.
    """

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self.dimension = dimension
        self._lock = threading.Lock()
        self._size = 0
        self._vectors: Floats = np.empty((_FIRST_CAPACITY, dimension), dtype=np.float32)
        self._documents = np.empty(_FIRST_CAPACITY, dtype=np.int64)
        self._seqs = np.empty(_FIRST_CAPACITY, dtype=np.int64)
        self._codes: dict[str, int] = {}
        self._sessions: list[str] = []
        self._has_windows = False
        self._changes = 0
        self._passages: tuple[int, Passages] | None = None

    def __len__(self) -> int:
        return self._size

    def add(self, vectors: Iterable[StoredVector]) -> None:
        """Append vectors; their ``seq`` are greater than all that came before."""
        import numpy as np

        with self._lock:
            self._changes += 1
            for vector in vectors:
                if self._size == len(self._seqs):
                    self._grow()
                at = self._size
                self._vectors[at] = np.frombuffer(vector.blob, dtype=np.float32)
                self._documents[at] = (self._code(vector.session) << _NUMBER_BITS) | vector.n
                self._seqs[at] = vector.seq
                self._has_windows |= vector.window > 0
                self._size += 1

    def _code(self, session: str) -> int:
        code = self._codes.get(session)
        if code is None:
            code = self._codes[session] = len(self._sessions)
            self._sessions.append(session)
        return code

    def _grow(self) -> None:
        import numpy as np

        # New arrays, not resize(): a search that runs meanwhile keeps looking at the old ones.
        capacity = 2 * len(self._seqs)
        for name in ("_vectors", "_documents", "_seqs"):
            old = getattr(self, name)
            new = np.empty((capacity, *old.shape[1:]), dtype=old.dtype)
            new[: self._size] = old[: self._size]
            setattr(self, name, new)

    def remove(self, seqs: Sequence[int]) -> None:
        """Drop the vectors with these numbers; unknown ones are ignored."""
        import numpy as np

        if not seqs:
            return
        with self._lock:
            keep = ~np.isin(self._seqs[: self._size], np.asarray(seqs, dtype=np.int64))
            kept = int(keep.sum())
            if kept == self._size:
                return
            self._changes += 1
            for name in ("_vectors", "_documents", "_seqs"):
                old = getattr(self, name)
                new = np.empty_like(old)
                new[:kept] = old[: self._size][keep]
                setattr(self, name, new)
            self._size = kept

    def search(
        self, query: Floats, top_k: int, *, session: str | None = None, neighbour_weight: float = 0.0
    ) -> list[Match]:
        """Return the ``top_k`` nearest documents, best first; of equals the newer first.

        Args:
            query: float32 of unit length and the right dimension.
            top_k: >= 1; fewer come back when there are fewer.
            session: Search only this session's documents; ``None``: all.
            neighbour_weight: How much the passages that a document makes with the ones before and after it count
                beside its own similarity (1); see :meth:`~ovos_memory.local_rag.passages.Passages.scores`.
        """
        if neighbour_weight:
            return self._search_passages(query, top_k, session, neighbour_weight)
        return self._search_vectors(query, top_k, session)

    def _search_vectors(self, query: Floats, top_k: int, session: str | None) -> list[Match]:
        import numpy as np

        with self._lock:
            size, vectors, documents = self._size, self._vectors, self._documents
            seqs, has_windows = self._seqs, self._has_windows
            code = None if session is None else self._codes.get(session, -1)
        if code is not None:
            chosen = np.flatnonzero(documents[:size] >> _NUMBER_BITS == code)
            scores = vectors[chosen] @ query
            documents, seqs = documents[chosen], seqs[chosen]
            size = len(chosen)
        else:
            scores = vectors[:size] @ query
        wanted = top_k
        while size:
            best = _best(scores, seqs[:size], min(wanted, size))
            # One window per document is the common case; only otherwise can a document fill several places.
            found: dict[int, float] = {}
            for document, score in zip(documents[best].tolist(), scores[best].tolist(), strict=True):
                found.setdefault(document, score)
            if not has_windows or len(found) >= top_k or wanted >= size:
                return [Match(self._id(document), score) for document, score in found.items()][:top_k]
            wanted *= 4
        return []

    def _search_passages(
        self, query: Floats, top_k: int, session: str | None, neighbour_weight: float
    ) -> list[Match]:
        with self._lock:
            passages, vectors = self._current_passages(), self._vectors[: self._size]
            code = None if session is None else self._codes.get(session, -1)
        span = 0, len(passages.documents)
        if code is not None:
            span = passages.span(code << _NUMBER_BITS, ((code + 1) << _NUMBER_BITS) - 1)
        low, high = span
        if low == high:
            return []
        if code is None:
            by_row = (vectors @ query)[passages.rows]
        else:
            by_row = vectors[passages.rows[passages.starts[low] : passages.starts[high]]] @ query
        scores = passages.scores(by_row, span, neighbour_weight)
        best = _best(scores, passages.newest[low:high], min(top_k, high - low))
        found = zip(passages.documents[low:high][best].tolist(), scores[best].tolist(), strict=True)
        return [Match(self._id(document), score) for document, score in found]

    def _current_passages(self) -> Passages:
        """Return what follows what among the vectors as they are; call it with the lock held."""
        if self._passages is None or self._passages[0] != self._changes:
            size, known = self._size, self._passages[1] if self._passages else None
            found = find_passages(self._vectors[:size], self._documents[:size], self._seqs[:size], known)
            self._passages = self._changes, found
        return self._passages[1]

    def _id(self, document: int) -> str:
        return document_id(self._sessions[document >> _NUMBER_BITS], document & ((1 << _NUMBER_BITS) - 1))


def _best(scores: Floats, seqs: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Return positions of the ``count`` highest scores, best first, of equals the newest first."""
    import numpy as np

    if count < len(scores):
        chosen = np.argpartition(scores, len(scores) - count)[-count:]
        floor = scores[chosen].min()
        ties = np.flatnonzero(scores == floor)
        if len(ties) > int((scores[chosen] == floor).sum()):
            # argpartition takes any of the equals at the border; the newest shall be in.
            above = chosen[scores[chosen] > floor]
            newest = ties[np.argsort(-seqs[ties], kind="stable")][: count - len(above)]
            chosen = np.concatenate([above, newest])
    else:
        chosen = np.arange(len(scores))
    return chosen[np.lexsort((-seqs[chosen], -scores[chosen]))]
