"""Answers to a query: from the vector store, from the ledger's own vectors, or from both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ovos_memory.core.errors import OvosMemoryError, StoreUnavailable
from ovos_memory.core.types import Document, MemoryHit, document_id
from ovos_memory.local_rag.held import hit_of
from ovos_memory.local_rag.names import parse_vector_key, store_text

if TYPE_CHECKING:
    from ovos_memory.local_rag.index import VectorIndex
    from ovos_memory.local_rag.matrix import Floats
    from ovos_memory.local_rag.records import Model
    from ovos_memory.local_rag.scores import Direction
    from ovos_memory.local_rag.stores.base import Found

_FEW_HIDDEN = 64
"""Vectors that the store does not have and that are compared one by one; with more everything is compared."""
_MOST_ASKED = 4_096


Ranked = tuple[MemoryHit, int]
"""A hit and how new it is."""


def ranked_hits(
    index: VectorIndex,
    vector: Floats,
    session_id: str | None,
    top_k: int,
    *,
    neighbour_weight: float = 0.0,
) -> list[Ranked]:
    """Return the documents nearest to a query's vector, in no order.

    Args:
        index: The vectors.
        vector: The query's.
        session_id: Only this session; ``None``: all.
        top_k: How many are wanted; a few more may come.
        neighbour_weight: How much a document's passages with its neighbours count; with any the ledger's own vectors
            answer, for no store knows which documents are neighbours.

    Raises:
        OvosMemoryError: The model or the ledger cannot be used.
    """
    model = index.current.loaded()
    index.boundary.call("index", lambda: index.embed_leftovers(model), lambda: None)
    search = _Search(index, model, vector, session_id, top_k, neighbour_weight)
    found = None
    if index.mirror is not None and not neighbour_weight:
        try:
            found = index.beside.run(search.from_store)
        except StoreUnavailable as error:
            index.boundary.failed("vector store", error, session_id=session_id)
    return search.exact() if found is None else found


def best_first(ranked: list[Ranked], top_k: int) -> list[MemoryHit]:
    """Return the ``top_k`` best hits, of equals the newest first."""
    ranked.sort(key=lambda each: (-round(each[0].score, 6), -each[1]))
    return [hit for hit, _ in ranked[:top_k]]


class _Search:
    """One query on its way."""

    def __init__(
        self,
        index: VectorIndex,
        model: Model,
        vector: Floats,
        session_id: str | None,
        top_k: int,
        neighbour_weight: float,
    ) -> None:
        self._index = index
        self._model = model
        self._vector = vector
        self._session = session_id
        self._top_k = top_k
        self._neighbour_weight = neighbour_weight

    # ------------------------------------------------------------------ exact
    def exact(self) -> list[Ranked]:
        """Return the hits by the ledger's own vectors."""
        wanted = self._top_k
        while True:
            matches = self._index.exact.search(
                self._model,
                self._vector,
                wanted,
                session=self._session,
                neighbour_weight=self._neighbour_weight,
            )
            documents = {d.id: d for d in self._index.ledger.get_many([m.document_id for m in matches])}
            hits = [_hit(documents[m.document_id], m.score) for m in matches if m.document_id in documents]
            if len(hits) >= self._top_k or len(matches) < wanted:
                return hits
            wanted *= 2  # forgotten while we looked

    # ------------------------------------------------------------------ the store
    def from_store(self) -> list[Ranked] | None:
        """Return the hits by the store and what it does not have yet; ``None`` when it cannot answer."""
        index = self._index
        if index.mirror is None:
            return None
        try:
            store, collection = index.mirror.open(self._model)
            if index.mirror.is_blind(store):
                return None
            if self._session is not None and not store.can_filter:
                return None
            with index.ledger.database.read() as connection:
                hidden = index.table.unpushed(connection, self._model, _FEW_HIDDEN + 1)
            if hidden:
                index.push_behind()
            if len(hidden) > _FEW_HIDDEN and not store.is_served:
                return None
            session = None if self._session is None else store_text(self._session)
            wanted = self._top_k
            while True:
                found = index.mirror.query(store, collection, self._vector, wanted, session=session)
                ranked, is_enough = self._ranked(found, collection, has_hidden=bool(hidden))
                if is_enough or len(found) < wanted:
                    break
                wanted *= 4
                if wanted > max(_MOST_ASKED, 4 * self._top_k):
                    return None
        except OvosMemoryError as error:
            index.boundary.failed("vector store", error, session_id=self._session)
            return None
        if len(hidden) > _FEW_HIDDEN:
            return self.exact() + [each for each in ranked if each[1] < 0]
        return _merged(ranked, self._scored({document_id(v.session, v.n) for v in hidden}, self._session))

    def _ranked(
        self, found: Sequence[Found], collection: str, *, has_hidden: bool
    ) -> tuple[list[Ranked], bool]:
        """Turn the store's rows into hits; also tell whether there are as many as wanted."""
        index, mirror = self._index, self._index.mirror
        assert mirror is not None
        best: dict[str, int] = {}
        foreign: list[int] = []
        for at, row in enumerate(found):
            parsed = parse_vector_key(row.key, mirror.origin)
            if parsed is None:
                foreign.append(at)
            else:
                best.setdefault(parsed[0], at)
        with index.ledger.database.read() as connection:
            documents = index.ledger.get_many(best, connection=connection)
            blobs = {}
            if has_hidden or not mirror.knows_direction(collection):
                blobs = index.table.of_documents(connection, self._model, documents)
        cosines = {key: score for key, made in blobs.items() if (score := self._cosine(made)) is not None}
        values = [row.value for row in found]
        direction = mirror.direction(collection, values, {best[key]: c for key, c in cosines.items()})
        # With rows from elsewhere in one list all of them need one scale.
        own = cosines if has_hidden else {}
        ranked = [_hit(d, own.get(d.id, direction.score(values[best[d.id]]))) for d in documents]
        if self._session is None:
            ranked += _foreign([found[at] for at in foreign], direction)
        return ranked, len(ranked) >= self._top_k

    def _scored(self, ids: set[str], session_id: str | None) -> list[Ranked]:
        if not ids:
            return []
        with self._index.ledger.database.read() as connection:
            documents = self._index.ledger.get_many(ids, connection=connection)
            documents = [d for d in documents if session_id is None or d.session_id == session_id]
            blobs = self._index.table.of_documents(connection, self._model, documents)
        scores = {key: self._cosine(made) for key, made in blobs.items()}
        return [_hit(d, score) for d in documents if (score := scores.get(d.id)) is not None]

    def _cosine(self, blobs: Sequence[bytes]) -> float | None:
        import numpy as np

        return max((float(np.frombuffer(b, dtype=np.float32) @ self._vector) for b in blobs), default=None)


def _hit(document: Document, score: float) -> Ranked:
    return hit_of(document, score), document.change


def _foreign(found: Sequence[Found], direction: Direction) -> list[Ranked]:
    """Return hits of other hosts, answered from what they keep in the store."""
    hits: dict[str, Ranked] = {}
    for row in found:
        content = row.metadata.get("content")
        if isinstance(content, str) and content:
            key = row.key.rpartition("#")[0] or row.key
            metadata: Mapping[str, Any] = {k: v for k, v in row.metadata.items() if k != "content"}
            hits.setdefault(key, (MemoryHit(content, row.key, direction.score(row.value), metadata), -1))
    return list(hits.values())


def _merged(first: list[Ranked], second: list[Ranked]) -> list[Ranked]:
    """Return both lists as one, a document once, with the second's score."""
    later = {hit.source for hit, _ in second}
    return [each for each in first if each[0].source not in later] + second
