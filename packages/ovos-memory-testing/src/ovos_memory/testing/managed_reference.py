"""A small memory that can be managed: yardstick of the management suites and healthy half of their twins.

Its index is a file of its own beside the ledger, so that there is something to forget twice.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_memory.core.management_types import Progress, Scrubbed
from ovos_memory.core.retrieval import BaseRetrievalMemory
from ovos_memory.core.types import Document, MemoryHit

if TYPE_CHECKING:
    from ovos_memory.core.ledger import SqliteLedger


class ManagedReference(BaseRetrievalMemory):
    """Finds what shares words with the query, in an index that knows only what it was told.

    Args:
        config: See :class:`ovos_memory.testing.reference_settings.ReferenceSettings`.
        clock: Returns epoch seconds.
    """

    plugin_name: ClassVar[str] = "ovos-memory-plugin-reference"

    @classmethod
    def settings_model(cls) -> Any:
        """Return the settings model."""
        from ovos_memory.testing.reference_settings import ReferenceSettings

        return ReferenceSettings

    def _ledger_opener(self) -> Callable[[], SqliteLedger]:
        path, plugin = self.settings.db_path or ":memory:", self.plugin_name  # type: ignore[attr-defined]
        self._index_path = None if path == ":memory:" else Path(f"{path}.index.json")
        self._in_memory: dict[str, list[Any]] = {}
        self._indexing = threading.RLock()  # a file read while another thread writes it is no JSON

        def open_ledger() -> SqliteLedger:
            from ovos_memory.core.ledger import SqliteLedger
            from ovos_memory.core.sqlite import open_database

            return SqliteLedger(open_database(path, plugin=plugin))

        return open_ledger

    def _index(self, documents: list[Document]) -> None:
        with self._indexing:
            entries = self._entries()
            for document in documents:
                facts = [document.session_id, document.created_at, document.content]
                entries.pop(document.id, None)
                entries[document.id] = facts
            self._write(entries)

    def _query(self, text: str, session_id: str | None, top_k: int) -> list[MemoryHit]:
        wanted = set(re.findall(r"\w+", text.lower()))
        hits = []
        for source, (session, created_at, content) in self._entries().items():
            score = len(wanted & set(re.findall(r"\w+", content.lower())))
            if score and session_id in (None, session):
                facts = {"session_id": session, "created_at": created_at}
                hits.append(MemoryHit(content, source, float(score), facts))
        return sorted(reversed(hits), key=lambda hit: -hit.score)[:top_k]

    # ------------------------------------------------------------------ the index, which twins neglect
    def _removed_elsewhere(self, documents: list[Document]) -> None:
        with self._indexing:
            entries = self._entries()
            for document in documents:
                entries.pop(document.id, None)
            self._write(entries)

    def _clean_elsewhere(self) -> Scrubbed:
        from ovos_memory.core.management_ledger import scrub_copies

        return Scrubbed() if self._index_path is None else scrub_copies(self._index_path, self.plugin_name)

    def _rebuild(self, progress: Progress | None) -> int:
        with self._indexing:
            self._write({})
            documents = list(self.journal.ledger.documents())
            self._index(documents)
        return len(documents)

    def _entries(self) -> dict[str, list[Any]]:
        if self._index_path is None:
            return dict(self._in_memory)
        with self._indexing:
            if not self._index_path.exists():
                return {}
            entries: dict[str, list[Any]] = json.loads(self._index_path.read_text(encoding="utf-8"))
            return entries

    def _write(self, entries: dict[str, list[Any]]) -> None:
        self._in_memory = entries
        if self._index_path is not None:
            self._index_path.write_text(json.dumps(entries), encoding="utf-8")
