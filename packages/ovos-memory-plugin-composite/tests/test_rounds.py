"""Who is asked when: who usually waits longest first, and nobody who has nothing to say."""

from types import SimpleNamespace

import pytest

from ovos_memory.composite import members
from ovos_memory.composite.members import Member
from ovos_memory.composite.rounds import Round
from ovos_memory.composite.settings import MemberSettings
from ovos_memory.testing.fakes.members import PlainMember
from ovos_memory.testing.managed_reference import ManagedReference


def member(name, memory=None, **usual_wait_s):
    made = Member(
        name,
        memory or PlainMember({}),
        settings=MemberSettings(module="m"),
        plugin="p",
        clock=lambda: 0.0,
    )
    made.usual_wait_s.update(usual_wait_s)
    return made


def test_who_usually_waits_longest_is_asked_first_and_answers_keep_the_order(monkeypatch):
    begun = []
    asked = [member("quick", search=0.001), member("unknown"), member("slow", search=0.2)]
    for each in asked:
        monkeypatch.setattr(
            each.gate,
            "start",
            lambda call, each=each, start=each.gate.start: (begun.append(each), start(call))[1],
        )

    answers = Round(asked, "search", lambda each: each.name, timeout_s=5).answers()

    assert [each.name for each in begun] == ["slow", "quick", "unknown"]
    assert [(each.name, answer) for each, answer in answers] == [(each.name, each.name) for each in asked]


def test_how_long_a_member_waits_is_noted_by_operation():
    slow = member("slow", search=10.0)

    Round([slow], "search", lambda each: None, timeout_s=5).answers()
    Round([slow], "history", lambda each: None, timeout_s=5).answers()

    assert 7 < slow.usual_wait_s["search"] < 10
    assert 0 <= slow.usual_wait_s["history"] < 1


def test_computing_is_no_waiting(monkeypatch):
    busy = member("busy")
    clock = SimpleNamespace(monotonic=iter([10.0, 13.0]).__next__, thread_time=iter([1.0, 3.5]).__next__)
    monkeypatch.setattr(members, "time", clock)

    busy.timed("search", lambda each: None)

    assert busy.usual_wait_s == {"search": 0.5}


@pytest.mark.parametrize(
    ("memory", "is_asked"),
    [
        (ManagedReference({}), False),
        (ManagedReference({"system_prompt": "Be brief."}), True),
        (PlainMember({}), True),
    ],
)
def test_a_retriever_of_ours_without_a_prompt_is_not_asked_for_blocks(memory, is_asked):
    assert member("m", memory).adds_blocks is is_asked
