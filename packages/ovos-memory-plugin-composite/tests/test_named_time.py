"""Hits of a time that the question names."""

from __future__ import annotations

import pytest

from ovos_memory.core.types import MemoryHit


def dated(**moments):
    """Return a member class that finds texts said at these moments, best first."""

    def search(self, query, session_id=None, top_k=None):
        return [
            MemoryHit(text, score=1 - place / 10, metadata={"created_at": moment, "session_id": session_id})
            for place, (text, moment) in enumerate(moments.items())
        ]

    return {"search": search}


def reading(fits):
    """Return the part of a member class that reads times."""

    def time_fit(self, query, moments):
        self.asked = (query, moments)
        return fits(moments) if callable(fits) else fits

    return {"time_fit": time_fit}


@pytest.fixture
def member(plugins):
    """Add a member class to the plugins and return its name."""

    def add(name, *parts):
        plugins[name] = type(
            name, (plugins["plain"],), {key: each for part in parts for key, each in part.items()}
        )
        return name

    return add


def contents(hits):
    return [hit.content for hit in hits]


LATE = reading(lambda moments: [float(moment > 10) for moment in moments])


@pytest.mark.parametrize("fusion", ["rrf", "weighted", "convex"])
def test_a_hit_of_the_named_time_comes_first_whichever_member_found_it(compose, member, fusion):
    words = member("words", dated(early=1.0), LATE)
    dense = member("dense", dated(first=2.0, late=20.0))

    memory = compose(words, dense, fusion=fusion, date_weight=3)

    hits = memory.search("what did we do then", "s")
    assert contents(hits)[0] == "late"
    assert hits[0].metadata["retrievers"] == {
        "dense": {"rank": 2, "score": 0.9},
        "named time": {"rank": 1, "score": 1.0},
    }
    assert memory.members[0].memory.asked == ("what did we do then", [1.0, 2.0, 20.0])
    assert contents(memory.search("what did we do then", "s")) == [
        facts["content"] for facts in memory.explain("what did we do then", "s")["fused"]
    ]


@pytest.mark.parametrize(
    ("settings", "fits"),
    [
        ({"date_weight": 0}, [1.0, 1.0]),
        ({}, [1.0, 1.0]),
        ({"date_weight": 1, "fusion": "interleave"}, [0.0, 1.0]),
        ({"date_weight": 1, "fusion": "merge"}, [0.0, 1.0]),
        ({"date_weight": 1, "fusion": "priority"}, [0.0, 1.0]),
        ({"date_weight": 1}, [0.0, 0.0]),
        ({"date_weight": 1}, [0.0]),
        ({"date_weight": 1}, ["late", None]),
        ({"date_weight": 1}, None),
    ],
    ids=["off", "default", "interleave", "merge", "priority", "no time", "too few", "no numbers", "nothing"],
)
def test_otherwise_the_order_is_that_of_the_members(compose, member, logged, settings, fits):
    words = member("words", dated(early=1.0, late=20.0), reading(fits))

    hits = compose(words, **settings).search("x", "s")

    assert contents(hits) == ["early", "late"]
    assert all(list(hit.metadata["retrievers"]) == ["words"] for hit in hits)


def test_a_member_that_fails_to_read_times_costs_no_hit(compose, member, logged):
    def stumble(moments):
        raise OSError("no calendar")

    hits = compose(member("words", dated(early=1.0), reading(stumble)), date_weight=1).search("x", "s")

    assert contents(hits) == ["early"]
    assert len(logged) == 1 and "time_fit" in logged[0] and "OSError" in logged[0]


@pytest.mark.parametrize("moment", [None, "today", float("nan"), float("inf")])
def test_a_hit_without_a_time_is_of_no_named_time(compose, member, moment):
    words = member("words", dated(odd=moment, late=20.0), LATE)

    memory = compose(words, date_weight=1)

    assert contents(memory.search("x", "s")) == ["late", "odd"]
    assert memory.members[0].memory.asked[1] == [20.0]


def test_nobody_is_asked_when_nothing_is_found(compose, member):
    memory = compose(member("words", dated(), LATE), date_weight=1)

    assert memory.search("x", "s") == []
    assert not hasattr(memory.members[0].memory, "asked")
