from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.core.llm.reply import Reply, TokenBudget, is_unfinished_thinking, visible_text
from ovos_memory.core.llm.scan import find_values


def values(text: str) -> list[object]:
    return [found.value for found in find_values(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["a", "b"]', [["a", "b"]]),
        ('Sure! Here you go: ["a"] Anything else?', [["a"]]),
        ('{"facts": ["a"]}', [{"facts": ["a"]}]),
        ('[["a"],["b"]]', [[["a"], ["b"]]]),
        ("['a', \"b\",]", [["a", "b"]]),
        ("['User's name is Bob', 'likes tea']", [["User's name is Bob", "likes tea"]]),
        ('["He said "hi" to me", "b"]', [['He said "hi" to me', "b"]]),
        ('["x", 3, null, "", True, None, -1.5]', [["x", 3, None, "", True, None, -1.5]]),
        ('{facts: ["a"]}', [{"facts": ["a"]}]),
        ('{"fact": "a"}\n{"fact": "b"}', [{"fact": "a"}, {"fact": "b"}]),
        (r'["caf\u00e9 \"x\"\n"]', [['café "x"\n']]),
        ('["a" "b"]', [["a", "b"]]),
        ("I found [1] fact", [[1]]),
        ("see [the page](http://x)", []),
        ("nothing", []),
        ("", []),
        ("null", []),
    ],
)
def test_values_are_found_in_what_models_write(text: str, expected: list[object]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["a","b', ["a"]),
        ('["a",', ["a"]),
        ('["a', []),
        ('[{"fact": "a"}, {"fact": "b", "kind": "na', [{"fact": "a"}]),
        ('[{"fact": "a"}, {"fact": "b"', [{"fact": "a"}]),
        ('{"facts": ["a", "b', {"facts": ["a"]}),
        ('{"add": [{"fact": "a"}], "remove": [1, 2', {"add": [{"fact": "a"}], "remove": [1]}),
        ('{"add": ["a"], "rem', {"add": ["a"]}),
        ('[["a"], ["b', [["a"]]),
        ('["a", nul', ["a"]),
        ('["a\\u12', []),
    ],
)
def test_complete_items_of_a_cut_value_are_kept(text: str, expected: object) -> None:
    (found,) = find_values(text)

    assert (found.value, found.is_cut) == (expected, True)


@pytest.mark.parametrize(
    "text", ["[" * 1_000_000, '["' * 500_000, "{" * 1_000_000, '{"a":' * 200_000, "[1," * 300_000]
)
def test_junk_of_a_megabyte_costs_bounded_time(text: str) -> None:
    started = time.process_time()

    values(visible_text(text))

    assert time.process_time() - started < 1.0


@given(st.text(alphabet="[]{}\",:'\\ua1 \n\ud83d", max_size=200))
def test_no_text_makes_the_scanner_raise(text: str) -> None:
    values(text)


SCALARS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
) | st.sampled_from([0, -7, 12, None, True, False])
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=12,
)


@given(TREES)
def test_valid_json_is_read_as_json_reads_it(value: object) -> None:
    (found,) = find_values(json.dumps([value]))

    assert found.value == [value] and not found.is_cut


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('<think>maybe ["wrong"]</think>["right"]', '["right"]'),
        ('<think>maybe ["wrong"]', ""),
        ('["kept"]<think>hmm', '["kept"]'),
        ('maybe ["wrong"]</think>["right"]', '["right"]'),
        ("<Thinking>a<thinking>b</thinking>c</Thinking>x", "x"),
        ("[THINK]a[/THINK]x", "x"),
        (
            '<|channel|>analysis<|message|>["wrong"]<|end|><|start|>assistant<|channel|>final<|message|>["right"]<|return|>',
            '["right"]',
        ),
        ('```json\n["a"]\n```', '["a"]'),
        ("```json [1] ```", "[1]"),
        ("hello<|im_end|></s>", "hello"),
        ("  a\n", "a"),
        (None, ""),
        ([{"type": "text", "text": "a"}], "a"),
        ("a \ud83d", "a \ufffd"),
    ],
)
def test_only_what_is_said_to_the_reader_is_visible(raw: object, expected: str) -> None:
    assert visible_text(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("<think>so", True),
        ("<think>so</think>x", False),
        ("x", False),
        ("<|channel|>analysis<|message|>so", True),
    ],
)
def test_thinking_that_did_not_end_is_told_apart(raw: str, expected: bool) -> None:
    assert is_unfinished_thinking(raw) is expected


def test_a_model_that_thinks_is_allowed_more_tokens() -> None:
    budget = TokenBudget()
    assert budget.tokens(128) == 128

    budget.noted(Reply.read("<think>so", is_cut=True))

    assert budget.tokens(128) == 512


def test_a_model_that_answers_is_not_allowed_more_tokens() -> None:
    budget = TokenBudget()

    budget.noted(Reply.read("a fact", is_cut=True))

    assert budget.tokens(128) == 128


def test_thinking_handed_out_separately_counts_as_unfinished_when_cut() -> None:
    assert Reply.read(None, is_cut=True, thought=True).is_unfinished
    assert not Reply.read(None, is_cut=False, thought=True).is_unfinished
