"""Qdrant, in process or served, behind its OVOS plugin."""

from __future__ import annotations

import contextlib
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_memory.core.files import file_id
from ovos_memory.local_rag.stores.base import Found, VectorStore

if TYPE_CHECKING:
    from ovos_memory.local_rag.matrix import Floats

_KEY = "original_key"
"""Where the plugin keeps a row's key; Qdrant itself takes only UUIDs and numbers."""
_PAGE = 1_000
_FILES = ("meta.json", "collection", ".lock")


class QdrantStore(VectorStore):
    """Qdrant; searches within a session by a filter.

    It talks to the plugin's client itself: the plugin's own methods write into the metadata they get, print
    the keys of what they delete, and know one vector size for all collections.

    Args:
        db: The plugin object.
        plugin: Entry-point name of the memory, for messages.
        is_served: Whether it is a server.
        folder: Its folder when it runs in process.
    """

    can_filter = True
    shows_at_once = True

    def __init__(self, db: Any, *, plugin: str, is_served: bool = False, folder: Path | None = None) -> None:
        super().__init__(db, plugin=plugin, is_served=is_served)
        from ovos_qdrant_embeddings import POINT_ID_NAMESPACE

        self._namespace: uuid.UUID = POINT_ID_NAMESPACE
        self._folder = folder
        self._file_id = file_id(folder / "meta.json") if folder else None

    def open_collection(self, name: str, dimension: int) -> None:
        """Make sure that a collection for vectors of this dimension exists."""
        from qdrant_client import models

        with self._guard("open"):
            if not self._db.client.collection_exists(collection_name=name):
                self._db.client.create_collection(
                    collection_name=name,
                    vectors_config=models.VectorParams(size=dimension, distance=self._db.distance_metric),
                )

    def count(self, name: str) -> int:
        """Return how many vectors a collection holds, 0 when there is none of that name."""
        with self._guard("count"):
            if not self._db.client.collection_exists(collection_name=name):
                return 0
            return int(self._db.client.count(collection_name=name, exact=True).count)

    def drop_collection(self, name: str) -> None:
        """Delete a collection with all it holds."""
        with self._guard("delete"):
            self._db.client.delete_collection(collection_name=name)

    def rows(self, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Return key and metadata of everything in a collection."""
        offset: Any = None
        while True:
            with self._guard("list"):
                points, offset = self._db.client.scroll(
                    collection_name=name, limit=_PAGE, offset=offset, with_payload=True, with_vectors=False
                )
            for point in points:
                found = self._found(point, 0.0)
                yield found.key, found.metadata
            if offset is None:
                return

    def _point_id(self, key: str) -> str:
        return str(uuid.uuid5(self._namespace, key))

    def _upsert(
        self, name: str, keys: list[str], vectors: list[Floats], metadata: list[dict[str, Any]]
    ) -> None:
        from qdrant_client import models

        points = [
            models.PointStruct(id=self._point_id(key), vector=vector.tolist(), payload={**facts, _KEY: key})
            for key, vector, facts in zip(keys, vectors, metadata, strict=True)
        ]
        self._db.client.upsert(collection_name=name, points=points, wait=True)

    def _delete(self, name: str, keys: list[str]) -> None:
        from qdrant_client import models

        selector = models.PointIdsList(points=[self._point_id(key) for key in keys])
        self._db.client.delete(collection_name=name, points_selector=selector, wait=True)

    def vector(self, name: str, key: str) -> Any | None:
        """Return the vector under a key as the store has it, ``None`` when there is none."""
        with self._guard("get"):
            if not self._db.client.collection_exists(collection_name=name):
                return None
            points = self._db.client.retrieve(
                collection_name=name, ids=[self._point_id(key)], with_vectors=True, with_payload=False
            )
            return points[0].vector if points else None

    def _query(self, name: str, vector: Floats, top_k: int, session: str | None, origin: str) -> list[Found]:
        from qdrant_client import models

        wanted = {} if session is None else {"session_id": session, **({"origin": origin} if origin else {})}
        conditions: list[Any] = [
            models.FieldCondition(key=key, match=models.MatchValue(value=value))
            for key, value in wanted.items()
        ]
        answer = self._db.client.query_points(
            name,
            query=vector.tolist(),
            query_filter=models.Filter(must=conditions) if conditions else None,
            limit=top_k,
            with_payload=True,
        )
        return [self._found(point, float(point.score)) for point in answer.points]

    def _found(self, point: Any, value: float) -> Found:
        facts = dict(point.payload or {})
        return Found(str(facts.pop(_KEY, point.id)), value, facts)

    def is_intact(self) -> bool:
        """Return whether the files that were opened are still in their place."""
        return self._folder is None or file_id(self._folder / "meta.json") == self._file_id

    def scrub_files(self) -> list[Path]:
        """Drop what was set aside: a deleted collection's files are gone with it."""
        if self._folder is None:
            return []
        removed = [entry for name in _FILES for entry in sorted(self._folder.glob(f"{name}.corrupt-*"))]
        for entry in removed:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        return removed

    def _close(self) -> None:
        with contextlib.suppress(Exception):  # Qdrant in process admits one client per folder
            self._db.client.close()


def store_files(folder: Path) -> list[Path]:
    """Return what belongs to Qdrant in its folder, which may hold other files."""
    return [folder / name for name in _FILES if (folder / name).exists()]
