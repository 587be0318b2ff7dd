"""Exact search over the ledger's own vectors: the engine of a light stack, the answer when a store fails."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ovos_memory.core.shared import ProcessLock
from ovos_memory.local_rag.matrix import Matrix
from ovos_memory.local_rag.records import Match

if TYPE_CHECKING:
    from ovos_memory.core.sqlite import Database
    from ovos_memory.local_rag.matrix import Floats
    from ovos_memory.local_rag.records import Model
    from ovos_memory.local_rag.vectors import VectorTable


class ExactSearch:
    """Searches every vector of a ledger, those of other processes included; safe from any thread.

    The vectors are read into memory at the first search and brought up to date, by what changed, at each
    further one.

    Args:
        database: The ledger's database.
        table: Its vectors.
    """

    def __init__(self, database: Database, table: VectorTable) -> None:
        self._database = database
        self._table = table
        self._lock = ProcessLock()
        self._pid = os.getpid()
        self._model_id = -1
        self._instance = ""
        self._matrix: Matrix | None = None
        self._after = self._removed_after = 0

    def search(
        self,
        model: Model,
        vector: Floats,
        top_k: int,
        *,
        session: str | None = None,
        neighbour_weight: float = 0.0,
    ) -> list[Match]:
        """Return the nearest documents, best first, of equals the newest first; see :meth:`Matrix.search`.

        Raises:
            StoreError: The ledger cannot be read.
        """
        return self._current(model).search(vector, top_k, session=session, neighbour_weight=neighbour_weight)

    def _current(self, model: Model) -> Matrix:
        with self._lock:
            if self._pid != os.getpid():  # a thread of the parent may have been in the middle of changing it
                self._pid, self._matrix = os.getpid(), None
            while True:
                with self._database.read() as connection:
                    if self._matrix is None or self._model_id != model.id:
                        self._begin(model)
                    changes = self._table.changes(
                        connection, model, after=self._after, removed_after=self._removed_after
                    )
                if changes.instance != self._instance or changes.removed is None:
                    is_new = self._after == 0
                    self._begin(model)
                    self._instance, self._removed_after = changes.instance, changes.removed_through
                    if not is_new:
                        continue
                matrix = self._matrix
                assert matrix is not None
                matrix.remove(changes.removed or ())
                self._removed_after = changes.removed_through
                if not changes.added:
                    return matrix
                matrix.add(changes.added)
                self._after = changes.added[-1].seq

    def _begin(self, model: Model) -> None:
        self._matrix = Matrix(model.dimension)
        self._model_id = model.id
        self._after = self._removed_after = 0

    def forget(self) -> None:
        """Free the memory; the next search reads the vectors again."""
        with self._lock:
            self._matrix = None
