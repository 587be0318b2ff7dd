"""The bench runs as a whole on tiny sizes, and what it is made of does what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
sys.path.insert(0, str(BENCH))

from bench import BEGIN, BENCHES, END, IMAGES, PAGE, main, markdown, table, write_page  # noqa: E402
from corpus import Corpus  # noqa: E402
from curves import svg  # noqa: E402
from harness import Row, in_turns, limit, percentile, ratio  # noqa: E402

NEED_A_MODEL = {"composite-real", "hybrid-search", "rag-search", "rag-background"}


@pytest.fixture
def locomo(tmp_path):
    """Two conversations in LoCoMo's shape; what one of them asks for, the other never names."""
    animals = (("zebra", "yak", "ibex", "lynx", "vole"), ("otter", "mole", "stoat", "hare", "toad"))
    talks = [
        {
            "sample_id": f"talk-{number}",
            "conversation": {
                "speaker_a": "Ann",
                "speaker_b": "Bob",
                "session_1": [
                    {
                        "speaker": speaker,
                        "dia_id": f"D1:{turn}",
                        "text": f"{speaker} saw the {animal} {number}{turn}",
                    }
                    for turn, (speaker, animal) in enumerate(
                        zip(("Ann", "Bob", "Bob", "Ann", "Bob"), animals[number], strict=True)
                    )
                ],
            },
            "qa": [
                {"question": f"who saw the {animal}?", "evidence": [f"D1:{turn}"], "category": 1}
                for turn, animal in enumerate(animals[number][:3])
            ],
        }
        for number in range(2)
    ]
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(talks), encoding="utf-8")
    return path


def run(tmp_path, *arguments):
    environ = {
        **os.environ,
        **{f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")},
    }
    command = [
        sys.executable,
        str(BENCH / "bench.py"),
        "--theirs",
        sys.executable,
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [*command, "--work", str(tmp_path), "--scale", "5000", "--sizes", "60", "120", *arguments],
        env=environ, capture_output=True, text=True, timeout=800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((tmp_path / "out" / "bench.json").read_text(encoding="utf-8"))


def test_recording_and_opening_are_measured_side_by_side(tmp_path):
    printed, told = run(tmp_path, "--only", "lexical-context", "lexical-update", "lexical-open")

    assert [row["name"] for row in told["rows"]] == [
        "lexical update_history, on disk",
        "opening a lexical store of 120, first context included",
    ]
    assert all(row["ours"] > 0 for row in told["rows"])
    assert "targets met" in printed
    for which in ("median", "95-of-100"):
        drawing = tmp_path / "out" / f"a-context-from-the-lexical-memory--{which}.svg"
        assert ElementTree.parse(drawing).getroot().tag.endswith("svg")


@pytest.mark.slow
def test_every_bench_that_needs_no_model_runs(tmp_path, locomo):
    names = [name for name in BENCHES if name not in NEED_A_MODEL]

    _, told = run(tmp_path, "--data", str(locomo), "--only", *names)

    rows = {row["name"]: row for row in told["rows"]}
    assert rows["lexical, scope session: lists equal to those of a store without the others"]["is_met"]
    assert rows["lexical recall@5 among 100 unrelated exchanges, unpruned"]["ours"] == 100
    for work in ("recency", "entity", "longterm", "composite", "import ", "local-rag exact", "lexical"):
        assert any(name.startswith(work) for name in rows), work


def test_made_up_text_is_the_same_each_time_and_its_words_follow_zipf():
    corpus = Corpus()

    words = Counter(word for number in range(2_000) for word in corpus.exchange(number)[0].split())

    assert corpus.exchange(7) == Corpus().exchange(7) != corpus.exchange(8)
    assert corpus.questions(5, 100) == Corpus().questions(5, 100)
    shares = [count / words.total() for _, count in words.most_common()]
    assert 0.02 < shares[0] < 0.08
    assert 5 < shares[0] / shares[19] < 12
    assert sum(count == 1 for count in words.values()) > len(words) / 4


def test_a_question_names_words_of_an_exchange():
    corpus = Corpus()
    stored = [set(corpus.exchange(number)[0].split()) for number in range(20)]

    for question in corpus.questions(10, 20):
        named = [word for word in question.rstrip("?").split()[6:] if word not in ("and", "the")]
        assert any(said.issuperset(named) for said in stored), question


def test_sides_take_turns_and_the_first_batch_does_not_count():
    calls = []

    def side(name):
        def call(batch):
            calls.append((name, batch[0]))
            return {"ms": [float(thing) for thing in batch]}

        return call

    times = in_turns({"ours": side("ours"), "theirs": side("theirs")}, list(range(30)))

    assert calls == [(name, start) for start in (0, 10, 20) for name in ("ours", "theirs")]
    assert times["ours"]["ms"] == times["theirs"]["ms"] == [float(n) for n in range(10, 30)]


@pytest.mark.parametrize(
    ("row", "is_met", "shown"),
    [
        (ratio("a", 1.0, 8.0, 1 / 8), True, "1 : 8.00"),
        (ratio("a", 1.1, 8.0, 1 / 8), False, "1 : 7.27"),
        (ratio("a", 3.0, 2.0, 1.5), True, "1.50 x"),
        (limit("a", 30.1, 30, "ms"), False, "30.10 ms"),
        (Row("a", ">= 50", 50.0, None, "%", 50.0, 50, is_least=True), True, "50.00 %"),
    ],
)
def test_a_row_says_whether_its_target_is_met(row, is_met, shown):
    assert row.is_met is is_met
    assert table([row]).startswith("met " if is_met else "MISSED")
    assert shown in table([row])
    assert shown in markdown([row])


def test_percentiles():
    assert percentile(list(range(1, 101)), 0.95) == 95  # 95 of 100 are not above it
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([4.0], 0.99) == 4.0


def test_curves_place_points_on_logarithmic_axes():
    drawing = svg("A <title>", {"ours": [(1_000, 1.0), (100_000, 10.0)]}, x_label="exchanges")

    root = ElementTree.fromstring(drawing)
    line = next(each for each in root.iter() if each.tag.endswith("polyline")).attrib["points"]
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in line.split())
    assert (x0, y1) == (70.0, 50.0)
    assert (x1, y0) == (510.0, 350.0)
    assert "A &lt;title&gt;" in drawing


def test_what_was_measured_replaces_what_stood_on_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    rows = [limit("opening", 60.0, 100, "ms"), limit("growing", 30.0, 25, "MB")]

    write_page(page, rows, ["p50 1 ms"])

    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"* p50 1 ms\n{END}\nafter\n")
    assert "1 of 2 targets met" in text
    assert markdown(rows) in text
    assert "old" not in text


def test_a_page_without_a_place_for_the_table_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n", encoding="utf-8")

    with pytest.raises(ValueError, match="bench: begin"):
        write_page(page, [], [])

    assert page.read_text(encoding="utf-8") == "text\n"


def test_the_page_shows_curves_that_there_are():
    shown = PAGE.read_text(encoding="utf-8")
    assert all(f"(images/{name}.svg)" in shown for name in IMAGES.values())


@pytest.mark.parametrize("partial", [["--quick"], ["--only", "imports"], ["--scale", "10"]])
def test_only_a_whole_run_is_written_into_the_page(partial, capsys):
    with pytest.raises(SystemExit):
        main(["--write", *partial])

    assert "--write takes a whole run" in capsys.readouterr().err
