"""Any ``opm.embeddings`` plugin as a vector store: keys, vectors, plain metadata, and errors of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_memory.core.errors import StoreUnavailable
from ovos_memory.core.shared import ProcessLock

if TYPE_CHECKING:
    from ovos_memory.local_rag.matrix import Floats

BATCH = 500
"""Vectors handed to a store at once."""
CLOSE_WAIT_S = 1.0
"""How long closing waits for a call under way: the collector of a memory may be who closes."""


@dataclass(frozen=True, slots=True)
class Found:
    """One row of a store's answer.

    Attributes:
        key: The vector's key.
        value: What the store calls its distance; some return a similarity.
        metadata: A private copy.
    """

    key: str
    value: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


class VectorStore:
    """A vector store through the methods that the plugin template gives to all; safe from any thread.

    Args:
        db: The plugin object.
        plugin: Entry-point name of the memory, for messages.
        is_served: Whether other hosts may use the same store.
        may_be_another: Whether another process of the same configuration may hold other rows: a store that
            is neither served nor in files that we know of.
    """

    can_filter = False
    """Whether :meth:`query` can search within one session."""

    shows_at_once = False
    """Whether a query is known to see what was added before it."""

    def __init__(
        self, db: Any, *, plugin: str, is_served: bool = False, may_be_another: bool = False
    ) -> None:
        self._db = db
        self.may_be_another = may_be_another
        self._plugin = plugin
        self.is_served = is_served
        self._lock = ProcessLock()

    # ------------------------------------------------------------------ collections
    def open_collection(self, name: str, dimension: int) -> None:
        """Make sure that a collection for cosine search exists."""
        with self._guard("open"):
            try:
                self._db.get_collection(name)
            except (
                Exception
            ):  # each store has its own error for one that is missing; creating tells what is wrong
                self._db.create_collection(name)

    def drop_collection(self, name: str) -> None:
        """Delete a collection with all it holds."""
        with self._guard("delete"):
            self._db.delete_collection(name)

    def count(self, name: str) -> int:
        """Return how many vectors a collection holds, 0 when there is none of that name."""
        with self._guard("count"):
            try:
                return int(self._db.count_embeddings_in_collection(name))
            except NotImplementedError:
                return 0
            except (ValueError, KeyError):  # the template's word for a collection that does not exist
                return 0

    def rows(self, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Return key and metadata of everything in a collection, where the store can list it."""
        return iter(())

    # ------------------------------------------------------------------ vectors
    def upsert(
        self, name: str, keys: Sequence[str], vectors: Sequence[Floats], metadata: Sequence[Mapping[str, Any]]
    ) -> None:
        """Store vectors under their keys, replacing what is there."""
        for start in range(0, len(keys), BATCH):
            part = slice(start, start + BATCH)
            # Copies, because some plugins write into what they are given.
            with self._guard("add"):
                self._upsert(name, list(keys[part]), list(vectors[part]), [dict(m) for m in metadata[part]])

    def _upsert(
        self, name: str, keys: list[str], vectors: list[Floats], metadata: list[dict[str, Any]]
    ) -> None:
        together = getattr(self._db, "add_embeddings_batch", None)
        if len(keys) > 1 and callable(together):
            together(keys, vectors, metadata, collection_name=name)
            return
        for key, vector, facts in zip(keys, vectors, metadata, strict=True):
            self._db.add_embeddings(key, vector, facts, collection_name=name)

    def delete(self, name: str, keys: Sequence[str]) -> None:
        """Remove vectors; unknown keys are ignored, and so is a key that comes twice."""
        once = list(dict.fromkeys(keys))
        for start in range(0, len(once), BATCH):
            with self._guard("delete"):
                self._delete(name, once[start : start + BATCH])

    def _delete(self, name: str, keys: list[str]) -> None:
        together = getattr(self._db, "delete_embeddings_batch", None)
        if callable(together):
            together(keys, collection_name=name)
            return
        for key in keys:
            self._db.delete_embeddings(key, collection_name=name)

    def vector(self, name: str, key: str) -> Any | None:
        """Return the vector under a key as the store has it, ``None`` when there is none."""
        with self._guard("get"):
            try:
                return self._db.get_embeddings(key, collection_name=name)
            except (ValueError, KeyError, IndexError):
                return None

    def query(
        self, name: str, vector: Floats, top_k: int, *, session: str | None = None, origin: str = ""
    ) -> list[Found]:
        """Return the rows nearest to a vector, in the store's order.

        Args:
            name: The collection.
            vector: float32 of unit length.
            top_k: How many at most.
            session: Only rows of this session (as its metadata have it); needs :attr:`can_filter`.
            origin: With ``session``: only rows of this origin.
        """
        with self._guard("query"):
            answer = self._query(name, vector, top_k, session, origin)
        return [found for found in answer if found.value - found.value == 0]

    def _query(self, name: str, vector: Floats, top_k: int, session: str | None, origin: str) -> list[Found]:
        answer = self._db.query(vector, top_k=top_k, return_metadata=True, collection_name=name)
        return [
            Found(str(row[0]), float(row[1]), dict(row[2] or {}) if len(row) > 2 else {})
            for row in answer or ()
        ]

    # ------------------------------------------------------------------ state
    def is_intact(self) -> bool:
        """Return whether the files that were opened are still in their place; costs microseconds."""
        return True

    def close(self) -> None:
        """Let go of the store's files; one that hangs in a call keeps them."""
        if self._lock.acquire(CLOSE_WAIT_S):
            try:
                self._close()
            finally:
                self._lock.release()

    def _close(self) -> None:
        """Let go of the store's files, so that they can be opened afresh."""

    def scrub_files(self) -> list[Path]:
        """Leave no trace of deleted rows in the files of a closed store; return set-aside ones that were removed."""
        return []

    @contextlib.contextmanager
    def _guard(self, doing: str) -> Iterator[None]:
        """Run one operation at a time, and turn whatever a store raises into an error of ours."""
        with self._lock:
            try:
                yield
            except (StoreUnavailable, KeyboardInterrupt, SystemExit, GeneratorExit):
                raise
            except BaseException as error:  # a panic in a store's native code is no Exception
                if not isinstance(error, Exception) and "panic" not in type(error).__name__.lower():
                    raise
                raise StoreUnavailable(
                    f"{self._plugin}: vector store cannot {doing} ({type(error).__name__});"
                    " answers come from the ledger's own vectors, it is tried again later"
                ) from error
