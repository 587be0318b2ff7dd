"""``list``, ``show``, ``search``, ``explain``, ``stats`` on a real store."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ovos_memory.cli import statistics
from ovos_memory.cli.target import calm

LEXICAL = "ovos-memory-plugin-lexical"


def test_list_shows_what_every_member_knows(rosie: Any) -> None:
    done = rosie.run("list")

    assert done.code == 0
    for text in ("words/kitchen_0", "lately/kitchen_", "my door code is 4512", "hall"):
        assert text in done.out


def test_list_in_json_is_nothing_but_json(rosie: Any) -> None:
    records = rosie.run("list", "--json").json

    assert len(records) == 9
    assert {r["kind"] for r in records} == {"message", "exchange"}
    assert {r["origin"] for r in records} == {"lately", "words"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--session", "hall"], 3),
        (["--query", "DOOR code"], 2),
        (["--session", "hall", "--query", "door code"], 0),
        (["--before", "2001-01-01"], 0),
        (["--after", "2001-01-01"], 9),
        (["--before", "0s", "--limit", "4"], 4),
    ],
)
def test_list_takes_all_conditions(rosie: Any, options: list[str], expected: int) -> None:
    assert len(rosie.run("list", "--json", *options).json) == expected


def test_list_of_nothing_ends_with_three(rosie: Any) -> None:
    assert rosie.run("list", "--query", "never said").code == 3


@pytest.mark.parametrize("command", [["list"], ["list", "--sessions"], ["list", "--json"], ["forget"]])
@pytest.mark.parametrize("phrase", ["ab", " a ", ""])
def test_a_phrase_that_is_too_short_is_a_wrong_call(rosie: Any, command: list[str], phrase: str) -> None:
    done = rosie.run(*command, "--query", phrase)

    assert (done.code, done.out) == (2, "") and "at least 3 characters" in done.err


def test_list_shows_sessions(rosie: Any) -> None:
    found = rosie.run("list", "--sessions", "--json").json

    assert {(s["session_id"], s["documents"]) for s in found} == {("kitchen", 6), ("hall", 3)}
    assert "kitchen" in rosie.run("list", "--sessions").out


@pytest.mark.parametrize(
    ("conditions", "sessions"),
    [
        (["-q", "COFFEE"], {("hall", 3)}),
        (["-q", "tea at five"], {("kitchen", 6)}),
        (["-q", "noted"], {("kitchen", 6), ("hall", 3)}),
        (["-q", "noted", "-s", "hall"], {("hall", 3)}),
        (["-q", "coffee", "-s", "kitchen"], set()),
        (["-q", "coffee", "--before", "2020-01-01"], set()),
        (["--after", "2020-01-01"], {("kitchen", 6), ("hall", 3)}),
        (["--before", "2020-01-01"], set()),
    ],
)
def test_list_shows_the_sessions_that_have_a_record_that_matches(
    rosie: Any, conditions: list[str], sessions: set[tuple[str, int]]
) -> None:
    found = rosie.run("list", "--sessions", *conditions, "--json").json

    assert {(s["session_id"], s["documents"]) for s in found} == sessions
    assert rosie.run("list", "--sessions", *conditions).code == (0 if sessions else 3)


def test_show_tells_all_of_a_record(rosie: Any) -> None:
    done = rosie.run("show", "words/kitchen_0")

    assert done.code == 0 and "Q: my door code is 4512\nA: noted" in done.out
    assert rosie.run("show", "words/kitchen_0", "--json").json["question"] == "my door code is 4512"
    assert rosie.run("show", "words/kitchen_99").code == 3


def test_search_returns_hits_with_scores(rosie: Any) -> None:
    hits = rosie.run("search", "what is the door code", "--json").json

    assert hits[0]["content"] == "Q: my door code is 4512\nA: noted" and hits[0]["score"] > 0
    assert "my door code" in rosie.run("search", "door code").out
    assert rosie.run("search", "zebra").code == 3


def test_explain_names_members_reasons_and_messages(rosie: Any) -> None:
    memory = rosie.open()
    for number in range(12):
        rosie.tell(memory, f"tea number {number}")
    memory.close()

    told = rosie.run("explain", "tea", "--json").json
    by_name = {found["member"]: found for found in told["lists"]}
    dropped = [hit["dropped"] for hit in by_name["words"]["hits"]]
    assert dropped[:5] == [None] * 5 and "beyond max_num_results (5)" in dropped[5]
    assert "recalls nothing by query" in by_name["lately"]["error"]
    assert told["fused"][0]["retrievers"]["words"]["rank"] == 1
    assert told["messages"][-1] == {"role": "user", "content": "tea"}
    assert "beyond max_num_results" in rosie.run("explain", "tea").out


def test_explain_of_a_single_retriever(rosie: Any) -> None:
    (rosie.home / "lexical.json").write_text(f'{{"db_path": "{rosie.home}/data/lexical.db"}}')

    told = rosie.run(
        "explain", "tea", "--json", "-m", LEXICAL, "--config", str(rosie.home / "lexical.json")
    ).json
    assert [hit["source"] for hit in told["fused"]] == ["kitchen_1"]


def test_stats_count_by_member(rosie: Any) -> None:
    told = rosie.run("stats", "--json").json

    assert told["records"] == 9 and told["members"]["words"]["kinds"] == {"exchange": 3}
    assert told["health"]["members"]["words"]["state"] == "ready"
    shown = rosie.run("stats").out
    assert "2 sessions, 9 records" in shown and "3 exchange" in shown and "no failures" in shown
    assert "a running persona tells in its log alone" in shown


@pytest.mark.parametrize(
    "model",
    [
        {"server": "http://localhost:11434", "model": "llama3.2", "form": "json_schema", "failures": 0},
        {"engine": "chat engine 'mine'", "loaded": True, "failures": 0},
    ],
)
def test_the_name_of_a_model_is_no_trouble(model: dict[str, Any]) -> None:
    assert list(statistics._troubles("facts", {"model": model})) == []

    failing = {"model": {**model, "failures": 2}}
    assert list(statistics._troubles("facts", failing)) == [("facts", "model failures", 2)]


def test_stats_show_failures_of_other_processes_and_say_whose_they_are(rosie: Any) -> None:
    memory = rosie.open()
    members = {member.name: member.memory for member in memory.members}
    for name in ("words", "lately"):  # one notes what fails in its store, the other has a file of JSON
        members[name].get_history("kitchen")
        members[name].boundary.failed("search", OSError())

    shown = rosie.run("stats").out
    memory.close()

    assert "failures that the stores have noted" in shown and "no failures" not in shown
    assert re.search(r"words\W+search\W+1\W.*OSError", shown) and not re.search(r"lately\W+search", shown)
    assert "the noted failures of words." in shown and "All else is this command's own" in shown


def test_what_was_said_does_not_drive_the_terminal(rosie: Any) -> None:
    memory = rosie.open()
    evil = "\x1b]0;owned\x07 \x1b[31mred [bold]markup[/bold] [link=file:///etc] :smile: \u202egnp.exe \x9b2J"
    rosie.tell(memory, evil, session_id="evil\x1b[2J")
    memory.close()

    for command in (
        ["list"],
        ["show", "words/evil\x1b[2J_0"],
        ["search", "markup"],
        ["explain", "markup"],
        ["list", "--sessions"],
    ):
        done = rosie.run(*command)
        assert done.code == 0, command
        assert not set(done.out + done.err) & set("\x1b\x07\x9b\u202e"), command
    assert "[bold]markup[/bold]" in rosie.run("list").out and ":smile:" in rosie.run("list").out
    assert rosie.run("list", "--session", "evil\x1b[2J", "--json").json[0]["session_id"] == "evil\x1b[2J"


def test_a_command_loads_nothing_ahead_and_waits_for_a_model_where_a_conversation_would_not() -> None:
    rag = "ovos-memory-plugin-local-rag"

    assert calm({"collection": "x"}) == {"collection": "x", "preload": False, "timeout_s": 60}
    assert calm({"collection": "x", "timeout_s": 2})["timeout_s"] == 2
    assert calm({"members": [rag, "other"]}) == {
        "member_timeout_s": 90,
        "members": [
            {"module": rag, "config": {"preload": False, "timeout_s": 60}},
            {"module": "other", "config": {}},
        ],
    }
