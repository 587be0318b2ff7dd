"""chromadb, in process or served, behind its OVOS plugin."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_memory.core.files import file_id
from ovos_memory.local_rag.stores.base import Found, VectorStore
from ovos_memory.local_rag.stores.blocks import blank_unused, index_bytes

if TYPE_CHECKING:
    from ovos_memory.local_rag.matrix import Floats

DATABASE_FILE = "chroma.sqlite3"
_SEGMENT_FOLDER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PAGE = 1_000


class ChromaStore(VectorStore):
    """chromadb; searches within a session by ``where``.

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
        self._folder = folder
        self._file_id = file_id(folder / DATABASE_FILE) if folder else None
        self._collections: dict[str, Any] = {}
        self._index_bytes = 0

    def open_collection(self, name: str, dimension: int) -> None:
        """Make sure that a collection for cosine search exists."""
        with self._guard("open"):
            self._db.create_collection(name)
            self._collections.pop(name, None)

    def drop_collection(self, name: str) -> None:
        """Delete a collection with all it holds."""
        super().drop_collection(name)
        self._collections.pop(name, None)

    def count(self, name: str) -> int:
        """Return how many vectors a collection holds, 0 when there is none of that name."""
        with self._guard("count"):
            if name not in {getattr(found, "name", found) for found in self._db.list_collections()}:
                return 0
            return int(self._db.count_embeddings_in_collection(name))

    def rows(self, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Return key and metadata of everything in a collection."""
        offset = 0
        while True:
            with self._guard("list"):
                page = self._collection(name).get(limit=_PAGE, offset=offset, include=["metadatas"])
            yield from zip(page["ids"], (m or {} for m in page["metadatas"]), strict=True)
            offset += _PAGE
            if len(page["ids"]) < _PAGE:
                return

    def _query(self, name: str, vector: Floats, top_k: int, session: str | None, origin: str) -> list[Found]:
        where: dict[str, Any] = {}
        if session is not None:
            where = {"where": {"session_id": session}}
            if origin:
                where = {"where": {"$and": [{"session_id": session}, {"origin": origin}]}}
        # Metadata are read only where rows of other hosts can come up: they cost a third of the query.
        include = ["distances", "metadatas"] if self.is_served else ["distances"]
        answer = self._collection(name).query(
            query_embeddings=[vector], n_results=top_k, include=include, **where
        )
        metadata = answer["metadatas"][0] if self.is_served else [{}] * len(answer["ids"][0])
        self._blank_new_index()
        return [
            Found(key, float(distance), dict(facts or {}))
            for key, distance, facts in zip(answer["ids"][0], answer["distances"][0], metadata, strict=True)
        ]

    def _upsert(
        self, name: str, keys: list[str], vectors: list[Floats], metadata: list[dict[str, Any]]
    ) -> None:
        super()._upsert(name, keys, vectors, metadata)
        self._blank_new_index()

    def _blank_new_index(self) -> None:
        """Clean the part of an index without vectors when one was made or has grown."""
        if self._folder is not None and (found := index_bytes(self._folder)) != self._index_bytes:
            self._index_bytes = found
            blank_unused(self._folder)

    def _collection(self, name: str) -> Any:
        if name not in self._collections:
            self._collections[name] = self._db.get_collection(name)
        return self._collections[name]

    def is_intact(self) -> bool:
        """Return whether the database file that was opened is still in its place."""
        return self._folder is None or file_id(self._folder / DATABASE_FILE) == self._file_id

    def scrub_files(self) -> list[Path]:
        """Rebuild the database file, in whose free pages deleted texts would stay, and drop what was set aside."""
        import sqlite3

        if self._folder is None or not (self._folder / DATABASE_FILE).is_file():
            return []
        removed = remove_set_aside(self._folder)
        with contextlib.closing(sqlite3.connect(self._folder / DATABASE_FILE)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    def _close(self) -> None:
        self._collections.clear()
        with contextlib.suppress(Exception):
            if self.is_intact():
                self._db.client.close()
            elif self._folder is not None:
                forget_engine(self._folder)
        if self._folder is not None:
            with contextlib.suppress(OSError):  # the folder may be gone, or somebody else's by now
                blank_unused(self._folder)


def remove_set_aside(folder: Path) -> list[Path]:
    """Delete what was set aside as damaged in chromadb's folder; return what that was."""
    found = [entry for entry in sorted(folder.iterdir()) if ".corrupt-" in entry.name]
    gone = [entry for entry in found if entry.name.startswith(DATABASE_FILE) or entry.is_dir()]
    for entry in gone:
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    return gone


def forget_engine(folder: Path) -> None:
    """Take the engine of a folder out of chromadb's own cache.

    chromadb keeps one engine per folder for as long as the process lives, even when the folder is gone or the engine
    never came up.
    """
    from chromadb.api.shared_system_client import SharedSystemClient

    engine = SharedSystemClient._identifier_to_system.pop(str(folder), None)
    getattr(SharedSystemClient, "_identifier_to_refcount", {}).pop(str(folder), None)
    if engine is not None:
        with contextlib.suppress(Exception):  # one that never came up has nothing to stop, and says so
            engine.stop()


def store_files(folder: Path) -> list[Path]:
    """Return what belongs to chromadb in its folder, which may hold other files."""
    return [
        entry
        for entry in sorted(folder.iterdir())
        if (entry.name.startswith(DATABASE_FILE) and ".corrupt-" not in entry.name)
        or (entry.is_dir() and _SEGMENT_FOLDER.fullmatch(entry.name))
    ]
