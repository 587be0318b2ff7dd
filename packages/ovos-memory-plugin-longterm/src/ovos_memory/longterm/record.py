"""What is stored per session: the summary, and how far it reaches."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class SummaryRecord:
    """The summary of one session.

    Attributes:
        summary: The text; ``""`` at first.
        covered: Number of the last exchange that it covers; -1: none.
        updated_at: When it was written, epoch seconds, UTC.
        worker: Who is at work on the next one; ``""``: nobody.
        worker_until: When others may take over.
        recent: Messages that version 1.x kept here, not yet moved to the ledger.
    """

    summary: str = ""
    covered: int = -1
    updated_at: float = 0.0
    worker: str = ""
    worker_until: float = 0.0
    recent: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> SummaryRecord:
        """Return a stored record; an empty one when there is none, what is damaged in it as if it were absent."""
        if stored is None:
            return cls()
        return cls(
            summary=str(stored.get("summary") or ""),
            covered=_whole(stored.get("covered"), -1),
            updated_at=_seconds(stored.get("updated_at")),
            worker=str(stored.get("worker") or ""),
            worker_until=_seconds(stored.get("worker_until")),
            recent=_messages(stored.get("recent")),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the record as it is stored; members without a value are left out."""
        stored: dict[str, Any] = {
            "summary": self.summary,
            "covered": self.covered,
            "updated_at": self.updated_at,
        }
        if self.worker:
            stored |= {"worker": self.worker, "worker_until": self.worker_until}
        if self.recent:
            stored["recent"] = list(self.recent)
        return stored

    def is_taken(self, by_other_than: str, now: float, lease_s: float) -> bool:
        """Tell whether somebody else is at work; a lease that reaches too far ahead does not count."""
        return self.worker not in ("", by_other_than) and now < self.worker_until <= now + 2 * lease_s

    def released(self) -> SummaryRecord:
        """Return the record with nobody at work."""
        return replace(self, worker="", worker_until=0.0)

    def without_recent(self) -> SummaryRecord:
        """Return the record without the messages of version 1.x."""
        return replace(self, recent=())


def convert_1x(found: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Return the sessions of a file that version 1.x wrote.

    ``{session: {"summary", "recent": [{"role", "content"}], "exchange_count", "updated_at"}}``; in SQLite the
    rows of ``sessions`` with ``recent`` as JSON text.
    """
    converted: dict[str, dict[str, Any]] = {}
    for session_id, stored in found.items():
        if not isinstance(stored, Mapping) or not {"summary", "recent"} & stored.keys():
            return None
        recent = _messages(stored.get("recent"))
        record = SummaryRecord(
            summary=str(stored.get("summary") or ""),
            updated_at=_seconds(stored.get("updated_at")),
            recent=recent,
        )
        converted[session_id] = record.as_dict()
    return converted


def _messages(value: Any) -> tuple[Mapping[str, Any], ...]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return ()
    return tuple(m for m in value if isinstance(m, Mapping)) if isinstance(value, list) else ()


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (OverflowError, TypeError, ValueError):  # an ISO date, or nothing
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
