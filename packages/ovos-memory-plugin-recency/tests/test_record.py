"""A session's record: what it keeps, for how long, and how it is read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.core.exchanges import append_turns
from ovos_memory.recency.record import Limits, Turn, convert_1x, read_turns, with_turns, within

U, A, T = (
    (lambda text, role=role, **more: AgentMessage(role, text, **more))
    for role in (MessageRole.USER, MessageRole.ASSISTANT, MessageRole.TOOL)
)
ALL = Limits(0, None)


def contents(turns):
    return [turn.message.content for turn in turns]


def test_a_record_keeps_time_role_and_content():
    record = with_turns(None, [U("a"), A("b")], now=7.5, limits=ALL)

    assert record == {
        "messages": [
            {"ts": 7.5, "role": "user", "content": "a"},
            {"ts": 7.5, "role": "assistant", "content": "b"},
        ]
    }


def test_tool_calls_survive_json():
    said = [
        U("weather?"),
        A("", tool_calls=[ToolCall("c1", "weather", {"city": ["Rome"]})]),
        T("21", tool_call_id="c1", name="weather"),
        A("21 degrees"),
    ]

    record = json.loads(json.dumps(with_turns(None, said, now=1, limits=ALL)))

    assert [turn.message for turn in read_turns(record)] == said


def test_the_turn_rules_hold_and_the_newest_time_counts():
    record = with_turns(None, [U("lost"), U("a"), A("b")], now=1, limits=ALL)
    record = with_turns(record, [A("c")], now=2, limits=ALL)

    assert [(turn.said_at, turn.message.content) for turn in read_turns(record)] == [(1, "a"), (2, "b\nc")]


@pytest.mark.parametrize(("limit", "kept"), [(0, "abcd"), (1, "d"), (3, "bcd"), (9, "abcd")])
def test_the_newest_messages_are_kept(limit, kept):
    record = with_turns(None, [U("a"), A("b"), U("c"), A("d")], now=1, limits=Limits(limit, None))

    assert contents(read_turns(record)) == list(kept)


def test_a_message_lives_for_its_age_and_not_longer():
    turns = read_turns(with_turns(None, [U("a"), A("b")], now=100, limits=ALL))

    assert contents(within(turns, now=110.5, limits=Limits(0, 10.5))) == ["a", "b"]
    assert contents(within(turns, now=110.6, limits=Limits(0, 10.5))) == []


def test_what_is_too_old_is_dropped_from_the_record():
    limits = Limits(0, 10)
    record = with_turns(None, [U("a"), A("b")], now=100, limits=limits)

    record = with_turns(record, [U("c"), A("d")], now=111, limits=limits)

    assert contents(read_turns(record)) == ["c", "d"]


def test_a_clock_that_goes_backwards_hides_nothing():
    limits = Limits(0, 10)
    record = with_turns(None, [U("a"), A("b")], now=1_000, limits=limits)
    record = with_turns(record, [U("c"), A("d")], now=5, limits=limits)

    for now in (5, 0, 1_000, 1_010):
        assert contents(within(read_turns(record), now=now, limits=limits)) == ["a", "b", "c", "d"], now


@pytest.mark.parametrize(
    "item",
    [
        None,
        "text",
        {},
        {"role": "wizard", "content": "x"},
        {"role": "user", "ts": "late", "content": "x"},
        {"role": "assistant", "content": "x", "tool_calls": [{"id": "c"}]},
        {"role": "system", "content": "obey"},
    ],
)
def test_what_cannot_be_read_is_left_out(item):
    fine = {"role": "user", "content": "fine", "ts": None}

    assert contents(read_turns({"messages": [item, fine]})) == ["fine"]


@pytest.mark.parametrize("record", [None, {}, {"messages": None}])
def test_an_empty_record_holds_no_turns(record):
    assert read_turns(record) == []


def test_a_file_of_1x_is_converted():
    found = {
        "s1": {
            "buffer": [
                {"ts": 1.5, "role": "user", "content": "a"},
                {"ts": 2, "role": "assistant", "content": "b"},
            ]
        },
        "empty": {"buffer": []},
    }

    records = convert_1x(found)

    assert read_turns(records["s1"]) == [Turn(1.5, U("a")), Turn(2.0, A("b"))]
    assert read_turns(records["empty"]) == []


@pytest.mark.parametrize(
    "found", [{"s": []}, {"s": {"facts": ["x"]}}, {"s": {"buffer": "x"}}, {"a": {"buffer": []}, "b": 1}]
)
def test_another_shape_is_no_1x_file(found):
    assert convert_1x(found) is None


SAID = st.lists(st.one_of(st.builds(U, st.text(max_size=3)), st.builds(A, st.text(max_size=3))), max_size=5)


@given(st.lists(st.tuples(SAID, st.floats(0, 1e6)), max_size=6), st.integers(0, 5))
def test_without_an_age_a_record_is_the_end_of_all_turns(calls, limit):
    record, everything = None, []
    for said, now in calls:
        record = with_turns(record, said, now=now, limits=Limits(limit, None))
        everything = append_turns(everything[-limit:], said)

    turns = read_turns(record)

    assert [turn.message for turn in turns] == everything[-limit:]
    assert [turn.said_at for turn in turns] == sorted(turn.said_at for turn in turns)
