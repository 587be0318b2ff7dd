"""`pip install 'ovos-memory-plugins[local-rag]'` as a user types it, from what this checkout builds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bootstrap
import build_wheels

pytestmark = pytest.mark.models

LOAD_ALL = """
from ovos_plugin_manager.utils import find_plugins
from importlib.metadata import entry_points
points = entry_points(group="opm.agents.memory")
ours = sorted(p.name for p in points if p.value.startswith("ovos_memory."))
for point in points:
    point.load()
(embedder,) = entry_points(group="opm.embeddings.text", name="ovos-gguf-embeddings-plugin")
(store,) = entry_points(group="opm.embeddings", name="ovos-chromadb-embeddings-plugin")
embedder.load(), store.load()
print(" ".join(ours))
"""


def test_the_extra_brings_everything_without_asking_for_pre_releases(tmp_path: Path) -> None:
    built = build_wheels.build()
    uv = bootstrap.tool("uv")
    subprocess.run(
        [uv, "venv", "--quiet", "--seed", f"--python={sys.executable}", tmp_path / "venv"], check=True
    )
    python = tmp_path / "venv" / "bin" / "python"
    wheels = [f"--find-links={built}", f"--find-links={os.environ['OVOS_MEMORY_TEST_WHEELS']}"]

    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *wheels, "ovos-memory-plugins[local-rag]>=2"],
        check=True,
        timeout=900,
    )

    printed = subprocess.run(
        [python, "-I", "-c", LOAD_ALL], check=True, capture_output=True, text=True
    ).stdout
    names = ("composite", "entity", "lexical", "local-rag", "longterm", "recency")
    assert printed.splitlines()[-1].split() == [f"ovos-memory-plugin-{name}" for name in names]
