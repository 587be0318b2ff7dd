from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.lexical.dates import MAX_BOOST, boost, named_times

NOW = datetime(2024, 3, 13, 12, tzinfo=timezone.utc).timestamp()  # a Wednesday


def at(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=timezone.utc).timestamp()


def days(question: str) -> list[tuple[str, str]]:
    def day(moment: float) -> str:
        return datetime.fromtimestamp(moment, timezone.utc).date().isoformat()

    return [(day(span.start), day(span.end)) for span in named_times(question, NOW)]


@pytest.mark.parametrize(
    ("question", "span"),
    [
        ("what did I buy on 2023-05-07?", ("2023-05-07", "2023-05-08")),
        ("the party of 2023-05", ("2023-05-01", "2023-06-01")),
        ("what happened in June", ("2023-06-01", "2023-07-01")),
        ("what did Maria do on 7 July, 2023", ("2023-07-07", "2023-07-08")),
        ("dinner on May 3, 2023", ("2023-05-03", "2023-05-04")),
        ("the 3rd of March", ("2024-03-03", "2024-03-04")),
        ("on Aug 15th", ("2023-08-15", "2023-08-16")),
        ("where were we in May", ("2023-05-01", "2023-06-01")),
        ("yesterday", ("2024-03-12", "2024-03-13")),
        ("last night", ("2024-03-12", "2024-03-13")),
        ("last week", ("2024-03-04", "2024-03-11")),
        ("last weekend", ("2024-03-09", "2024-03-11")),
        ("last Monday", ("2024-03-11", "2024-03-12")),
        ("this month", ("2024-03-01", "2024-04-01")),
        ("last month", ("2024-02-01", "2024-03-01")),
        ("last year", ("2023-01-01", "2024-01-01")),
        ("three days ago", ("2024-03-10", "2024-03-11")),
        ("in 2022", ("2022-01-01", "2023-01-01")),
    ],
)
def test_named_times(question, span):
    assert days(question) == [span]


@pytest.mark.parametrize(
    "question",
    [
        "what may I eat",
        "march on",
        "the number 2023",
        "31 February 2023",
        "room 12-34",
        "call 2023-99-99",
        "",
        "9:30",
    ],
)
def test_questions_that_name_no_time(question):
    assert days(question) == []


def test_the_named_day_counts_most_and_the_days_after_it_less():
    spans = named_times("what did we do on 2023-05-07", NOW)

    factors = [
        boost(spans, at(day))
        for day in ("2023-05-07", "2023-05-08", "2023-05-12", "2023-05-20", "2023-05-06")
    ]

    assert factors[0] == MAX_BOOST
    assert factors[0] >= factors[1] > factors[2] > factors[3] == factors[4] == 1.0


@given(st.text(), st.floats(0, 4e9), st.floats(0, 4e9))
def test_a_boost_never_leaves_its_bounds(question, now, moment):
    assert 1.0 <= boost(named_times(question, now), moment) <= MAX_BOOST
