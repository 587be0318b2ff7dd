"""A vector store without a library: a dict per collection, with the habits of the real ones on request."""

from __future__ import annotations

import copy
import math
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

Distance = Literal["cosine", "similarity", "l2", "inner_product"]
Failure = Literal["none", "locked", "raises", "hangs"]
Rows = dict[str, tuple[list[float], dict[str, Any]]]

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")


class FakeStore:
    """Shaped like OPM's ``EmbeddingsDB``.

    Stores of one ``path`` share their rows, so a second instance is a restart.

    Args:
        config: Keys are ``path`` and the attributes below.

    Attributes:
        distance: What ``query`` returns beside the key: ``cosine`` distance by the template's contract,
            ``similarity`` (bigger is nearer, as ovos-qdrant's), ``l2``, ``inner_product`` (1 - dot).
        limits_names: Collection names must be 3-512 of ``[a-zA-Z0-9._-]``, as chromadb's.
        rejects_none: Metadata must be flat and hold no ``None``, list or dict; an empty dict is refused too.
        merges_metadata: An upsert keeps old keys, as chromadb's does.
        marks_metadata: Writes ``original_key`` into the dict it is given, as ovos-qdrant does.
        failure: What every call does instead; ``hangs`` waits for :attr:`release`.
        is_stale: Reads see what was there when the store was opened.
        calls: Names of the methods called, in order.
    """

    _shared: ClassVar[dict[str, dict[str, Rows]]] = {}

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.config = dict(config or {})
        path = self.config.get("path")
        self.collections: dict[str, Rows] = {} if path is None else self._shared.setdefault(str(path), {})
        self.default_collection_name: str = self.config.get("default_collection_name", "embeddings")
        self.distance: Distance = self.config.get("distance", "cosine")
        self.limits_names: bool = self.config.get("limits_names", False)
        self.rejects_none: bool = self.config.get("rejects_none", False)
        self.merges_metadata: bool = self.config.get("merges_metadata", False)
        self.marks_metadata: bool = self.config.get("marks_metadata", False)
        self.failure: Failure = self.config.get("failure", "none")
        self.is_stale: bool = self.config.get("is_stale", False)
        self.release = threading.Event()
        self.calls: list[str] = []
        self._opened = copy.deepcopy(self.collections)
        self._lock = threading.Lock()

    # ------------------------------------------------------------------ collections
    def create_collection(self, name: str, metadata: Mapping[str, Any] | None = None) -> Any:
        """Make a collection unless it exists, and return its name."""
        self._enter("create_collection")
        if self.limits_names and not _LEGAL_NAME.fullmatch(name):
            raise ValueError(f"expected a name of 3-512 characters from [a-zA-Z0-9._-], got {name!r}")
        self.collections.setdefault(name, {})
        return name

    def get_collection(self, name: str) -> Any:
        """Return a collection's name.

        Raises:
            ValueError: There is none of that name.
        """
        self._enter("get_collection")
        self._rows(name)
        return name

    def delete_collection(self, name: str) -> None:
        """Drop a collection."""
        self._enter("delete_collection")
        del self.collections[name]

    def list_collections(self) -> list[Any]:
        """Return the names of all collections."""
        self._enter("list_collections")
        return list(self.collections)

    # ------------------------------------------------------------------ rows
    def add_embeddings(
        self,
        key: str,
        embedding: Any,
        metadata: dict[str, Any] | None = None,
        collection_name: str | None = None,
    ) -> Any:
        """Store or replace one vector."""
        self._enter("add_embeddings")
        self._add(key, embedding, metadata, collection_name)
        return embedding

    def add_embeddings_batch(
        self,
        keys: Sequence[str],
        embeddings: Sequence[Any],
        metadata: Sequence[dict[str, Any]] | None = None,
        collection_name: str | None = None,
    ) -> None:
        """Store or replace many vectors."""
        self._enter("add_embeddings_batch")
        for number, key in enumerate(keys):
            self._add(key, embeddings[number], metadata[number] if metadata else None, collection_name)

    def get_embeddings(
        self, key: str, collection_name: str | None = None, return_metadata: bool = False
    ) -> Any:
        """Return a vector, or ``None``; with metadata a tuple."""
        self._enter("get_embeddings")
        found = self._rows(collection_name).get(key)
        if return_metadata:
            return (None, None) if found is None else (list(found[0]), dict(found[1]))
        return None if found is None else list(found[0])

    def get_embeddings_batch(
        self, keys: Sequence[str], collection_name: str | None = None, return_metadata: bool = False
    ) -> list[Any]:
        """Return (key, vector) or (key, vector, metadata) of the keys that are there."""
        self._enter("get_embeddings_batch")
        rows = self._rows(collection_name)
        found = [(key, list(rows[key][0]), dict(rows[key][1])) for key in keys if key in rows]
        return found if return_metadata else [row[:2] for row in found]

    def delete_embeddings(self, key: str, collection_name: str | None = None) -> None:
        """Drop one row, if it is there."""
        self._enter("delete_embeddings")
        self._rows(collection_name).pop(key, None)

    def delete_embeddings_batch(self, keys: Sequence[str], collection_name: str | None = None) -> None:
        """Drop many rows."""
        self._enter("delete_embeddings_batch")
        for key in keys:
            self._rows(collection_name).pop(key, None)

    def query(
        self,
        embeddings: Any,
        top_k: int = 5,
        return_metadata: bool = False,
        collection_name: str | None = None,
    ) -> list[Any]:
        """Return (key, distance) or (key, distance, metadata), nearest first."""
        self._enter("query")
        wanted = [float(number) for number in embeddings]
        rows = self._rows(collection_name, self._opened if self.is_stale else self.collections)
        if any(len(vector) != len(wanted) for vector, _ in rows.values()):
            raise ValueError(f"this collection does not hold vectors of {len(wanted)} numbers")
        measured = [
            (key, self._distance(wanted, vector), dict(facts)) for key, (vector, facts) in rows.items()
        ]
        measured.sort(key=lambda row: -row[1] if self.distance == "similarity" else row[1])
        return measured[:top_k] if return_metadata else [row[:2] for row in measured[:top_k]]

    def count_embeddings_in_collection(self, collection_name: str | None = None) -> int:
        """Return how many rows a collection has."""
        self._enter("count_embeddings_in_collection")
        return len(self._rows(collection_name))

    # ------------------------------------------------------------------ inside
    def _enter(self, name: str) -> None:
        self.calls.append(name)
        if self.failure == "locked":
            raise OSError("the store is used by another process")
        if self.failure == "raises":
            raise RuntimeError("the store is broken")
        if self.failure == "hangs":
            self.release.wait()

    def _rows(self, name: str | None, collections: dict[str, Rows] | None = None) -> Rows:
        collections = self.collections if collections is None else collections
        chosen = name or self.default_collection_name
        if chosen not in collections:
            if name is not None:
                raise ValueError(f"collection {chosen!r} not found")
            collections[chosen] = {}
        return collections[chosen]

    def _add(self, key: str, embedding: Any, metadata: dict[str, Any] | None, name: str | None) -> None:
        vector = [float(number) for number in embedding]
        if self.rejects_none and metadata is not None:
            odd = [k for k, v in metadata.items() if not isinstance(v, (str, int, float, bool))]
            if odd or not metadata:
                raise ValueError(f"metadata must be flat and must not be empty: {odd}")
        with self._lock:
            rows = self._rows(name)
            known = next(iter(rows.values()), None)
            if known is not None and len(known[0]) != len(vector):
                raise ValueError(f"expected {len(known[0])} numbers, got {len(vector)}")
            if self.marks_metadata and metadata is not None:
                metadata["original_key"] = key
            kept = dict(rows[key][1]) if self.merges_metadata and key in rows else {}
            rows[key] = (vector, {**kept, **(metadata or {})})

    def _distance(self, a: Sequence[float], b: Sequence[float]) -> float:
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        if self.distance == "inner_product":
            return 1.0 - dot
        if self.distance == "l2":
            return math.dist(a, b)
        lengths = math.hypot(*a) * math.hypot(*b)
        cosine = dot / lengths if lengths else 0.0
        return cosine if self.distance == "similarity" else 1.0 - cosine


class FakePathStore(FakeStore):
    """One whose constructor takes ``path`` instead of a configuration, as some plugins' do."""

    def __init__(self, path: str | None = None) -> None:
        super().__init__({} if path is None else {"path": path})
