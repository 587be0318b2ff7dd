"""A reindex whose process is killed in the middle goes on where it was, when the command is called again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ovos_plugin_manager.agents import load_memory_plugin

from ovos_memory.testing.household import Household

COUNT = 600
_KILLED = """
import json, os, sys
from ovos_plugin_manager.agents import load_memory_plugin

module, config = json.loads(sys.argv[1])

def killed(done, of):
    if done >= 250:
        os._exit(9)

load_memory_plugin(module)(config=config).reindex(progress=killed)
"""


def best(memory: Any) -> list[tuple[str | None, float]]:
    """Return a search's best hits: one of its own, and the first of many equals."""
    return [(hit.source, round(hit.score, 5)) for hit in memory.search("fact number 333", "s", 1)]


@pytest.mark.parametrize("member", ["words", "meaning"])
def test_a_killed_reindex_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: str) -> None:
    nowhere = "http://127.0.0.1:9/v1"
    home = Household(tmp_path, facts_url=nowhere, summary_url=nowhere)
    monkeypatch.syspath_prepend(str(home.installed))
    chosen = next(each for each in home.block["members"] if each["name"] == member)
    module, config = chosen["module"], {**chosen["config"], "preload": False}
    config = {key: value for key, value in config.items() if key != "preload" or member == "meaning"}
    plugin: Any = load_memory_plugin(module)
    memory = plugin(config=config)
    memory.import_records(
        {
            "id": f"s_{n}",
            "kind": "exchange",
            "session_id": "s",
            "created_at": 1e9 + n,
            "question": f"fact number {n} of the lamp {n % 7}",
            "answer": "noted",
        }
        for n in range(COUNT)
    )
    before = best(memory)
    memory.close()

    job = json.dumps([module, config])
    done = subprocess.run([sys.executable, "-c", _KILLED, job], env=home.environment, capture_output=True)
    assert done.returncode == 9, done.stderr
    memory = plugin(config=config)
    told: list[tuple[int, int]] = []
    memory.reindex(progress=lambda *progress: told.append(progress))
    assert told[0][0] >= 250 and told[-1] == (COUNT, COUNT)
    assert memory.stats()["waiting"] == 0
    assert best(memory) == before and before[0][0] == "s_333"
    memory.close()
