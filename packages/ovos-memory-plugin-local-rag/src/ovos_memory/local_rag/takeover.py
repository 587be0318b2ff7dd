"""What version 1.x left in a vector store: its exchanges become documents of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole
from ovos_utils.log import LOG

from ovos_memory.core.types import Exchange, parse_document_id
from ovos_memory.local_rag.names import from_store_text, parse_vector_key

if TYPE_CHECKING:
    from ovos_memory.local_rag.index import VectorIndex
    from ovos_memory.local_rag.records import Model

_STATE = "taken_over"


def take_over_1x(index: VectorIndex, model: Model) -> None:
    """Move the exchanges of a collection that 1.x filled into the ledger, once.

    1.x kept them nowhere else.  When they are safe in the ledger the collection is emptied: what it holds
    from then on is made from the ledger, and forgetting reaches everything.

    Raises:
        OvosMemoryError: The store or the ledger cannot be used just now; it is tried again.
    """
    mirror, table, database = index.mirror, index.table, index.ledger.database
    assert mirror is not None
    with database.read() as connection:
        state = table.meta(connection, _STATE)
        has_pushed = table.count(connection, model, is_pushed=True) > 0
    if state == "done":
        return
    store, collection = mirror.open(model)
    if state is None and not store.is_served and not has_pushed and store.count(collection):
        rows = _rows(store.rows(collection))
        if rows:
            with database.write(10.0) as connection:
                for session_id, content in rows:
                    exchange = as_exchange(content)
                    if exchange is None:
                        index.ledger.append_text(
                            session_id, content, created_at=index.now(), connection=connection
                        )
                    else:
                        index.ledger.append(
                            session_id, exchange, created_at=index.now(), connection=connection
                        )
                table.set_meta(connection, _STATE, "emptying")
            LOG.info(
                "%s: %d exchanges of version 1.x taken over from the vector store", index.plugin, len(rows)
            )
            state = "emptying"
    if state == "emptying":
        store.drop_collection(collection)
        store.open_collection(collection, model.dimension)
        index.wake_worker()
    with database.write(10.0) as connection:
        table.set_meta(connection, _STATE, "done")


def _rows(found: object) -> list[tuple[str, str]]:
    """Return (session, content), each session's in the order of its numbers."""
    rows: list[tuple[str, int, str]] = []
    for key, metadata in found:  # type: ignore[attr-defined]
        parsed = parse_vector_key(key)
        content, session = metadata.get("content"), metadata.get("session_id")
        if not isinstance(content, str) or (parsed is not None and parsed[1] > 0):
            continue
        numbered = parse_document_id(parsed[0]) if parsed else None
        if not isinstance(session, str):
            session = numbered[0] if numbered else "default"
        rows.append((from_store_text(session), numbered[1] if numbered else -1, content))
    return [(session, content) for session, _, content in sorted(rows, key=lambda row: (row[0], row[1]))]


def as_exchange(content: str) -> Exchange | None:
    """Return the exchange that a text of ``Q:`` and ``A:`` was made of, ``None`` for any other text."""
    question, mark, answer = content.partition("\nA: ")
    if not question.startswith("Q: ") or not mark:
        return None
    question = question[3:]
    messages = (
        AgentMessage(role=MessageRole.USER, content=question),
        AgentMessage(role=MessageRole.ASSISTANT, content=answer),
    )
    return Exchange(question, answer, messages)
