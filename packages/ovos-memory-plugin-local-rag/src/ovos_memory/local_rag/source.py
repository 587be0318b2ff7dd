"""Where a memory's index comes from: one per process and configuration, opened when it is first needed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_memory.core.paths import IN_MEMORY, default_path, expand_path
from ovos_memory.core.shared import ProcessLock, acquire, holders
from ovos_memory.local_rag.background import Background
from ovos_memory.local_rag.names import file_stem, legal_collection_name, store_identity
from ovos_memory.local_rag.stores.opening import StorePlace, store_place

if TYPE_CHECKING:
    from ovos_memory.core.boundary import Boundary
    from ovos_memory.core.ledger import SqliteLedger
    from ovos_memory.local_rag.embedder import Embedder
    from ovos_memory.local_rag.held import HeldVectors
    from ovos_memory.local_rag.index import VectorIndex
    from ovos_memory.local_rag.mirror import StoreMirror
    from ovos_memory.local_rag.settings import LocalRAGSettings

_PREFIX = "rag_"
_STORE = "local-rag-store"


class IndexSource:
    """Opens the index of one configuration; every memory of the process with the same one shares it.

    Args:
        settings: The memory's.
        plugin: Entry-point name, for messages.
        clock: Returns epoch seconds.
        embedder: A ready embedder instead of the plugin.
        embeddings_db: A ready vector store instead of the plugin.

    Raises:
        ConfigError: A path is none.
    """

    def __init__(
        self,
        settings: LocalRAGSettings,
        *,
        plugin: str,
        clock: Callable[[], float],
        embedder: Any | None = None,
        embeddings_db: Any | None = None,
    ) -> None:
        self._settings = settings
        self._plugin = plugin
        self._clock = clock
        self._given_embedder = embedder
        self._embeddings_db = embeddings_db
        self._collection = legal_collection_name(settings.collection)
        self._place: StorePlace | None = None
        if settings.embeddings_db_plugin is not None:
            self._place = store_place(
                settings.embeddings_db_plugin, settings.embeddings_db_config, plugin=plugin
            )
        self.ledger_path = self._ledger_path()
        self._is_open = False
        self._opening = ProcessLock()
        self._embedder: Embedder | None = None
        self._held: HeldVectors | None = None
        self._preloading = Background("memory-preload")

    def _ledger_path(self) -> str | Path:
        given, place = self._settings.db_path, self._place
        if given is not None:
            return expand_path(given, plugin=self._plugin, key="db_path")
        stem = file_stem(self._collection)
        if place is not None and place.config.get("path") == IN_MEMORY:
            return IN_MEMORY
        if place is not None and place.folder is not None:
            return place.folder / f"{stem}.ledger.db"
        config = place.config if place else {}
        where = store_identity(
            place.plugin_name if place else None, config.get("host") or config.get("url"), config.get("port")
        )
        return default_path("local_rag", f"{stem}-{where[:8]}.db")

    @property
    def served_at(self) -> str | None:
        """Where the vector store is served; ``None`` for one of this machine's files, or none at all."""
        if self._place is None or not self._place.is_served:
            return None
        config = self._place.config
        port = f":{config['port']}" if config.get("port") else ""
        return str(config.get("url") or f"{config.get('host')}{port}")

    @property
    def place(self) -> StorePlace | None:
        """The vector store that the settings name."""
        return self._place

    # ------------------------------------------------------------------ opening
    def opened(self) -> VectorIndex | None:
        """Return the index if somebody needed it already."""
        return self.index() if self._is_open else None

    def ledger(self) -> SqliteLedger:
        """Return the ledger.

        Raises:
            StoreError: It cannot be opened just now.
        """
        return self.index().ledger

    def index(self) -> VectorIndex:
        """Return the index.

        Raises:
            StoreError: The ledger cannot be opened just now.
        """
        index = acquire(self._key(), self._open, self)
        self._is_open = True
        return index

    @property
    def embedder(self) -> Embedder:
        """The embedder, one per process and configuration; it is not loaded here."""
        from ovos_memory.local_rag.embedder import Embedder

        with self._opening:
            if self._embedder is None:
                name, config = self._settings.embeddings_plugin, self._settings.embeddings_config
                self._embedder = (
                    Embedder(name, {}, plugin=self._plugin, instance=self._given_embedder)
                    if self._given_embedder is not None
                    else acquire(
                        ("local-rag-embedder", self._embedder_key()),
                        lambda: Embedder(name, config, plugin=self._plugin),
                        self,
                    )
                )
            return self._embedder

    @property
    def held(self) -> HeldVectors:
        """Vectors of what is only in memory."""
        from ovos_memory.local_rag.held import HeldVectors

        embedder = self.embedder
        with self._opening:
            if self._held is None:
                self._held = HeldVectors(embedder, document_prefix=self._settings.document_prefix)
            return self._held

    def preload(self, boundary: Boundary) -> None:
        """Open everything behind the construction, so that the first turn need not wait; never raises."""
        self._preloading.start(lambda: boundary.call("preload", lambda: self.index().warm_up(), lambda: None))

    def drain(self, timeout_s: float) -> None:
        """Wait for background work, at most about ``timeout_s`` seconds."""
        ends_at = time.monotonic() + timeout_s
        self._preloading.join(timeout_s)
        if self._is_open:
            self.index().drain(max(0.0, ends_at - time.monotonic()))

    def let_go(self) -> None:
        """Close the vector store, unless another memory of this process uses it; the next use opens it again."""
        if not self._is_open or holders(self._key()) > 1 or holders((_STORE, self._store_key())) > 1:
            return
        mirror = self.index().mirror
        if mirror is not None:
            self.index().beside.run(mirror.close)  # where a store that hangs holds nobody up

    def _key(self) -> Hashable:
        # A database in memory belongs to one memory; objects handed in are told apart by themselves.
        alone = id(self) if self.ledger_path == IN_MEMORY else None
        given = (
            id(self._given_embedder) if self._given_embedder else None,
            id(self._embeddings_db) if self._embeddings_db else None,
        )
        return (
            "local-rag",
            str(self.ledger_path),
            self._collection,
            self._embedder_key(),
            self._store_key(),
            self._settings.document_prefix,
            given,
            alone,
        )

    def _embedder_key(self) -> Hashable:
        return self._settings.embeddings_plugin, _canonical(self._settings.embeddings_config)

    def _store_key(self) -> Hashable:
        return (self._place.plugin_name, _canonical(self._place.config)) if self._place else None

    def _open(self) -> VectorIndex:
        from ovos_memory.core.ledger import SqliteLedger
        from ovos_memory.core.sqlite import open_database
        from ovos_memory.local_rag.index import VectorIndex
        from ovos_memory.local_rag.vectors import VectorTable

        table = VectorTable(
            _PREFIX,
            is_served=self._place is not None and self._place.is_served,
            recipe=self._settings.document_prefix,
        )
        database = open_database(
            self.ledger_path, plugin=self._plugin, migrations=table.migrations(), component=table.component
        )
        ledger = SqliteLedger(database, prefix=_PREFIX, index=table)
        index = VectorIndex(
            ledger,
            table,
            self.embedder,
            plugin=self._plugin,
            document_prefix=self._settings.document_prefix,
            clock=self._clock,
        )
        index.mirror = self._mirror(index)
        return index

    def _mirror(self, index: VectorIndex) -> StoreMirror | None:
        from ovos_memory.local_rag.mirror import Handle, StoreMirror
        from ovos_memory.local_rag.stores.handle import GivenStore, StoreHandle
        from ovos_memory.local_rag.stores.opening import adapt

        place = self._place
        if place is None:
            return None
        handle: Handle
        if self._embeddings_db is not None:
            handle = GivenStore(adapt(self._embeddings_db, plugin=self._plugin, is_served=place.is_served))
        else:
            handle = acquire(
                (_STORE, self._store_key()), lambda: StoreHandle(place, plugin=self._plugin), index
            )
        where = {key: place.config.get(key) for key in ("path", "host", "url", "port")}
        identity = store_identity(place.plugin_name, sorted(where.items(), key=str), self._collection)
        return StoreMirror(handle, index.ledger, index.table, collection=self._collection, identity=identity)


def _canonical(config: Any) -> str:
    return json.dumps(config, sort_keys=True, default=repr)
