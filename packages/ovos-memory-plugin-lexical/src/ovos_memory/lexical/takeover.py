"""What ``ovos-memory-plugins`` 1.x left in the file is taken over, once, in one transaction.

1.x kept one FTS5 table ``<table>(doc_id, session_id, content)``, whose ids repeat after a restart.  Its exchanges become
documents, numbered anew per session in the order in which they were stored; a copy of the file stays as
``<name>.1x.bak``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole
from ovos_utils.log import LOG

from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.paths import IN_MEMORY
from ovos_memory.core.sqlite_open import backup_database_1x
from ovos_memory.core.text import clean
from ovos_memory.core.types import DEFAULT_SESSION, Exchange

_COLUMNS = {"doc_id", "session_id", "content"}


def take_over(ledger: SqliteLedger, table: str, *, plugin: str, clock: Callable[[], float]) -> None:
    """Convert the table of 1.x where the ledger's file has one.

    Everything happens in one transaction: after a crash it begins again.

    Args:
        ledger: Receives the exchanges.
        table: Name of the 1.x table.
        plugin: For the log.
        clock: Epoch seconds; 1.x did not keep when something was said.

    Raises:
        StoreError: The file cannot be read or written.
    """

    def back_up(connection: sqlite3.Connection, path: Path | str) -> None:
        if str(path) != IN_MEMORY and _is_1x(connection, table):
            backup_database_1x(Path(path))

    def convert(connection: sqlite3.Connection) -> None:
        if _is_1x(connection, table):
            count = _convert(connection, ledger, table, clock())
            LOG.info("%s: %d exchanges of version 1 taken over", plugin, count)

    ledger.database.migrate(f"lexical-1x:{table}", [convert], before=back_up)


def _is_1x(connection: sqlite3.Connection, table: str) -> bool:
    found = connection.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
    ).fetchone()
    if found is None or "fts5" not in str(found[0]).lower():
        return False
    return {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')} >= _COLUMNS


def _convert(connection: sqlite3.Connection, ledger: SqliteLedger, table: str, now: float) -> int:
    rows = connection.execute(f'SELECT session_id, content FROM "{table}" ORDER BY rowid')
    count = 0
    while page := rows.fetchmany(256):
        for session_id, content in page:
            session = DEFAULT_SESSION if session_id is None else str(session_id)
            exchange = _exchange(clean(content))
            if exchange is None:
                ledger.append_text(session, clean(content), created_at=now, connection=connection)
            else:
                ledger.append(session, exchange, created_at=now, connection=connection)
            count += 1
    connection.execute(f'DROP TABLE "{table}"')
    return count


def _exchange(content: str) -> Exchange | None:
    """Return the exchange that a text in the form of 1.x says; ``None`` when it is in another form."""
    if not content.startswith("Q: "):
        return None
    question, separator, answer = content[3:].partition("\nA: ")
    if not separator:
        return None
    messages = (AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer))
    return Exchange(question=question, answer=answer, messages=messages)
