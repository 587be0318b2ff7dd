"""The benchmark of recall on a tiny conversation of its own form."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ovos_memory.testing.fakes.embedder import FakeEmbedder
from ovos_memory.testing.fakes.members import install_plugin

BENCH = Path(__file__).parents[1] / "bench"

TALK = [
    ("Anna", "I bought a cello at the flea market"),
    ("Ben", "How lovely, does it still have strings?"),
    ("Anna", "Only two of them"),
    ("Anna", "And my brother Pavel repairs clocks in Porto"),
    ("Ben", "I am allergic to peanuts, by the way"),
]


@pytest.fixture(scope="module")
def quality():
    sys.path.insert(0, str(BENCH))
    try:
        import quality
        import quality_data
        import quality_score
        import quality_systems
    finally:
        sys.path.remove(str(BENCH))
    return quality, quality_data, quality_score, quality_systems


@pytest.fixture
def data(tmp_path):
    turns = [
        {"speaker": speaker, "dia_id": f"D1:{place}", "text": text}
        for place, (speaker, text) in enumerate(TALK, 1)
    ]
    turns[0]["blip_caption"] = "a brown  cello"
    asked = [
        ("Which instrument did Anna buy?", ["D1:1"], 4),
        ("What does Anna's brother repair?", ["D1:04; D1:9"], 1),
        ("What is Ben allergic to?", ["D1:5"], 4),
        ("Who owns a yacht?", [], 4),
        ("What colour is Anna's yacht?", ["D1:1"], 5),
    ]
    row = {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Anna",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": turns,
            "session_2_date_time": "2:00 pm on 9 May, 2023",
        },
        "qa": [{"question": q, "evidence": e, "category": c} for q, e, c in asked],
    }
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([row]), encoding="utf-8")
    return path


def test_a_conversation_becomes_exchanges_of_the_first_speaker(quality, data):
    _, quality_data, _, _ = quality

    [talk] = quality_data.read_conversations(data)

    assert [(e.question, e.answer) for e in talk.exchanges] == [
        ("I bought a cello at the flea market [shares a brown cello]", TALK[1][1]),
        (TALK[2][1], "Okay."),
        (TALK[3][1], TALK[4][1]),
    ]
    assert [e.when - talk.exchanges[0].when for e in talk.exchanges] == [0, 40, 60]
    assert talk.exchanges[0].when == 1_683_554_160 + 20


def test_questions_that_nothing_answers_are_left_out_and_odd_ids_are_read(quality, data):
    _, quality_data, _, _ = quality

    [talk] = quality_data.read_conversations(data)

    assert [question.id for question in talk.questions] == ["talk-1/0", "talk-1/1", "talk-1/2"]
    assert [sorted(question.evidence) for question in talk.questions] == [["D1:1"], ["D1:4"], ["D1:5"]]
    assert talk.questions[1].forms == {
        "raw": "What does Anna's brother repair?",
        "first-person": "What does my brother repair?",
    }


@pytest.mark.parametrize("content", ["{}", "[]", "[1]", '[{"conversation": {}}]', "no JSON"])
def test_a_file_of_another_form_is_refused(quality, tmp_path, content):
    path = tmp_path / "other.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(ValueError, match=r"other\.json is no file of conversations"):
        quality[1].read_conversations(path)
    with pytest.raises(ValueError, match=r"other\.json is no result"):
        quality[0].read_result(path)


def test_recall_counts_each_turn_once_and_short_turns_only_as_whole_lines(quality):
    _, _, quality_score, _ = quality
    turns = quality_score.Turns({"a": "Yes!", "b": "I bought a cello at the flea market", "c": "No"})

    def found(*hits, evidence="abc"):
        return quality_score.recall(hits, frozenset(evidence), turns)

    assert found("Q: Yes! I do.\nA: No") == {"5": pytest.approx(1 / 3), "10": pytest.approx(1 / 3)}
    assert found("Q: Yes!\nA: I bought a cello  at the flea market, no?", evidence="ab") == {"5": 1, "10": 1}
    assert found(*["nothing"] * 5, "A: No", evidence="c") == {"5": 0, "10": 1}
    assert found(evidence="c") == {"5": 0, "10": 0}


def test_the_interval_of_a_difference_holds_it_and_comes_from_shared_questions_alone(quality):
    _, _, quality_score, _ = quality
    old = {f"{talk}/{n}": {"5": 0.5, "10": 0.5} for talk in "abc" for n in range(20)}
    new = {name: {"5": 1.0, "10": 0.5 + 0.25 * (place % 3 - 1)} for place, name in enumerate(old)}

    assert quality_score.difference({**new, "d/1": {"5": 0, "10": 0}}, old, 5) == (50.0, 50.0, 50.0, 60)
    mean, low, high, count = quality_score.difference(new, old, 10)
    assert low < mean < high and low < 0 < high and count == 60
    assert quality_score.difference(new, old, 10) == (mean, low, high, count)
    assert quality_score.difference(new, {}, 5) == (0.0, 0.0, 0.0, 0)


def test_it_prints_every_system_and_compares_with_what_it_stored(
    quality, data, tmp_path, monkeypatch, capsys
):
    install_plugin(
        tmp_path / "plugins", monkeypatch, "test-embedder", FakeEmbedder, group="opm.embeddings.text"
    )
    kept = tmp_path / "kept" / "result.json"
    run = ["--data", str(data), "--embeddings-plugin", "test-embedder"]

    assert quality[0].main([*run, "--out", str(kept)]) == 0

    rows = [line for line in capsys.readouterr().out.splitlines() if "first-person, 3" in line]
    assert [row.split(" | ")[0].strip("| ") for row in rows] == [
        "lexical",
        "local-rag",
        "lexical of persona_hybrid",
        "local-rag of persona_hybrid",
        "composite, rrf",
        "composite, persona_hybrid",
    ]
    assert all(row.endswith("| 100.0 | 100.0 |") for row in rows if "local" not in row), rows
    assert "cello" not in kept.read_text(encoding="utf-8")

    assert quality[0].main([*run, "--only", "lexical", "--stored", str(kept)]) == 0
    assert capsys.readouterr().out.count("+0.0 [+0.0, +0.0] | +0.0 [+0.0, +0.0]") == 4


def test_what_is_certainly_worse_fails(quality, data, tmp_path, capsys):
    stored = {"raw": {f"talk-1/{n}": {"5": 2.0, "10": 0.0} for n in range(3)}}
    kept = tmp_path / "kept.json"
    quality[0].write_result(kept, {"lexical": stored}, {})

    assert quality[0].main(["--data", str(data), "--only", "lexical", "--stored", str(kept)]) == 1

    assert "worse than stored: lexical, raw: R@5 -100.0" in capsys.readouterr().err


def test_a_figure_without_a_member_is_none(quality, data):
    with pytest.raises(RuntimeError, match="local-rag on talk-1"):
        quality[0].main(
            ["--data", str(data), "--embeddings-plugin", "no-such-embedder", "--only", "local-rag"]
        )
