"""A memory's way to its store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.paths import IN_MEMORY
from ovos_memory.core.shared import ProcessLock, acquire
from ovos_memory.lexical.analysis import Analyzer
from ovos_memory.lexical.index import LexicalIndex
from ovos_memory.lexical.languages import AUTO, configured_language, language_code
from ovos_memory.lexical.search import HELD_ONLY, search
from ovos_memory.lexical.store import Found, LexicalStore, Question, documents_of, request_of


class StoreHandle:
    """A memory's way to its store, which is opened at the first use and shared with other memories.

    It does not refer to the memory, so the journal can go on writing when the memory is gone.

    Args:
        path: The file, or ``":memory:"``: a store of this memory's own.
        plugin: For messages.
        table: What the tables' names begin with.
        language: A code, or ``auto``: that of OVOS, looked up at the first use.
        clock: Epoch seconds.
    """

    def __init__(
        self, path: Path | str, *, plugin: str, table: str, language: str, clock: Callable[[], float]
    ) -> None:
        self._path = path
        self._plugin = plugin
        self._table = table
        self._language = language
        self._clock = clock
        self._analyzer: Analyzer | None = None
        self._store: LexicalStore | None = None
        self._opening = ProcessLock()

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of the store's language."""
        if self._analyzer is None:
            named = None if self._language == AUTO else language_code(self._language)
            self._analyzer = Analyzer(named or configured_language())
        return self._analyzer

    def store(self) -> LexicalStore:
        """Return the store.

        Raises:
            StoreError: It cannot be opened just now.
        """
        if self._store is None:
            with self._opening:  # two threads would record in one store in memory, and search in another
                if self._store is None:
                    self._store = self._opened()
        return self._store

    def _opened(self) -> LexicalStore:
        analyzer, path = self.analyzer, self._path

        def make() -> LexicalStore:
            return LexicalStore(
                path, plugin=self._plugin, table=self._table, analyzer=analyzer, clock=self._clock
            )

        if str(path) == IN_MEMORY:
            return make()
        return acquire(("lexical", str(path), self._table, analyzer.language), make, self)

    def ledger(self) -> SqliteLedger:
        """Return the store's ledger.

        Raises:
            StoreError: It cannot be opened just now.
        """
        return self.store().ledger

    def rest(self) -> None:
        """Stop the work on the index, if the store is open; the next use goes on with it."""
        if self._store is not None:
            self._store.rest()

    def search_held(self, question: Question) -> list[Found]:
        """Search only what is held in memory, for when the store cannot be read."""
        index = LexicalIndex("held_", self.analyzer)
        numbers: dict[str, int | None] = {document.session_id: None for document in question.held}
        request = request_of(index, question, HELD_ONLY, numbers)
        return documents_of(search(index, request), question, lambda rows: {})
