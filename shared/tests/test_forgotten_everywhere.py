"""A secret told to a composite of all backends, then forgotten with the command: nothing has it, on disk neither."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ovos_plugin_manager.agents import load_memory_plugin

from ovos_memory.cli.target import plugin_names
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.messages import pair, texts

SECRET = "xylophonist"
COMPOSITE = "ovos-memory-plugin-composite"
CHROMA = "ovos-chromadb-embeddings-plugin"
HAS_VECTORS = "ovos-memory-plugin-local-rag" in plugin_names()
"""Whether the memory that recalls by meaning is part of this checkout."""
_SHORT = {"recent_window": 2, "summarize_every": 3}
_ENTRY_POINTS = """[opm.embeddings.text]
words-of-tests = ovos_memory.testing.fakes.embedder:FakeEmbedder
"""


def facts(payload: dict[str, Any]) -> str:
    """Answer as a model that finds the secret in what it is shown."""
    shown = json.dumps(payload)
    return json.dumps([f"Is a {SECRET}"] if f"I am a {SECRET}" in shown else [])


def summary(payload: dict[str, Any]) -> str:
    """Answer as a model that repeats the secret whenever it is shown it."""
    told = f"The user is a {SECRET}. " if SECRET in json.dumps(payload) else ""
    return f"{told}The user and the assistant talked about tea, the garden and the weather."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home with an embeddings plugin that needs no model."""
    installed = tmp_path / "installed" / "words_of_tests-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: words-of-tests\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(_ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(installed.parent))
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def models() -> Iterator[tuple[FakeServer, FakeServer]]:
    with FakeServer([facts]) as first, FakeServer([summary]) as second:
        yield first, second


def block(home: Path, models: tuple[FakeServer, FakeServer], store: str | None) -> dict[str, Any]:
    data = home / "data"

    def member(name: str, module: str, **config: Any) -> dict[str, Any]:
        return {"name": name, "module": f"ovos-memory-plugin-{module}", "config": config}

    vectors: dict[str, Any] = {
        "embeddings_plugin": "words-of-tests",
        "embeddings_db_plugin": store,
        "timeout_s": 60,
    }
    if store is None:
        vectors["db_path"] = str(data / "vectors.db")
    else:
        vectors["embeddings_db_config"] = {"path": str(data / "chroma")}
    members = [
        member("lately", "recency", max_history=0, db_path=str(data / "recency.json")),
        member("words", "lexical", db_path=str(data / "lexical.db")),
        member("facts", "entity", api_url=models[0].url, db_path=str(data / "facts.json")),
        member("gist", "longterm", api_url=models[1].url, db_path=str(data / "gist.db"), **_SHORT),
        member("now", "short-term"),
    ]
    if HAS_VECTORS:
        members.append(member("meaning", "local-rag", **vectors))
    return {"members": members, "member_timeout_s": 60}


def open_memory(config: dict[str, Any]) -> Any:
    return load_memory_plugin(COMPOSITE)(config=config)


def tell(memory: Any) -> None:
    for number in range(4):
        memory.update_history(pair(f"I like tea number {number}", "noted"), "s")
        memory.update_history(pair(f"my garden has {number} trees", "nice"), "other")
    memory.update_history(pair(f"I am a {SECRET}", f"a {SECRET}, how nice"), "s")
    for number in range(5):
        memory.update_history(pair(f"the weather is fine on day {number}", "good"), "s")
    for member in memory.members:
        if hasattr(member.memory, "workplace"):
            assert member.memory.workplace.worker.drain(60)


def knowing(memory: Any) -> set[str]:
    """Return the members that know the secret."""
    told = {
        member.name: texts(member.memory.build_conversation_context("who am I", "s"))
        for member in memory.members
    }
    for member in memory.members:
        told[member.name] += texts(member.memory.get_history("s")) + json.dumps(list(member.memory.export()))
        if hasattr(member.memory, "search"):
            told[member.name] += str(member.memory.search(f"{SECRET} nice", "s", 50))
    return {name for name, text in told.items() if SECRET in text}


def files_with(folder: Path, text: str) -> list[str]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [str(file) for file in files if text.encode() in file.read_bytes()]


def command(home: Path, *arguments: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-m", "ovos_memory.cli.main", *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def forget_everywhere(home: Path, config: dict[str, Any]) -> None:
    memory = open_memory(config)
    tell(memory)
    expected = {"lately": 2, "words": 1, "facts": 1, "gist": 1, **({"meaning": 1} if HAS_VECTORS else {})}
    assert knowing(memory) == set(expected)
    others = [r for r in memory.records("other") if not r.id.startswith("now/")]
    memory.close()
    data = home / "data"
    (data / "lexical.db.corrupt-1").write_text(SECRET)
    (data / "facts.json.1x.bak").write_text(SECRET)
    assert len(files_with(data, SECRET)) >= 5
    persona = home / "config" / "ovos_persona" / "rosie.json"
    persona.parent.mkdir(parents=True)
    persona.write_text(json.dumps({"name": "Rosie", "memory_module": COMPOSITE, COMPOSITE: config}))

    done = command(home, "forget", "--query", f"I am a {SECRET.upper()}", "--yes", "--json")
    assert done["leftovers"] == []
    assert {name: count for name, count in done["counts"].items() if count} == expected
    assert files_with(data, SECRET) == []
    for _ in range(2):
        memory = open_memory(config)
        assert knowing(memory) == set()
        assert [r for r in memory.records("other") if not r.id.startswith("now/")] == others
        assert any("tea number 2" in hit.content for hit in memory.search("tea number 2", "s"))
        memory.close()
    assert files_with(data, SECRET) == []


def test_a_secret_is_forgotten_by_all_backends(home: Path, models: tuple[FakeServer, FakeServer]) -> None:
    forget_everywhere(home, block(home, models, None))


if HAS_VECTORS:

    @pytest.mark.models
    def test_a_secret_is_forgotten_by_all_backends_on_real_chromadb(
        home: Path, models: tuple[FakeServer, FakeServer]
    ) -> None:
        forget_everywhere(home, block(home, models, CHROMA))
