"""The JSON file of a state store: a line per session, so that a rewrite joins lines that it has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, cast

from ovos_memory.core.errors import StoreTooNew, StoreUnavailable
from ovos_memory.core.state_types import Record

VERSION = 1
_FAMILY = "ovos-memory/"
_HEADER = re.compile(
    r'\s*\{\s*"format"\s*:\s*"([^"\\]*)"\s*,\s*"version"\s*:\s*(\d{1,9})\s*,\s*"sessions"\s*:\s*\{\s*'
)
_COLON = re.compile(r"\s*:\s*")
_COMMA = re.compile(r"\s*,\s*")
_END = re.compile(r"\s*\}\s*\}\s*\Z")
_decoder = json.JSONDecoder()


class NotOurs(ValueError):
    """The text is JSON, but not of our shape; ``raw`` is what it says."""

    def __init__(self, raw: Any) -> None:
        super().__init__("not of our shape")
        self.raw = raw


def dump_entry(session_id: str, record: Record) -> bytes:
    """Return a session's line.  Half surrogates are escaped, so the file is valid UTF-8 whatever was said.

    Raises:
        TypeError: The record is not made of JSON values.
    """
    text = f"{json.dumps(session_id, ensure_ascii=False)}: {json.dumps(record, ensure_ascii=False)}"
    return text.encode("utf-8", "backslashreplace")


def load_entry(entry: bytes) -> Record:
    """Return the record of a line, new objects every time."""
    return cast(Record, next(iter(json.loads(b"{%b}" % entry).values())))


def file_parts(kind: str, entries: Iterable[bytes]) -> list[bytes]:
    """Return the bytes of a whole file, in parts."""
    header = f'{{"format": "{_FAMILY}{kind}", "version": {VERSION}, "sessions": {{\n'
    return [header.encode(), b",\n".join(entries), b"\n}}\n"]


def parse_file(data: bytes, kind: str, where: str) -> dict[str, bytes]:
    """Return the lines of a file by session.

    Args:
        data: The whole file; an empty one has no sessions.
        kind: What the records must be.
        where: Plugin and path, for messages.

    Raises:
        ValueError: It is not JSON.
        NotOurs: It is JSON of another shape.
        StoreTooNew: A newer version wrote it.
        StoreUnavailable: It holds another kind of records.
    """
    text = data.decode("utf-8-sig")
    if not text.strip():
        return {}
    try:
        return _entries(text, kind, where)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _entries(text: str, kind: str, where: str) -> dict[str, bytes]:
    header = _HEADER.match(text)
    if header is not None:
        _check(header[1], int(header[2]), kind, where)
        found = _scan(text, header.end())
        if found is not None:
            return found
    raw = json.loads(text)
    shape = raw if isinstance(raw, dict) else {}
    family, version, sessions = shape.get("format"), shape.get("version"), shape.get("sessions")
    if not isinstance(family, str) or not isinstance(version, int):
        raise NotOurs(raw)
    _check(family, version, kind, where)
    if not isinstance(sessions, dict) or not all(isinstance(record, dict) for record in sessions.values()):
        raise ValueError("no records")
    return {session_id: dump_entry(session_id, record) for session_id, record in sessions.items()}


def _check(family: str, version: int, kind: str, where: str) -> None:
    if family != _FAMILY + kind:
        if family.startswith(_FAMILY):
            raise StoreUnavailable(
                f"{where} holds the state of another memory ({family}, not {_FAMILY}{kind});"
                " it stays as it is: give each memory a path of its own"
            )
        raise ValueError("an unknown format")
    if version > VERSION:
        raise StoreTooNew(
            f"{where} was written by a newer version (format {version}, known up to {VERSION});"
            " it stays as it is: update the package or name another path"
        )


def _scan(text: str, position: int) -> dict[str, bytes] | None:
    """Cut a well-formed file into its entries; ``None`` when it is laid out in another way, or broken."""
    found: dict[str, bytes] = {}
    try:
        while _END.match(text, position) is None:
            if found:
                comma = _COMMA.match(text, position)
                if comma is None:
                    return None
                position = comma.end()
            start = position
            session_id, position = _decoder.raw_decode(text, start)
            colon = _COLON.match(text, position)
            if not isinstance(session_id, str) or colon is None:
                return None
            record, position = _decoder.raw_decode(text, colon.end())
            if not isinstance(record, dict):
                return None
            found[session_id] = text[start:position].encode("utf-8")
    except json.JSONDecodeError:
        return None
    return found
