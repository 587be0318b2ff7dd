"""Who is asked when: the usually slowest first, and nobody who has nothing to say."""

import pytest

from ovos_memory.composite.members import Member
from ovos_memory.composite.rounds import Round
from ovos_memory.composite.settings import MemberSettings
from ovos_memory.testing.fakes.members import PlainMember
from ovos_memory.testing.managed_reference import ManagedReference


def member(name, memory=None, **usual_s):
    made = Member(
        name,
        memory or PlainMember({}),
        settings=MemberSettings(module="m"),
        plugin="p",
        clock=lambda: 0.0,
    )
    made.usual_s.update(usual_s)
    return made


def test_the_usually_slowest_is_asked_first_and_answers_keep_the_order(monkeypatch):
    begun = []
    members = [member("quick", search=0.001), member("unknown"), member("slow", search=0.2)]
    for each in members:
        monkeypatch.setattr(
            each.gate,
            "start",
            lambda call, each=each, start=each.gate.start: (begun.append(each), start(call))[1],
        )

    answers = Round(members, "search", lambda each: each.name, timeout_s=5).answers()

    assert [each.name for each in begun] == ["slow", "quick", "unknown"]
    assert [(each.name, answer) for each, answer in answers] == [(each.name, each.name) for each in members]


def test_what_a_member_takes_is_noted_by_operation():
    slow = member("slow", search=10.0)

    Round([slow], "search", lambda each: None, timeout_s=5).answers()
    Round([slow], "history", lambda each: None, timeout_s=5).answers()

    assert 7 < slow.usual_s["search"] < 10
    assert 0 <= slow.usual_s["history"] < 1


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
