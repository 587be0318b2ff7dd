"""The vectors of a ledger: made, kept in the ledger, handed over to the vector store, brought up to date."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ovos_utils.log import LOG

from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import BadReply, OvosMemoryError, StoreUnavailable
from ovos_memory.core.shared import LruDict, ProcessLock
from ovos_memory.core.types import Document
from ovos_memory.core.worker import Worker
from ovos_memory.local_rag.background import Background
from ovos_memory.local_rag.common_words import CommonWords
from ovos_memory.local_rag.consumer import CONSUMER, VectorConsumer
from ovos_memory.local_rag.current_model import WRITE_WAIT_S, CurrentModel
from ovos_memory.local_rag.exact import ExactSearch
from ovos_memory.local_rag.patience import OwnThread
from ovos_memory.local_rag.takeover import take_over_1x

if TYPE_CHECKING:
    from ovos_memory.core.ledger import SqliteLedger
    from ovos_memory.local_rag.embedder import Embedder
    from ovos_memory.local_rag.matrix import Floats
    from ovos_memory.local_rag.mirror import StoreMirror
    from ovos_memory.local_rag.records import Model
    from ovos_memory.local_rag.vectors import VectorTable

EMBEDDED_IN_SEARCH = 8
"""Exchanges without vectors that a search embeds itself, the newest ones."""
PUSHED_AT_ONCE = 500
"""Vectors handed over to the store before a call returns; more go behind it."""
_UNCLEAN = "unclean"
"""Fact of the ledger: deleted texts may still be in the vector store's files."""
_BATCH = 32


