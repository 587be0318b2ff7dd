"""The changelogs, in the form of https://keepachangelog.com: newest version first, changes sorted by kind."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from packaging.version import InvalidVersion, Version

KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
NOT_YET = "unreleased"
"""Stands for the date until the version is released."""


@dataclass(frozen=True)
class Entry:
    """One version's changes.

    Attributes:
        version: As written in the heading.
        date: ``YYYY-MM-DD``, or :data:`NOT_YET`, as written.
        body: What stands below the heading.
    """

    version: str
    date: str
    body: str

    @property
    def is_released(self) -> bool:
        """Whether the heading has a date."""
        return self.date != NOT_YET


def entries(text: str) -> list[Entry]:
    """Return the versions of a changelog, in its order."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)[1:]
    found = []
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        match = re.fullmatch(r"\[([^\]]+)\] - (\S+)", heading.strip())
        found.append(Entry(match[1], match[2], body) if match else Entry(heading, "", body))
    return found


def problems(text: str) -> Iterator[str]:
    """Yield one sentence per deviation from the form."""
    found = entries(text)
    if not re.match(r"# Changes of ovos-memory-[a-z-]+\n", text):
        yield "the first line must be '# Changes of <distribution>'"
    for entry in found:
        yield from _problems_of(entry)
    yield from (
        f"{e.version} is not released, but stands below one that is" for e in found[1:] if not e.is_released
    )
    known = [Version(entry.version) for entry in found if _is_version(entry.version)]
    if any(newer <= older for newer, older in pairwise(known)):
        yield "versions must fall from top to bottom, each once"


def _problems_of(entry: Entry) -> Iterator[str]:
    if not entry.date or not _is_version(entry.version):
        yield f"'## {entry.version}' must read '## [X.Y.Z] - YYYY-MM-DD', or '- {NOT_YET}'"
        return
    if entry.is_released and not _is_date(entry.date):
        yield f"{entry.version}: '{entry.date}' must be a date, YYYY-MM-DD, or '{NOT_YET}'"
    parts = re.split(r"^### (.*)$", entry.body, flags=re.MULTILINE)
    if parts[0].strip() or len(parts) == 1:
        yield f"{entry.version}: each change belongs under one of {', '.join(KINDS)}"
    for kind, body in zip(parts[1::2], parts[2::2], strict=True):
        if kind not in KINDS:
            yield f"{entry.version}: '### {kind}' must be one of {', '.join(KINDS)}"
        if not re.search(r"^\* \S", body, re.MULTILINE):
            yield f"{entry.version}: '### {kind}' lists no change ('* …')"


def _is_version(text: str) -> bool:
    try:
        return str(Version(text)) == text
    except InvalidVersion:
        return False


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
