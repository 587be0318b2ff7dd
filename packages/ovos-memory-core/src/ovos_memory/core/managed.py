"""The management contract of a memory with a journal, light to import: its keeper comes with first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ovos_memory.core.explaining import ExplainedMemory
from ovos_memory.core.management import ManagedMemory
from ovos_memory.core.types import Document

if TYPE_CHECKING:
    from ovos_memory.core.journal import Journal
    from ovos_memory.core.management import Keeper
    from ovos_memory.core.management_types import Progress, Scrubbed


class LedgerManagedMemory(ManagedMemory, ExplainedMemory):
    """A base class of memories on a ledger; a backend with an index elsewhere fills the hooks."""

    journal: Journal
    _clock: Callable[[], float]

    def _keeper(self) -> Keeper:
        from ovos_memory.core.management_ledger import LedgerKeeper

        return LedgerKeeper(
            self.journal,
            plugin=self.plugin_name,
            clock=self._clock,
            on_changed=self._index_safely,
            on_removed=self._removed_elsewhere,
            clean_more=self._clean_elsewhere,
            rebuild=self._rebuild,
        )

    # ------------------------------------------------------------------ hooks
    def _index_safely(self, documents: list[Document]) -> None:
        """Index documents that were changed or imported."""

    def _removed_elsewhere(self, documents: list[Document]) -> None:
        """Remove what is kept of documents outside of the ledger's file; they are gone from the ledger."""

    def _clean_elsewhere(self) -> Scrubbed:
        """Leave no trace of what was removed in files that are not the ledger's."""
        from ovos_memory.core.management_types import Scrubbed

        return Scrubbed()

    def _rebuild(self, progress: Progress | None) -> int:
        """Build the index anew; return how many documents that took."""
        return 0
