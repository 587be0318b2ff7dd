"""A large store is taken along: the same records, the same hits."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.core.export_files import read_export, write_export
from ovos_memory.lexical import LexicalMemory


@pytest.mark.slow
def test_fifty_thousand_records_come_back_and_are_found_as_before(tmp_path: Path) -> None:
    chance = random.Random(1)
    words = [f"word{n}" for n in range(5_000)]

    def line(n: int) -> dict[str, Any]:
        session = f"s{n % 200}"
        texts = (" ".join(chance.choices(words, k=12)) for _ in range(2))
        facts = {"id": f"{session}_{n // 200}", "kind": "exchange", "session_id": session}
        return {**facts, "created_at": 1.7e9 + n, "question": next(texts), "answer": next(texts)}

    lines = [line(n) for n in range(50_000)]
    first = LexicalMemory({"db_path": str(tmp_path / "first.db"), "max_history": 6})
    first.import_records(lines)
    assert write_export(tmp_path / "all.jsonl", first.export()) == 50_000

    second = LexicalMemory({"db_path": str(tmp_path / "second.db"), "max_history": 6})
    done = second.import_records(read_export(tmp_path / "all.jsonl"))
    assert done.total == 50_000 and not done.renumbered
    assert all(a == b for a, b in zip(second.export(), lines, strict=True))
    for number in range(0, 5_000, 250):
        query = f"word{number} word{number + 7} word{number + 31}"
        found = [[(h.source, h.score, h.content) for h in m.search(query, "s1", 20)] for m in (first, second)]
        assert found[0] and found[0] == found[1]
    assert first.get_history("s7") == second.get_history("s7")
    for memory in (first, second):
        memory.close()
