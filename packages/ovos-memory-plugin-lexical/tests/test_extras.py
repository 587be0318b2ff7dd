"""What the optional extras add; stand-ins take their place, so that the rules hold wherever the tests run."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest

from ovos_memory.lexical import languages, other_dates
from ovos_memory.lexical.analysis import Analyzer
from ovos_memory.lexical.dates import named_times

NOW = datetime(2024, 3, 13, 12, tzinfo=timezone.utc).timestamp()


@pytest.fixture
def snowball(monkeypatch):
    """Stand in for snowballstemmer with a stemmer that keeps three letters."""
    module = SimpleNamespace(
        algorithms=lambda: ["spanish"], stemmer=lambda name: SimpleNamespace(stemWord=lambda word: word[:3])
    )
    monkeypatch.setitem(sys.modules, "snowballstemmer", module)
    monkeypatch.setattr(languages, "stemmers_release", lambda: "9.9")
    monkeypatch.setattr("ovos_memory.lexical.analysis.stemmers_release", lambda: "9.9")
    languages.stemmer.cache_clear()
    yield
    languages.stemmer.cache_clear()


def test_snowball_stems_what_it_is_good_at(snowball):
    assert Analyzer("es").terms("tortugas") == ["tor"]
    assert Analyzer("de").terms("Katzen") == ["katz"]
    assert Analyzer("en").terms("turtles") == ["turtl"]
    assert Analyzer("it").terms("gatti") == ["gatt"]  # this release does not have it


def test_installing_the_stemmers_makes_another_index(snowball):
    assert Analyzer("es").fingerprint.endswith(":es:9.9")


def stand_in(*found: tuple[str, datetime]):
    return lambda: lambda question, languages, settings: list(found)


@pytest.mark.parametrize(
    ("fragment", "date", "span"),
    [
        ("gestern", datetime(2024, 3, 12, 12), ("2024-03-12", "2024-03-13")),
        ("am 10. Januar 2024", datetime(2024, 1, 10), ("2024-01-10", "2024-01-11")),
        ("im Januar", datetime(2024, 1, 1), ("2024-01-01", "2024-02-01")),
        ("Dezember 2023", datetime(2023, 12, 1), ("2023-12-01", "2024-01-01")),
        ("1. Januar", datetime(2024, 1, 1), ("2024-01-01", "2024-01-02")),
    ],
)
def test_dates_of_other_languages(monkeypatch, fragment, date, span):
    monkeypatch.setattr(other_dates, "_search_dates", stand_in((fragment, date)))

    [found] = named_times(f"was war {fragment}", NOW, "de")

    start, end = (
        datetime.fromtimestamp(m, timezone.utc).date().isoformat() for m in (found.start, found.end)
    )
    assert (start, end) == span


def test_short_fragments_are_no_dates(monkeypatch):
    monkeypatch.setattr(other_dates, "_search_dates", stand_in(("mi", datetime(2024, 3, 6))))

    assert named_times("cómo se llama mi perro", NOW, "es") == []


def test_a_parser_that_stumbles_names_no_time(monkeypatch):
    def stumble(*_: object, **__: object) -> None:
        raise ValueError("unknown language")

    monkeypatch.setattr(other_dates, "_search_dates", lambda: stumble)

    assert named_times("qué cociné ayer", NOW, "xx") == []


def test_english_needs_no_parser(monkeypatch):
    monkeypatch.setattr(other_dates, "_search_dates", lambda: pytest.fail("asked"))

    assert len(named_times("yesterday", NOW, "en")) == 1
    assert named_times("what is my dog called", NOW, "en") == []
