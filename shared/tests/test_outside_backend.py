"""A stranger's backend, written from the two pages alone: it installs, keeps every rule, and joins a composite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bootstrap
import doc_blocks

DOCS = doc_blocks.ROOT / "shared" / "docs"
NAME = "ovos-memory-plugin-phrases"
IN_A_COMPOSITE = f"""
import json
from ovos_plugin_manager.agents import load_memory_plugin
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

members = [{{"module": "ovos-memory-plugin-recency"}}, {{"module": "{NAME}", "name": "phrases"}}]
memory = load_memory_plugin("ovos-memory-plugin-composite")({{"members": members}})
for said, answer in [("the key hangs behind the bicycle shed", "noted"), ("it rains", "it does")]:
    memory.update_history(
        [AgentMessage(MessageRole.USER, said), AgentMessage(MessageRole.ASSISTANT, answer)], "s"
    )
hits = memory.search("what hangs behind the bicycle shed", "s")
context = memory.build_conversation_context("what hangs behind the bicycle shed", "s")
print(json.dumps([[[hit.content, hit.metadata["retrievers"]] for hit in hits], [m.content for m in context]]))
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as the pages show it, installed beside this environment's packages."""
    folder = tmp_path_factory.mktemp("phrases")
    pages = [DOCS / "writing-a-backend.md", DOCS / "testing-a-backend.md"]
    for block in doc_blocks.blocks("python", "toml", pages=pages):
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text, encoding="utf-8")
    uv = str(bootstrap.tool("uv"))
    target = folder / "installed"
    command = [
        uv,
        "pip",
        "install",
        "--quiet",
        f"--python={sys.executable}",
        "--no-deps",
        "--target",
        target,
        folder,
    ]
    subprocess.run(command, check=True, env={**os.environ, **bootstrap.tool_environment()})
    return folder


def run(project: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    homes = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    environment = {**os.environ, **homes, "PYTHONPATH": str(project / "installed")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=home, env=environment, capture_output=True, text=True, timeout=600
    )


def test_it_passes_the_self_check(project: Path, tmp_path: Path) -> None:
    check = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "ovos_memory.testing.selfcheck"]

    done = run(project, tmp_path, *check, "--memory-plugin", NAME)

    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout.splitlines()[-1]


def test_its_own_contract_tests_pass(project: Path, tmp_path: Path) -> None:
    done = run(project, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project / "tests"))

    assert done.returncode == 0, done.stdout[-4000:]
    assert int(done.stdout.splitlines()[-1].split(" passed")[0].split()[-1]) > 100


def test_it_works_as_a_member(project: Path, tmp_path: Path) -> None:
    done = run(project, tmp_path, "-c", IN_A_COMPOSITE)

    assert done.returncode == 0, done.stderr
    hits, context = json.loads(done.stdout.splitlines()[-1])
    assert hits[0] == [
        "Q: the key hangs behind the bicycle shed\nA: noted",
        {"phrases": {"rank": 1, "score": 5.0}},
    ]
    assert "bicycle shed\nA: noted" in context[0] and context[-1] == "what hangs behind the bicycle shed"
