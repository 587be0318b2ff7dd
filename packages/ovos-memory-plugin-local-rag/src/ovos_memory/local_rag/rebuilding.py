"""All vectors of a ledger made anew; an interrupted run goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ovos_memory.core.types import Document
from ovos_memory.local_rag.current_model import WRITE_WAIT_S

if TYPE_CHECKING:
    from ovos_memory.local_rag.index import VectorIndex

_BATCH = 32


def rebuild(index: VectorIndex, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed every exchange again, those too that were given up, and fill the store anew; return how many.

    How far it came is noted in the ledger with each batch.

    Args:
        index: Whose vectors.
        progress: Told how many exchanges are done, of how many.

    Raises:
        OvosMemoryError: The model or the ledger cannot be used.
    """
    model = index.current.loaded()
    index.try_refused_again()
    with index.ledger.database.read() as connection:
        start = index.table.rebuilt_until(connection, model)
    total, left, count = index.ledger.count(), index.ledger.count_from(start), 0
    for batch in _batches(index.ledger.documents(start=start)):
        count += len(batch)
        index.keep(batch, index.embed(batch), rebuilt_until=batch[-1].row + 1)
        if progress is not None:
            progress(min(total - left + count, total), total)
    with index.ledger.database.write(WRITE_WAIT_S) as connection:
        index.table.forget_pushes(connection, model)
        index.table.note_rebuilt(connection, model, 0)
    if index.mirror is not None:
        index.mirror.look_again()
        index.push_all()
    return count


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    for document in documents:
        batch.append(document)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
