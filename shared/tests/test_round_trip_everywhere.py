"""Fifty thousand records taken along with the command: the same records, ids, times and hits afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ovos_memory.testing.household import Household

COUNT = 50_000
QUERIES = ("fact number 4711", "a lamp in the attic of house 77", "who keeps bees", "39999")
WORDS = ("lamp", "bees", "garden", "violin", "bridge", "harbour", "attic", "letter", "clock", "winter")


def line(n: int) -> dict[str, object]:
    words = f"{WORDS[n % 10]} and {WORDS[n // 10 % 10]} in house {n % 997}"
    return {
        "id": f"session {n % 50}_{n // 50}",
        "kind": "exchange",
        "session_id": f"session {n % 50}",
        "created_at": 1.7e9 + n * 1.25,
        "question": f"fact number {n}: {words}",
        "answer": f"noted, {words}",
    }


@pytest.mark.slow
@pytest.mark.parametrize("member", ["meaning", "words", "lately"])
def test_fifty_thousand_records_come_back(tmp_path: Path, member: str) -> None:
    homes = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        home = Household(
            tmp_path / name, facts_url="http://127.0.0.1:9/v1", summary_url="http://127.0.0.1:9/v1"
        )
        persona = json.loads(home.persona.read_text())
        members = [m for m in home.block["members"] if m["name"] == member]
        persona["ovos-memory-plugin-composite"]["members"] = members
        home.persona.write_text(json.dumps(persona))
        homes.append(home)
    first, second = homes
    given, taken = tmp_path / "given.jsonl", tmp_path / "taken.jsonl"
    header = {"format": "ovos-memory/export", "version": 1}
    given.write_text("\n".join(json.dumps(each) for each in (header, *map(line, range(COUNT)))))
    expected = COUNT if member != "lately" else 2 * COUNT  # a window keeps messages

    assert first.json("import", str(given))["added"] == expected
    assert first.json("export", str(taken))["exported"] == expected
    told = second.json("import", str(taken))
    assert (told["added"], told["known"], told["renumbered"], told["refused"]) == (expected, 0, 0, {})
    assert second.json("list") == first.json("list")
    if member != "lately":
        lines = {json.loads(text)["id"]: json.loads(text) for text in taken.read_text().splitlines()[1:]}
        assert all(lines[str(line(n)["id"])] == {"member": member, **line(n)} for n in range(COUNT))
        for query in QUERIES:
            hits = [(hit["source"], hit["content"], hit["score"]) for hit in first.json("search", query)]
            again = [(hit["source"], hit["content"], hit["score"]) for hit in second.json("search", query)]
            assert hits and again == hits
