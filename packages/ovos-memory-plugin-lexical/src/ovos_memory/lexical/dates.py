"""Times that a question names: ISO dates, English months, and words such as "yesterday"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ovos_memory.lexical.other_dates import other_times

MAX_BOOST = 1.5
"""Factor for an exchange of just the named time."""
_TOLD_LATER = timedelta(days=7)
"""What happened is often told some days later; within this time the boost fades to half of it."""

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_NUMBERS = {name: number for number, name in enumerate(_MONTHS, 1)} | {
    short: number for number, name in enumerate(_MONTHS, 1) for short in (name[:3], name[:4])
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_NAMED = re.compile(
    rf"(?:(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?\b(?P<month>{_MONTH})\b\.?"
    r"(?:\s+(?P<later>\d{1,2})(?:st|nd|rd|th)?(?![\d:]))?(?:,?\s+(?:of\s+)?(?P<year>\d{4})\b)?"
)
_BEFORE_A_MONTH = re.compile(r"\b(?:in|on|of|since|until|till|by|during|last|this|next|early|mid|late)\s+$")
_YEAR = re.compile(r"\b(?:in|of|during|since|by|year)\s+((?:19|20)\d\d)\b")
_RELATIVE = re.compile(
    rf"\b(?:(today|tonight|yesterday)|(last|this)\s+(night|week|weekend|month|year|{'|'.join(_WEEKDAYS)})"
    r"|(\d{1,3}|an?|two|three|four|five|six)\s+(day|week|month|year)s?\s+ago)\b"
)
_SMALL = {"a": 1, "an": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


@dataclass(frozen=True, slots=True)
class Span:
    """A time from ``start`` to before ``end``, epoch seconds.

    Attributes:
        start: Its first moment.
        end: The moment behind it.
        fades: What was said shortly after it counts too.
    """

    start: float
    end: float
    fades: bool

    @property
    def latest(self) -> float:
        """The last moment that gets a boost, epoch seconds."""
        return self.end + (_TOLD_LATER.total_seconds() if self.fades else 0.0)

    def boost(self, moment: float) -> float:
        """Return the factor for something said at that moment: 1 to :data:`MAX_BOOST`."""
        if self.start <= moment < self.end:
            return MAX_BOOST
        late = (moment - self.end) / _TOLD_LATER.total_seconds()
        if self.fades and 0 <= late < 1:
            return 1 + (MAX_BOOST - 1) * (0.9 - 0.4 * late)
        return 1.0


def named_times(question: str, now: float, language: str = "en") -> list[Span]:
    """Return the times that a question names, empty when it names none.

    Days are those of UTC, the ledger's time.  A month or day without a year is the latest one that has begun.

    Args:
        question: As it was asked.
        now: When it was asked, epoch seconds.
        language: Code of the store's language; see :mod:`ovos_memory.lexical.other_dates`.
    """
    text = question.lower()
    if not text.isascii():
        text = text.replace("\u00a0", " ")
    moment = datetime.fromtimestamp(now, timezone.utc)
    spans = [*_iso(text), *_by_month(text, moment), *_relative(text, moment)]
    if not spans:
        spans = [
            span for found in _YEAR.finditer(text) if (span := _span(int(found[1]), None, None, fades=False))
        ]
    if not spans and language != "en":
        spans = [Span(start, end, fades=True) for start, end in other_times(question, now, language)]
    return spans


def boost(spans: Sequence[Span], moment: float) -> float:
    """Return the best factor that any of the times gives."""
    return max((span.boost(moment) for span in spans), default=1.0)


def _iso(text: str) -> Iterator[Span]:
    for found in _ISO.finditer(text):
        span = _span(int(found[1]), int(found[2]), int(found[3]) if found[3] else None)
        if span is not None:
            yield span


def _by_month(text: str, now: datetime) -> Iterator[Span]:
    for found in _NAMED.finditer(text):
        day = found["day"] or found["later"]
        is_doubtful = found["month"] in ("may", "mar", "march") and not (day or found["year"])
        if is_doubtful and not _BEFORE_A_MONTH.search(text[: found.start("month")]):
            continue
        month, day_number = _NUMBERS[found["month"]], int(day) if day else None
        years = [int(found["year"])] if found["year"] else [now.year, now.year - 1]
        for year in years:
            span = _span(year, month, day_number)
            if span is not None and (found["year"] or span.start <= now.timestamp()):
                yield span
                break


def _relative(text: str, now: datetime) -> Iterator[Span]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for found in _RELATIVE.finditer(text):
        word, which, unit, count, past = found.groups()
        if word or unit == "night":
            back = 1 if word == "yesterday" or unit == "night" else 0
            yield _days(today - timedelta(days=back), 1)
        elif past:
            number = _SMALL.get(count) or int(count)
            days = number * {"day": 1, "week": 7, "month": 30, "year": 365}[past]
            slack = {"day": 0, "week": 3, "month": 10, "year": 45}[past]
            yield _days(today - timedelta(days=min(days, 36_500) + slack), 1 + 2 * slack)
        elif unit in _WEEKDAYS:
            back = (today.weekday() - _WEEKDAYS.index(unit)) % 7 or 7
            yield _days(today - timedelta(days=back), 1)
        else:
            yield _calendar_unit(unit, today, is_last=which == "last")


def _calendar_unit(unit: str, today: datetime, *, is_last: bool) -> Span:
    monday = today - timedelta(days=today.weekday())
    if unit == "week":
        return _days(monday - timedelta(days=7 * is_last), 7)
    if unit == "weekend":
        saturday = monday + timedelta(days=5 - 7 * (is_last or today.weekday() < 5))
        return _days(saturday, 2)
    months = today.year * 12 + today.month - 1 - is_last
    span = (
        _span(months // 12, months % 12 + 1, None)
        if unit == "month"
        else _span(today.year - is_last, None, None)
    )
    assert span is not None
    return span


def _span(year: int, month: int | None, day: int | None, *, fades: bool = True) -> Span | None:
    """Return the year, month or day as a span; ``None`` when there is no such date."""
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=timezone.utc)
        if day:
            return _days(start, 1, fades=fades)
        end = datetime(year + (month in (None, 12)), (month or 12) % 12 + 1, 1, tzinfo=timezone.utc)
    except ValueError:
        return None
    return Span(start.timestamp(), end.timestamp(), fades)


def _days(start: datetime, count: int, *, fades: bool = True) -> Span:
    return Span(start.timestamp(), (start + timedelta(days=count)).timestamp(), fades)
