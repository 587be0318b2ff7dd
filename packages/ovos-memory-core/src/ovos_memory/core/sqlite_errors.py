"""What SQLite's errors mean for us: locked, unavailable, damaged, or a fault of ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ovos_memory.core.errors import (
    IndexDamaged,
    OvosMemoryError,
    StoreDamaged,
    StoreLocked,
    StoreUnavailable,
)

# Result codes of sqlite.org/rescode.html; the module has names for them only from Python 3.11 on.
_PERM, _BUSY, _LOCKED, _NOMEM, _READONLY, _IOERR = 3, 5, 6, 7, 8, 10
_CORRUPT, _FULL, _CANTOPEN, _PROTOCOL, _NOLFS, _AUTH, _NOTADB = 11, 13, 14, 15, 22, 23, 26
_CORRUPT_VTAB = 267
_UNREADABLE_FORMAT = "unsupported file format"
"""What a damaged header says; SQLite has no code of its own for it."""

_BY_TEXT = (
    ("is locked", _BUSY),
    ("locking protocol", _PROTOCOL),
    ("not a database", _NOTADB),
    ("malformed", _CORRUPT),
    ("vtable constructor failed", _CORRUPT_VTAB),
    ("fts5: corruption", _CORRUPT_VTAB),
    ("readonly database", _READONLY),
    ("unable to open", _CANTOPEN),
    ("disk i/o error", _IOERR),
    ("is full", _FULL),
    ("access permission denied", _PERM),
    ("out of memory", _NOMEM),
)


class NotOurTables(sqlite3.DatabaseError):
    """The schema can be read and does not describe the tables that were noted as made: the file is damaged."""

    sqlite_errorcode = _CORRUPT


def result_code(error: sqlite3.Error) -> int:
    """Return SQLite's result code, extended where Python knows it; 1 (a faulty statement) in doubt."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int):
        return code
    text = str(error).lower()
    return next((code for part, code in _BY_TEXT if part in text), 1)


def meaning(error: sqlite3.Error, path: Path | str, plugin: str) -> OvosMemoryError | None:
    """Return the error of ours that says what happened to the store at ``path``.

    Returns:
        ``None`` for what no user can mend: a wrong statement, a broken constraint.
    """
    code = result_code(error)
    primary = code & 0xFF
    where = f"{plugin}: {path}"
    if primary in (_BUSY, _LOCKED, _PROTOCOL):
        return StoreLocked(f"{where} is locked by another process; it is tried again later")
    if code == _CORRUPT_VTAB:
        return IndexDamaged(
            f"{where}: a search index in it is damaged; the documents are not, rebuild the index"
        )
    if primary in (_CORRUPT, _NOTADB) or _UNREADABLE_FORMAT in str(error).lower():
        return StoreDamaged(f"{where} is damaged or no database")
    if primary == _READONLY:
        return StoreUnavailable(f"{where} cannot be written; make file and folder writable for this user")
    if primary == _FULL:
        return StoreUnavailable(f"{where}: the disk is full; make room")
    if primary in (_PERM, _NOMEM, _IOERR, _CANTOPEN, _NOLFS, _AUTH):
        return StoreUnavailable(
            f"{where} cannot be used ({error}); check that folder, permissions and disk are right"
        )
    return None
