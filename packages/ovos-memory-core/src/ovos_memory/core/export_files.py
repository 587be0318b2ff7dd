"""Exports as files: JSON Lines, readable by their owner only, and what 1.x of the plugins left.

The first line names the format, each other line is a record (:mod:`ovos_memory.core.management_lines`)::

    {"format": "ovos-memory/export", "version": 1}
    {"id": "s_0", "kind": "exchange", "session_id": "s", "created_at": 1767225600.0, "question": "…", …}
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ovos_memory.core.errors import StoreTooNew
from ovos_memory.core.exports_1x import json_lines_1x, sqlite_lines_1x
from ovos_memory.core.files import replace_file
from ovos_memory.core.management_types import Progress

FORMAT = "ovos-memory/export"
VERSION = 1
_TELL_EVERY = 500


def dump_line(line: Mapping[str, Any]) -> bytes:
    """Return a line of an export.  It is valid UTF-8: half surrogates are escaped."""
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def write_export(path: Path, lines: Iterable[Mapping[str, Any]], *, progress: Progress | None = None) -> int:
    """Write records to a file of mode 0600, whole or not at all; return how many there were.

    Raises:
        OSError: It cannot be written; what was at the path is as it was.
    """
    count = 0

    def parts() -> Iterator[bytes]:
        nonlocal count
        yield dump_line({"format": FORMAT, "version": VERSION})
        for line in lines:
            count += 1
            if progress is not None and count % _TELL_EVERY == 0:
                progress(count, 0)
            yield dump_line(line)

    replace_file(path, parts())
    os.chmod(path, 0o600)  # whatever stood there before
    return count


def read_export(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of an export, or of a file that version 1.x of a memory plugin wrote.

    Raises:
        ValueError: It is neither.
        StoreTooNew: A newer version wrote it.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        start = file.read(16)
        if start == b"SQLite format 3\0":
            yield from _from_database(path)
            return
        file.seek(0)
        first = file.readline()
        header = _parsed(first)
        if isinstance(header, dict) and ("format" in header or "kind" in header):
            _check(header, path)
            file.seek(0)
            yield from _from_lines(file, path)
            return
        file.seek(0)
        found = _parsed(file.read())
    lines = json_lines_1x(found, written_at=os.stat(path).st_mtime)
    if lines is None:
        raise ValueError(f"{path} is neither an export nor a file of version 1.x; write one with `export`")
    yield from lines


def _from_lines(file: Iterable[bytes], path: Path) -> Iterator[dict[str, Any]]:
    for place, text in enumerate(file, 1):
        if not text.strip():
            continue
        line = _parsed(text)
        if not isinstance(line, dict):
            raise ValueError(f"{path}: line {place} is no record; the file is cut off or was edited")
        if "format" not in line:
            yield line


def _check(header: Mapping[str, Any], path: Path) -> None:
    if "format" not in header:
        return
    if header["format"] != FORMAT:
        raise ValueError(f"{path} is a store of {header['format']}, not an export; write one with `export`")
    if not isinstance(header.get("version"), int) or header["version"] > VERSION:
        raise StoreTooNew(f"{path} was written by a newer version; update ovos-memory-core")


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _from_database(path: Path) -> list[dict[str, Any]]:
    uri = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            lines = sqlite_lines_1x(connection, written_at=os.stat(path).st_mtime)
    except sqlite3.Error as error:
        raise ValueError(f"{path} is a database that cannot be read ({type(error).__name__})") from error
    if lines is None:
        raise ValueError(f"{path} is a database, but none of version 1.x; write an export with `export`")
    return lines
