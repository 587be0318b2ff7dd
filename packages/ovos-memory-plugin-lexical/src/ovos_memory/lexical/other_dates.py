"""Times that a question names in other languages than English, where the extra ``dates`` (dateparser) is installed."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

_DAY_S = 86_400.0
_SETTINGS = {"PREFER_DATES_FROM": "past", "PREFER_DAY_OF_MONTH": "first", "RETURN_AS_TIMEZONE_AWARE": False}
_TELLING = re.compile(r"\d|[^\W\d_]{4}")
"""Shorter fragments are mostly words that happen to look like a day's abbreviation (``mar``, ``mi``)."""


@functools.cache
def _search_dates() -> Callable[..., Any] | None:
    """Return dateparser's search; importing it takes a second, so only when somebody asks in such a language."""
    if importlib.util.find_spec("dateparser") is None:
        return None
    found: Callable[..., Any] = importlib.import_module("dateparser.search").search_dates
    return found


def other_times(question: str, now: float, language: str) -> list[tuple[float, float]]:
    """Return the times (first moment, moment behind the last; epoch seconds, days of UTC) that a question names.

    Args:
        question: As it was asked.
        now: When it was asked, epoch seconds.
        language: Code of the language that it is in.
    """
    search = _search_dates()
    if search is None:
        return []
    moment = datetime.fromtimestamp(now, timezone.utc).replace(tzinfo=None)
    try:
        found = search(question, languages=[language], settings={**_SETTINGS, "RELATIVE_BASE": moment})
    except (
        Exception
    ):  # a language that it does not know, or a text that it stumbles over: no time is named then
        return []
    return [_span(fragment, date) for fragment, date in found or () if _TELLING.search(fragment)]


def _span(fragment: str, date: datetime) -> tuple[float, float]:
    start = date.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=timezone.utc)
    if start.day == 1 and not re.search(r"\d", re.sub(r"\d{4}", "", fragment)):  # a month without a day
        end = start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        return start.timestamp(), end.timestamp()
    return start.timestamp(), start.timestamp() + _DAY_S