class VectorIndex:
    """One per process, ledger, model configuration and store; safe from any thread.

    Args:
        ledger: The documents.
        table: Their vectors, in the same database.
        embedder: Makes them.
        plugin: Entry-point name of the memory, for messages.
        document_prefix: In front of every text that is embedded.
        clock: Returns epoch seconds.
    """

    def __init__(
        self,
        ledger: SqliteLedger,
        table: VectorTable,
        embedder: Embedder,
        *,
        plugin: str,
        document_prefix: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.document_prefix = document_prefix
        self.common_words = CommonWords(ledger)
        self.ledger = ledger
        self.table = table
        self.embedder = embedder
        self.mirror: StoreMirror | None = None
        """The vector store; ``None``: the ledger's own vectors are all there is."""
        self.beside = OwnThread(
            "memory-vector-store-calls",
            lambda why: StoreUnavailable(
                f"{plugin}: vector store is held up: {why}; answers come from the ledger's own vectors"
            ),
        )
        """Where everything that asks the store runs: one that hangs holds up nobody for longer than a turn waits."""
        self.exact = ExactSearch(ledger.database, table)
        self.current = CurrentModel(ledger, table, embedder, begin=self._begin)
        self.boundary = Boundary(plugin, clock=clock, sink=ledger.note_failure)
        self.plugin = plugin
        self._clock = clock
        self._worker: Worker[Any] = Worker(
            lambda: ledger, cast(Any, VectorConsumer(self)), plugin=plugin, most=_BATCH, clock=clock
        )
        self._taking_over = ProcessLock()
        self._pushing = Background("memory-vector-store")
        self._refused: LruDict[tuple[str, int], bool] = LruDict(1_000)

    def now(self) -> float:
        """Return epoch seconds."""
        return self._clock()

    def wake_worker(self) -> None:
        """Say that documents wait for their vectors."""
        self._worker.wake()

    def _begin(self, model: Model, left: int) -> None:
        """Begin with what a model that has just become the current one has still to embed."""
        if left > EMBEDDED_IN_SEARCH or (left and model.id > 1):
            LOG.warning(
                "%s: %d exchanges have no vectors of this embeddings model yet; they are embedded in the"
                " background, and recalled as they become ready",
                self.plugin,
                left,
            )
            self._worker.wake()

    # ------------------------------------------------------------------ making vectors
    def embed(self, documents: Sequence[Document], *, must_all_work: bool = False) -> list[list[Floats]]:
        """Return the vectors of each document's windows; an empty list for one that has none.

        Args:
            documents: Whose.
            must_all_work: Raise :class:`BadReply` when one has none.
        """
        vectors = self.embedder.batch([self.document_prefix + document.content for document in documents])
        refused = [d for d, made in zip(documents, vectors, strict=True) if not made]
        for document in refused:
            self._refused[document.id, document.change] = True
        if refused and must_all_work:
            raise BadReply(
                f"{self.plugin}: embeddings plugin '{self.embedder.name}' has no usable vector for"
                f" {len(refused)} of {len(documents)} exchanges; they stay in the ledger"
            )
        return vectors

    def keep(
        self,
        documents: Sequence[Document],
        vectors: Sequence[Sequence[Floats]],
        *,
        rebuilt_until: int | None = None,
    ) -> None:
        """Store vectors and mark their documents done: those that are still stored as they were embedded.

        Args:
            documents: Whose.
            vectors: Of each document's windows.
            rebuilt_until: Note that a rebuild under way goes on with this row.

        Raises:
            StoreError: The ledger cannot be written.
        """
        model = self.current.loaded()
        pairs = [(document, made) for document, made in zip(documents, vectors, strict=True) if made]
        with self.ledger.database.write(WRITE_WAIT_S) as connection:
            gone = self.ledger.done(CONSUMER, model.fingerprint, [d for d, _ in pairs], connection=connection)
            changed = {(document.id, document.change) for document in gone}
            for document, made in pairs:
                if (document.id, document.change) not in changed:
                    self.table.put(connection, model, document, made)
            if rebuilt_until is not None:
                self.table.note_rebuilt(connection, model, rebuilt_until)

    def record(self, documents: Sequence[Document], *, in_background: bool) -> None:
        """Embed documents that were just recorded, or leave it to the worker.

        Raises:
            OvosMemoryError: It did not work; what is in the ledger is embedded later.
        """
        if in_background:
            self._worker.wake()
            return
        for start in range(0, len(documents), _BATCH):
            part = documents[start : start + _BATCH]
            try:
                vectors = self.embed(part)
                self.keep(part, vectors)
            except OvosMemoryError:
                self._worker.wake()  # it waits until the model, or the ledger, is there again
                raise
            if not all(vectors):
                self._worker.wake()  # it tries a few times more, and gives up in the end
        self.push_safely()

    def try_refused_again(self) -> None:
        """Give texts that had no usable vector, and documents that were given up, another chance."""
        self._refused.clear()
        self.ledger.retry_parked(CONSUMER)

    def embed_leftovers(self, model: Model) -> None:
        """Embed the newest exchanges that have no vectors yet; called by a search."""
        left = self.ledger.unfinished(CONSUMER, model.fingerprint, limit=EMBEDDED_IN_SEARCH)
        left = [d for d in left if (d.id, d.change) not in self._refused]
        if left:
            self.keep(left, self.embed(left))

    # ------------------------------------------------------------------ the vector store
    def push_safely(self) -> None:
        """Hand new vectors over to the store; a failure is noted and tried again later."""
        if self.mirror is not None and not self.boundary.call(
            "vector store", self._push_beside, lambda: True
        ):
            self._pushing.start(self.push_all)

    def _push_beside(self) -> bool:
        return self.beside.run(self._push)

    def _push(self) -> bool:
        assert self.mirror is not None
        model = self.current.loaded()
        with self._taking_over:
            # Before anything of ours is in the store: two threads at once would take our rows for those of 1.x.
            take_over_1x(self, model)
        return self._hand_over(model)

    def _hand_over(self, model: Model) -> bool:
        assert self.mirror is not None
        with self.ledger.database.read() as connection:
            is_unclean = self.table.meta(connection, _UNCLEAN) == "yes"
        if is_unclean:  # another process forgot something while this one had the store
            self.mirror.scrub(model)
            self._note_clean()
        return self.mirror.push(model, limit=PUSHED_AT_ONCE)

    def push_removals(self) -> None:
        """Let the store delete what is gone; a failure is noted and tried again later."""
        model = self.current.last()
        if self.mirror is not None and model is not None:
            hand_over = partial(self.beside.run, partial(self._hand_over, model))
            self.boundary.call("vector store", hand_over, lambda: True)

    def push_all(self) -> None:
        """Hand everything over; runs behind the conversation, and goes on where it was stopped."""
        while not self._pushing.is_stopping.is_set():
            if self.boundary.call("vector store", self._push_beside, lambda: True):
                return

    def push_behind(self) -> None:
        """Begin to hand over behind the conversation."""
        if self.mirror is not None:
            self._pushing.start(self.push_all)

    # ------------------------------------------------------------------ life
    def warm_up(self) -> None:
        """Load the model, open the store, and begin with what was left to do.

        Raises:
            OvosMemoryError: Something is not there; it is tried again when it is needed.
        """
        self.embedder.ensure()
        model = self.current.loaded()
        if self.mirror is not None:
            self._push_beside()
        if self.ledger.pending_count(CONSUMER, model.fingerprint):
            self._worker.wake()

    def drain(self, timeout_s: float) -> None:
        """Wait for background work, at most ``timeout_s`` seconds."""
        if self.ledger.pending_count(CONSUMER, self.current.fingerprint()):
            self._worker.drain(timeout_s)
        self._pushing.join(timeout_s)

    def scrub(self) -> list[Path]:
        """Leave no trace of what was forgotten in the store's files; return set-aside ones that were removed.

        While the store cannot be used that is noted in the ledger: whoever writes to the store next does it first.

        Raises:
            OvosMemoryError: The store cannot be used just now, or nothing was ever embedded and the model is not there.
        """
        mirror = self.mirror
        if mirror is None:
            return []
        model = self.current.last() or self.current.loaded()
        with self.ledger.database.write(WRITE_WAIT_S) as connection:
            self.table.set_meta(connection, _UNCLEAN, "yes")
        removed = self.beside.run(lambda: mirror.scrub(model))
        self._note_clean()
        if self.embedder.is_ready:
            self.push_safely()
        else:
            self.push_removals()
        return removed

    def _note_clean(self) -> None:
        with self.ledger.database.write(WRITE_WAIT_S) as connection:
            self.table.set_meta(connection, _UNCLEAN, "no")

    def health(self) -> dict[str, Any]:
        """Return what waits, what was given up and what failed."""
        waiting = parked = None
        with contextlib.suppress(OvosMemoryError):
            fingerprint = self.current.fingerprint()
            waiting = self.ledger.pending_count(CONSUMER, fingerprint)
            parked = self.ledger.parked(CONSUMER, fingerprint)
        operations = {**self._worker.boundary.counts(), **self.boundary.counts()}
        return {"pending": waiting, "parked": parked, "operations": operations}

    def close(self) -> None:
        """End the worker; called when the last memory is gone."""
        self._worker.close()
        self.beside.close()
        self.ledger.close()
