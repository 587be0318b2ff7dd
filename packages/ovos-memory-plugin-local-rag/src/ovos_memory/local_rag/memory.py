"""The local RAG memory: a retriever whose index are vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ovos_memory.core.errors import OvosMemoryError, StoreError
from ovos_memory.core.retrieval import BaseRetrievalMemory
from ovos_memory.core.types import Document, MemoryHit

if TYPE_CHECKING:
    from ovos_memory.core.ledger import SqliteLedger
    from ovos_memory.core.management_types import Progress, Scrubbed, Trouble
    from ovos_memory.local_rag.settings import LocalRAGSettings
    from ovos_memory.local_rag.source import IndexSource

_DRAIN_S = 5.0


class LocalRAGMemory(BaseRetrievalMemory):
    """Recalls exchanges by meaning: retrieval-augmented generation without a server.

    The exchange is on disk, in the ledger, before anything else happens; its vectors follow, into the ledger
    too, and from there into the vector store.

    Args:
        config: The block ``ovos-memory-plugin-local-rag`` of the persona file; copied.
        clock: Returns epoch seconds.
        embedder: An object with ``get_embeddings(text)`` in place of ``embeddings_plugin``.
        embeddings_db: An OPM ``EmbeddingsDB`` in place of ``embeddings_db_plugin``.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name = "ovos-memory-plugin-local-rag"

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        embedder: Any | None = None,
        embeddings_db: Any | None = None,
    ) -> None:
        self._given = {"embedder": embedder, "embeddings_db": embeddings_db}
        self._source: IndexSource
        super().__init__(config, clock=clock)
        if cast("LocalRAGSettings", self.settings).preload:
            self._source.preload(self.boundary)

    @classmethod
    def settings_model(cls) -> type[LocalRAGSettings]:
        """Return the settings model."""
        from ovos_memory.local_rag.settings import LocalRAGSettings

        return LocalRAGSettings

    def _ledger_opener(self) -> Callable[[], SqliteLedger]:
        from ovos_memory.local_rag.source import IndexSource

        settings = cast("LocalRAGSettings", self.settings)
        self._source = IndexSource(settings, plugin=self.plugin_name, clock=self._clock, **self._given)
        return self._source.ledger

    def _index(self, documents: list[Document]) -> None:
        from ovos_memory.local_rag.patience import at_most

        settings = cast("LocalRAGSettings", self.settings)
        with at_most(settings.timeout_s):
            self._embed(documents, settings)

    def _embed(self, documents: list[Document], settings: LocalRAGSettings) -> None:
        stored = [document for document in documents if document.row >= 0]
        if stored:
            self._source.index().record(stored, in_background=settings.background)
        if not settings.background:
            for document in documents:
                if document.row < 0:
                    self._source.held.of(document)

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits with distinct texts, best first; waits ``timeout_s`` at most for model and store together."""
        from ovos_memory.local_rag.patience import at_most

        with at_most(cast("LocalRAGSettings", self.settings).timeout_s):
            return super().search(query, session_id, top_k)

    def _telling(self, text: str) -> str:
        """Return a query without the words that the settings leave out."""
        settings = cast("LocalRAGSettings", self.settings)
        if settings.drop_common_names is not None:
            text = self._source.index().common_words.without_names(text, settings.drop_common_names)
        if settings.drop_common_words is not None:
            text = self._source.index().common_words.without(text, settings.drop_common_words)
        return text

    def _query(self, text: str, session_id: str | None, top_k: int) -> list[MemoryHit]:
        from ovos_memory.local_rag.answers import best_first, ranked_hits

        settings = cast("LocalRAGSettings", self.settings)
        telling = self.boundary.call("common words", lambda: self._telling(text), lambda: text)
        vector = self._source.embedder.query_vector(settings.query_prefix + telling)
        if vector is None:
            return []
        ranked = self._source.held.ranked(vector, session_id, self.journal.held())
        try:
            ranked += ranked_hits(
                self._source.index(), vector, session_id, top_k, neighbour_weight=settings.neighbour_weight
            )
        except StoreError as error:
            self.boundary.failed("search", error, session_id=session_id)
        return best_first(ranked, top_k)

    # ------------------------------------------------------------------ management
    def files(self) -> list[Path]:
        """Return the file of the ledger; the vector store's are its own."""
        path = self._source.ledger_path
        return [] if isinstance(path, str) else [path]

    def stats(self) -> dict[str, Any]:
        """Return how much there is, and how many documents wait for their vectors."""
        return {**super().stats(), "waiting": self._source.index().health()["pending"]}

    def examine(self, *, is_offline: bool = False) -> Iterator[Trouble]:
        """Yield what keeps exchanges from being recalled by meaning; see ``ManagedMemory.examine``."""
        from ovos_memory.local_rag.examining import examine

        return examine(self._source, plugin=self.plugin_name, is_offline=is_offline)

    def _removed_elsewhere(self, documents: list[Document]) -> None:
        from ovos_memory.local_rag.patience import at_most

        with at_most(cast("LocalRAGSettings", self.settings).timeout_s):
            self._source.index().push_removals()

    def _clean_elsewhere(self) -> Scrubbed:
        from ovos_memory.core.management_types import Scrubbed

        try:
            removed = tuple(map(str, self._source.index().scrub()))
        except OvosMemoryError as error:
            self.boundary.failed("clean", error)
            what = f"{self.plugin_name}: the vector store could not be cleaned ({error})"
            return Scrubbed((), (f"{what}; that is done when it is next written to, or repeat the call",))
        served = self._source.served_at
        if served is None:
            return Scrubbed(removed)
        told = (
            f"{self.plugin_name}: deleted by key on the server at {served}; its files are not ours to prove"
        )
        return Scrubbed(removed, (), (told,))

    def _rebuild(self, progress: Progress | None) -> int:
        from ovos_memory.local_rag.rebuilding import rebuild

        return rebuild(self._source.index(), progress)

    def close(self) -> None:
        """Finish what five seconds allow, and let go of the files; the memory may be used again."""
        self.boundary.call("close", lambda: self._source.drain(_DRAIN_S), lambda: None)
        self.boundary.call("close", self._source.let_go, lambda: None)
        super().close()

    def health(self) -> dict[str, Any]:
        """Return what went wrong since the process began, and what waits to be written or embedded."""
        told = super().health()
        index = self._source.opened()
        if index is not None:
            vectors = index.health()
            operations = {**vectors.pop("operations"), **told["operations"]}
            told |= {"vectors": vectors, "operations": operations}
        return told
