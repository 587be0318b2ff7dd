"""Which embeddings model a ledger's vectors are made with: the loaded one, or the last one while none is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ovos_memory.local_rag.consumer import CONSUMER

if TYPE_CHECKING:
    from ovos_memory.core.ledger import SqliteLedger
    from ovos_memory.local_rag.embedder import Embedder
    from ovos_memory.local_rag.records import Model
    from ovos_memory.local_rag.vectors import VectorTable

WRITE_WAIT_S = 10.0
"""How long a write that belongs to no turn waits for other processes."""
_LAST = "fingerprint"
"""Fact of the ledger: the fingerprint of the model that was in use last."""


class CurrentModel:
    """Safe from any thread.

    Args:
        ledger: The documents.
        table: Their vectors and the models that made them, in the same database.
        embedder: The loaded model.
        begin: Called once per model, when it becomes the current one, with the count of documents that it has
            still to embed.
    """

    def __init__(
        self,
        ledger: SqliteLedger,
        table: VectorTable,
        embedder: Embedder,
        *,
        begin: Callable[[Model, int], None],
    ) -> None:
        self._ledger = ledger
        self._database = ledger.database
        self._table = table
        self._embedder = embedder
        self._begin = begin
        self._begun: set[int] = set()

    def loaded(self) -> Model:
        """Return the model that is loaded, entered into the ledger when it is new there.

        Raises:
            OvosMemoryError: It cannot be loaded, or the ledger not be written.
        """
        probe = self._embedder.probe()
        with self._database.read() as connection:
            model = self._table.find_model(connection, probe)
        if model is None:
            with self._database.write(WRITE_WAIT_S) as connection:
                model = self._table.add_model(connection, probe)
                self._table.set_meta(connection, _LAST, model.fingerprint)
        if model.id not in self._begun:
            self._begun.add(model.id)
            try:
                self._make_last(model)
            except BaseException:
                self._begun.discard(model.id)  # others were writing all the time: the next call begins
                raise
            self._begin(model, self._ledger.pending_count(CONSUMER, model.fingerprint))
        return model

    def _make_last(self, model: Model) -> None:
        if self._last_fingerprint() != model.fingerprint:
            with self._database.write(WRITE_WAIT_S) as connection:
                self._table.set_meta(connection, _LAST, model.fingerprint)

    def last(self) -> Model | None:
        """Return the model that was in use last, without loading it: to delete vectors it is not needed."""
        if self._embedder.is_ready:
            return self.loaded()
        with self._database.read() as connection:
            fingerprint = self._table.meta(connection, _LAST)
            return self._table.model_of(connection, fingerprint) if fingerprint else None

    def fingerprint(self) -> str:
        """Return the fingerprint of the model in use, or of the last one while none is loaded; ``""``: none yet."""
        return self.loaded().fingerprint if self._embedder.is_ready else self._last_fingerprint()

    def fingerprints(self) -> tuple[str, str | None]:
        """Return the fingerprint of the last model (``""``: none yet) and of the loaded one, ``None``: a new one.

        Unlike :meth:`loaded` it enters nothing, and begins nothing.
        """
        last = self._last_fingerprint()
        if not self._embedder.is_ready:
            return last, last
        with self._database.read() as connection:
            model = self._table.find_model(connection, self._embedder.probe())
        return last, None if model is None else model.fingerprint

    def _last_fingerprint(self) -> str:
        with self._database.read() as connection:
            return self._table.meta(connection, _LAST) or ""
