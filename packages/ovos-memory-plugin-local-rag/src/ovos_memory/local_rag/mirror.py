"""The vector store kept equal to the ledger's own vectors, and asked for the nearest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ovos_memory.core.errors import OvosMemoryError
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.types import document_id
from ovos_memory.local_rag.names import (
    legal_collection_name,
    model_collection_name,
    origin_of,
    vector_key,
    vector_metadata,
)
from ovos_memory.local_rag.records import Model
from ovos_memory.local_rag.scores import Direction, judge
from ovos_memory.local_rag.vectors import SAME_MODEL_COSINE

if TYPE_CHECKING:
    from ovos_memory.core.ledger import SqliteLedger
    from ovos_memory.local_rag.matrix import Floats
    from ovos_memory.local_rag.stores.base import Found, VectorStore
    from ovos_memory.local_rag.vectors import VectorTable

_BATCH = 500
_PROBE_KEY, _MOST_MODELS = "model", 100


class Handle(Protocol):
    """Where an open store comes from."""

    def store(self, collection: str, dimension: int) -> VectorStore:
        """Return the open store, or raise an error of ours."""

    def succeeded(self, store: VectorStore) -> None:
        """Hear that ``store`` works; nothing changes when another one was opened since."""

    def failed(self, store: VectorStore, error: OvosMemoryError) -> None:
        """Hear that ``store`` does not; nothing changes when another one was opened since."""

    def close(self) -> None:
        """Close the store; the next use opens it again."""


class StoreMirror:
    """A ledger's collection in a vector store; safe from any thread.

    Args:
        handle: Where the store comes from.
        ledger: The documents.
        table: Their vectors.
        collection: Legal name of the collection.
        identity: Names the store, so that another one is filled anew.
    """

    def __init__(
        self, handle: Handle, ledger: SqliteLedger, table: VectorTable, *, collection: str, identity: str
    ) -> None:
        self._handle = handle
        self._ledger = ledger
        self._table = table
        self._base = collection
        self._identity = identity
        self._lock = ProcessLock()
        self._opened: tuple[VectorStore, Model, str] | None = None
        self._origin = ""
        self._directions: dict[str, Direction] = {}
        self._blind: VectorStore | None = None

    @property
    def origin(self) -> str:
        """What this ledger's keys begin with; ``""`` on a store of one's own."""
        return self._origin

    # ------------------------------------------------------------------ opening
    def open(self, model: Model) -> tuple[VectorStore, str]:
        """Return the store and the model's collection in it.

        Raises:
            OvosMemoryError: It cannot be used just now.
        """
        with self._lock:
            store = self._handle.store(self._base, model.dimension)
            opened = self._opened  # looked at once: look_again() waits for no call that may hang
            if opened is None or opened[0] is not store or opened[1].id != model.id:
                try:
                    collection = self._prepare(store, model)
                except OvosMemoryError as error:
                    self._handle.failed(store, error)
                    raise
                opened = self._opened = (store, model, collection)
            return store, opened[2]

    def _prepare(self, store: VectorStore, model: Model) -> str:
        with self._ledger.database.write(10.0) as connection:
            if self._table.meta(connection, "store") != self._identity:
                self._table.forget_pushes(connection)
                self._table.clear_collections(connection)
                self._table.set_meta(connection, "store", self._identity)
                model = Model(model.id, model.dimension, model.fingerprint, "")
            else:
                model = self._table.model(connection, model.id) or model
            if store.is_served and not self._table.meta(connection, "origin"):
                self._table.set_meta(connection, "origin", origin_of(str(self._ledger.database.path)))
            self._origin = self._table.origin(connection)
            pushed = self._table.count(connection, model, is_pushed=True)
        collection = model.collection or self._choose(store, model)
        store.open_collection(collection, model.dimension)
        is_lost = pushed > 0 and store.count(collection) < pushed
        with self._ledger.database.write(10.0) as connection:
            self._table.set_collection(connection, model, collection)
            if is_lost:
                self._table.forget_pushes(connection, model)
        return collection

    def _choose(self, store: VectorStore, model: Model) -> str:
        """Return the collection for a model that has none yet.

        On a store of one's own the ledger's first model has the plain name.  A served one may have been given
        that name by another host with another model, so beside each collection lies one with the vector of
        the fixed sentence.
        """
        if not store.is_served:
            return model_collection_name(self._base, model.id)
        import numpy as np

        with self._ledger.database.read() as connection:
            probe = self._table.probe(connection, model)
        for number in range(1, _MOST_MODELS):
            name = model_collection_name(self._base, number)
            beside = legal_collection_name(f"{name}.probe")
            known = store.vector(beside, _PROBE_KEY)
            if known is None:
                store.open_collection(beside, model.dimension)
                store.upsert(beside, [_PROBE_KEY], [probe], [{"content": "", "session_id": ""}])
                return name
            theirs = np.asarray(known, dtype=np.float32).ravel()
            if len(theirs) == len(probe) and float(theirs @ probe) >= SAME_MODEL_COSINE:
                return name
        raise AssertionError("more models than collections")

    def _failed(self, store: VectorStore, error: OvosMemoryError) -> None:
        self.look_again()
        self._handle.failed(store, error)

    def look_again(self) -> None:
        """Look afresh, at the next use, whether the collection and what it was given are there."""
        self._opened = None

    def close(self) -> None:
        """Let go of the store; the next use opens it again."""
        with self._lock:
            self._opened = None
            self._handle.close()

    # ------------------------------------------------------------------ handing over
    def push(self, model: Model, *, limit: int) -> bool:
        """Hand over what the store does not have, after deleting what it must not have any more.

        Args:
            model: Whose vectors.
            limit: Vectors at most.

        Returns:
            Whether everything is handed over.

        Raises:
            OvosMemoryError: The store or the ledger cannot be used just now.
        """
        with self._lock:
            store, collection = self.open(model)
            try:
                handed = 0
                while handed < limit:
                    # Each time, for a document may change while its vectors are on their way.
                    self._delete(store)
                    count = self._push_batch(store, collection, model, min(_BATCH, limit - handed))
                    handed += count
                    if count == 0:
                        self._handle.succeeded(store)
                        return True
            except OvosMemoryError as error:
                self._failed(store, error)
                raise
            return False

    def _push_batch(self, store: VectorStore, collection: str, model: Model, limit: int) -> int:
        import numpy as np

        with self._ledger.database.read() as connection:
            vectors = self._table.unpushed(connection, model, limit)
            ids = dict.fromkeys(document_id(v.session, v.n) for v in vectors)
            documents = {d.id: d for d in self._ledger.get_many(ids, connection=connection)}
        if not vectors:
            return 0
        known = [v for v in vectors if document_id(v.session, v.n) in documents]
        of = [documents[document_id(v.session, v.n)] for v in known]
        store.upsert(
            collection,
            [vector_key(d.id, v.window, self._origin) for d, v in zip(of, known, strict=True)],
            [np.frombuffer(v.blob, dtype=np.float32) for v in known],
            [vector_metadata(d, self._origin) for d in of],
        )
        with self._ledger.database.write(10.0) as connection:
            self._table.note_push(connection, vectors, collection, self._origin)
        if known and not store.shows_at_once:
            self._look_whether_it_shows(store, collection, np.frombuffer(known[-1].blob, dtype=np.float32))
        return len(vectors)

    def _look_whether_it_shows(self, store: VectorStore, collection: str, vector: Floats) -> None:
        """Ask for what was just handed over: some stores show only what was there when they were opened."""
        import numpy as np

        found = store.query(collection, vector, 1)
        shown = store.vector(collection, found[0].key) if found else None
        nearest = None if shown is None else np.asarray(shown, dtype=np.float32).ravel()
        is_shown = nearest is not None and len(nearest) == len(vector) and bool(nearest @ vector > 0.999)
        self._blind = None if is_shown else store

    def is_blind(self, store: VectorStore) -> bool:
        """Return whether the store cannot be relied on to show everything it was given."""
        if self._blind is store:
            return True
        if not store.may_be_another:
            return False
        model, collection = (self._opened or (None, None, ""))[1:]
        if model is None:
            return True
        with self._ledger.database.read() as connection:
            expected = self._table.count(connection, model, is_pushed=True)
        return store.count(collection) < expected

    def _delete(self, store: VectorStore) -> None:
        while True:
            with self._ledger.database.read() as connection:
                waiting = self._table.undeleted(connection, _BATCH)
            if not waiting:
                return
            by_collection: dict[str, list[str]] = {}
            for _, collection, key in waiting:
                by_collection.setdefault(collection, []).append(key)
            for collection, keys in by_collection.items():
                if store.count(collection):
                    store.delete(collection, keys)
            with self._ledger.database.write(10.0) as connection:
                self._table.note_deleted(connection, waiting)

    def scrub(self, model: Model) -> list[Path]:
        """Leave no trace of what was deleted in the store's files; return set-aside ones that were removed.

        A store of one's own is emptied, and filled again by the next hand-over; on a served one rows are deleted.

        Raises:
            OvosMemoryError: The store or the ledger cannot be used just now.
        """
        with self._lock:
            store, _ = self.open(model)
            if store.is_served:
                self._delete(store)
                return []
            with self._ledger.database.write(10.0) as connection:
                names = self._table.collections(connection)
                self._table.forget_pushes(connection)
                self._table.forget_undeleted(connection)
            for name in names:
                store.drop_collection(name)
            self._opened = None
            self._handle.close()
            return store.scrub_files()

    # ------------------------------------------------------------------ asking
    def query(
        self, store: VectorStore, collection: str, vector: Floats, top_k: int, *, session: str | None = None
    ) -> list[Found]:
        """Return the store's rows nearest to a vector, in the store's order.

        Raises:
            OvosMemoryError: The store fails.
        """
        try:
            return store.query(collection, vector, top_k, session=session, origin=self._origin)
        except OvosMemoryError as error:
            self._failed(store, error)
            raise

    def direction(self, collection: str, values: Sequence[float], cosines: Mapping[int, float]) -> Direction:
        """Return which way the store's numbers run.

        Args:
            collection: The collection they came from.
            values: The store's numbers.
            cosines: What the ledger's own vectors say, by position; asked for while it is not known.
        """
        known = self._directions.get(collection)
        if known is None and cosines:
            known = judge([values[at] for at in cosines], list(cosines.values()))
            if known is not None:
                self._directions[collection] = known
        return known or Direction.DISTANCE

    def knows_direction(self, collection: str) -> bool:
        """Return whether :meth:`direction` needs no cosines any more."""
        return collection in self._directions
