"""Messages with numbers: ascending, kept by their neighbours' going, never used twice."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.text import clean
from ovos_memory.core.turns import Turn, as_stored, numbered, read_turns, with_said

ROLES = st.sampled_from([MessageRole.USER, MessageRole.ASSISTANT])
TEXTS = st.text(max_size=3).map(clean)
"""As every caller gives them; Hypothesis makes up constants of our modules too, such as NUL."""
SAID = st.lists(st.builds(AgentMessage, ROLES, TEXTS), max_size=4)


@given(st.lists(st.tuples(SAID, st.floats(0, 2e9)), max_size=6))
def test_numbers_ascend_and_survive_storing(calls: list[tuple[list[AgentMessage], float]]) -> None:
    turns: list[Turn] = []
    for said, now in calls:
        turns = with_said(turns, said, now=now)

    numbers = [turn.n for turn in turns]
    assert numbers == sorted(set(numbers)) and all(n >= 0 for n in numbers)
    again = read_turns(json.loads(json.dumps(as_stored(turns))))
    assert again == turns and [turn.n for turn in again] == numbers


@given(st.lists(st.floats(0, 2e9), min_size=2, max_size=8), st.data())
def test_a_number_stays_when_neighbours_go(times: list[float], data: st.DataObject) -> None:
    turns = numbered(Turn(t, AgentMessage(MessageRole.USER, str(i))) for i, t in enumerate(sorted(times)))
    gone = data.draw(st.integers(0, len(turns) - 1))
    kept = turns[:gone] + turns[gone + 1 :]

    assert [t.n for t in read_turns(as_stored(kept))] == [t.n for t in kept]


def test_an_answer_that_grows_keeps_its_number_and_a_new_question_gets_one() -> None:
    question, answer = AgentMessage(MessageRole.USER, "q"), AgentMessage(MessageRole.ASSISTANT, "a")
    turns = with_said([], [question, answer], now=1.0)
    longer = with_said(turns, [answer], now=9.0)
    replaced = with_said(turns[:1], [question], now=9.0)

    assert [t.n for t in turns] == [1000, 1001] and [t.n for t in longer] == [1000, 1001]
    assert [t.n for t in replaced] == [9000]


def test_a_number_is_stored_only_where_the_time_does_not_tell_it() -> None:
    turns = numbered(
        [Turn(1.0, AgentMessage(MessageRole.USER, "a")), Turn(1.0, AgentMessage(MessageRole.USER, "b"))]
    )

    assert ["n" in item for item in as_stored(turns)] == [False, False]
    assert as_stored(turns[1:])[0]["n"] == 1001
