"""The lexical memory: recall by words."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_memory.core.errors import StoreError
from ovos_memory.core.paths import expand_path
from ovos_memory.core.retrieval import BaseRetrievalMemory
from ovos_memory.core.text import clean
from ovos_memory.core.types import Document, MemoryHit

if TYPE_CHECKING:
    from ovos_memory.core.ledger import SqliteLedger
    from ovos_memory.core.management_types import Progress
    from ovos_memory.lexical.handle import StoreHandle
    from ovos_memory.lexical.settings import LexicalSettings
    from ovos_memory.lexical.store import Found, Question


class LexicalMemory(BaseRetrievalMemory):
    """Recalls the exchanges that share words with what was said, by BM25, from one SQLite file.

    It needs nothing but Python's own SQLite (with FTS5).  A score is BM25 as -bm25() of SQLite gives it: above zero,
    bigger is better.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name: ClassVar[str] = "ovos-memory-plugin-lexical"
    score_floor: ClassVar[float | None] = 0.0
    settings: LexicalSettings

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(config, clock=clock)

    @classmethod
    def settings_model(cls) -> type[LexicalSettings]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""
        from ovos_memory.lexical.settings import LexicalSettings

        return LexicalSettings

    def _ledger_opener(self) -> Callable[[], SqliteLedger]:
        from ovos_memory.lexical.handle import (
            StoreHandle,
        )  # word lists and patterns: half of what an import costs

        settings = self.settings
        self._handle: StoreHandle = StoreHandle(
            expand_path(settings.db_path, plugin=self.plugin_name, key="db_path"),
            plugin=self.plugin_name,
            table=settings.table,
            language=settings.language,
            clock=self._clock,
        )
        return self._handle.ledger

    def _index(self, documents: list[Document]) -> None:
        stored = sum(document.row >= 0 for document in documents)
        if stored:
            self._handle.store().recorded(stored)

    def files(self) -> list[Path]:
        """Return the file of ledger and index."""
        path = expand_path(self.settings.db_path, plugin=self.plugin_name, key="db_path")
        return [] if isinstance(path, str) else [path]

    def stats(self) -> dict[str, Any]:
        """Return how much there is, and how many documents wait for the index."""
        return {**super().stats(), "waiting": self._handle.store().waiting()}

    def _rebuild(self, progress: Progress | None) -> int:
        return self._handle.store().reindex(progress)

    def close(self) -> None:
        """Write what is held in memory and let go of the file; the memory may be used again."""
        self.boundary.call("close", self._handle.rest, lambda: None)
        super().close()

    def time_fit(self, query: str, moments: Sequence[float]) -> list[float]:
        """Return how well each moment fits a time that a query names (*yesterday*, *in May 2023*).

        Args:
            query: As it was asked, in the store's language.
            moments: Epoch seconds.

        Returns:
            For each moment 1 within the named time, less in the week after it, else 0; all 0 when none is named.
        """
        from ovos_memory.lexical.dates import MAX_BOOST, boost, named_times

        spans = named_times(clean(query), self._clock(), self._handle.analyzer.language)
        return [(boost(spans, moment) - 1) / (MAX_BOOST - 1) for moment in moments]

    def _query(self, text: str, session_id: str | None, top_k: int) -> list[MemoryHit]:
        from ovos_memory.lexical.store import Question

        question = Question(text, session_id, top_k, self.journal.held(session_id), self._clock())
        return [_hit(*found) for found in self._found(question)]

    def _found(self, question: Question) -> list[Found]:
        try:
            return self._handle.store().search(question)
        except StoreError as error:
            if not question.held:
                raise
            self.boundary.failed("search", error, session_id=question.session_id)
            return self._handle.search_held(question)


def _hit(document: Document, score: float) -> MemoryHit:
    facts = {**document.metadata, "session_id": document.session_id, "created_at": document.created_at}
    return MemoryHit(content=document.content, source=document.id, score=score, metadata=facts)
