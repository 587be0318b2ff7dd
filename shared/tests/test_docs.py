"""Every block that a page shows works: JSON is valid for the plugin it configures, Python runs, commands exist."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import click
import pytest
from packaging.requirements import Requirement

import doc_blocks
import docs_hooks
import draw_demo
import draw_fusion
from ovos_memory.cli.main import cli
from ovos_memory.core.settings import load_settings, unknown_keys
from workspace import read_packages

OURS: dict[str, EntryPoint] = {
    point.name: point
    for point in entry_points(group="opm.agents.memory")
    if point.value.startswith("ovos_memory.")
}
STRANGERS = {"ovos-memory-plugin-phrases"}
"""Backends that a page writes itself."""
RUN_ELSEWHERE = {"set-up.md"}
"""Pages whose commands are run word for word by the end-to-end tests."""


def named(block: doc_blocks.Block) -> str:
    return block.place


# ---------------------------------------------------------------- JSON
@pytest.mark.parametrize("block", [*doc_blocks.blocks("json", "jsonl")], ids=named)
def test_json_is_valid_for_the_plugin_that_it_configures(block: doc_blocks.Block) -> None:
    try:
        shown = [json.loads(block.text)]
    except json.JSONDecodeError:
        shown = [json.loads(line) for line in block.text.splitlines() if line.strip()]

    assert shown
    for value in shown:
        if "memory_module" in value:
            check_block(value["memory_module"], value.get(value["memory_module"], {}))


def check_block(name: str, config: dict[str, Any]) -> None:
    if name in STRANGERS:
        return
    settings = load_settings(OURS[name].load().settings_model(), config, plugin=name)
    assert unknown_keys(settings) == []
    for member in getattr(settings, "members", ()):
        check_block(member.module, member.config)


def test_a_misspelt_key_on_a_page_would_be_found() -> None:
    members = [{"module": "ovos-memory-plugin-lexical", "config": {"tabel": "x"}}]

    with pytest.raises(AssertionError, match="tabel"):
        check_block("ovos-memory-plugin-composite", {"members": members})


# ---------------------------------------------------------------- Python
def scripts() -> list[Any]:
    """Return per page its untitled Python blocks, as one script: a later block may use an earlier one."""
    found: dict[Path, list[str]] = {}
    for block in doc_blocks.blocks("python"):
        if not block.title and not re.search(r"^class Test\w*\(", block.text, re.MULTILINE):
            found.setdefault(block.page, []).append(block.text)
    return [
        pytest.param("\n".join(texts), id=str(page.relative_to(doc_blocks.ROOT)))
        for page, texts in found.items()
    ]


@pytest.mark.parametrize("script", scripts())
def test_python_of_a_page_runs(script: str, tmp_path: Path) -> None:
    homes = {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "STATE")}

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), **homes},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------- commands
def lines_of_commands() -> list[Any]:
    found = []
    for block in doc_blocks.blocks("bash", "sh", "console"):
        if block.page.name not in RUN_ELSEWHERE:
            joined = block.text.replace("\\\n", " ")
            found += [
                pytest.param(line, id=f"{block.place} {line[:40]}") for line in joined.splitlines() if line
            ]
    return found


@pytest.mark.parametrize("line", lines_of_commands())
def test_a_command_on_a_page_exists(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_command(line)


def check_command(line: str) -> None:
    words = shlex.split(line, comments=True)
    if not words:
        return
    known = {
        "pip": check_pip,
        "ovos-memory": check_ovos_memory,
        "pytest": check_selfcheck,
        "python3": check_nox,
        "nox": check_nox,
    }

    assert words[0] in known, f"no test knows how to check {words[0]!r}"
    known[words[0]](words)


def check_pip(words: list[str]) -> None:
    packages = {package.name: package for package in read_packages(doc_blocks.ROOT).values()}
    assert words[1] == "install"
    for word in words[2:]:
        wanted = Requirement(word)
        assert wanted.name in packages, word
        extras = packages[wanted.name].table["project"].get("optional-dependencies", {})
        assert wanted.extras <= set(extras), word


def check_ovos_memory(words: list[str]) -> None:
    if words[1] in ("import", "recover"):  # the command wants to see the file that it reads
        Path(words[-1]).parent.mkdir(parents=True, exist_ok=True)
        Path(words[-1]).touch()
    with click.Context(cli, info_name="ovos-memory", **cli.context_settings) as context:
        name, command, rest = cli.resolve_command(context, words[1:])
        assert command is not None
        command.make_context(name, list(rest), parent=context, resilient_parsing=False)


def check_selfcheck(words: list[str]) -> None:
    if "--memory-plugin" in words:
        assert words[1:3] == ["--pyargs", "ovos_memory.testing.selfcheck"]
        assert words[words.index("--memory-plugin") + 1] in OURS
    else:
        assert (doc_blocks.ROOT / words[1]).exists(), words


def check_nox(words: list[str]) -> None:
    source = (doc_blocks.ROOT / "noxfile.py").read_text(encoding="utf-8")
    sessions = set(re.findall(r"^@nox\.session.*\ndef (\w+)\(", source, re.MULTILINE))
    chosen = [after for word, after in itertools.pairwise(words) if word == "-s"]
    assert set(chosen) <= sessions
    assert chosen or "-l" in words, words


@pytest.mark.parametrize(
    "line",
    [
        "pip install ovos-memory-plugin-lexcal",
        "ovos-memory fourget",
        "ovos-memory list --sesion x",
        "rm -rf x",
    ],
)
def test_a_wrong_command_on_a_page_would_be_found(line: str) -> None:
    with pytest.raises((AssertionError, click.UsageError)):
        check_command(line)


# ---------------------------------------------------------------- keys
def test_a_table_has_every_key_of_the_model_once() -> None:
    table = docs_hooks.key_table("ovos_memory.lexical.settings", "LexicalSettings")

    keys = re.findall(r"^\| `([\w.]+)` \|", table, re.MULTILINE)
    assert len(keys) == len(set(keys))
    assert {"db_path", "table", "language", "scope", "retrieval.min_score", "context.max_chars"} <= set(keys)
    assert "| `retrieval.max_num_results` | `5` | How many hits a context recalls at most (top-k). |" in table


def test_a_page_gets_its_tables_and_keeps_the_rest() -> None:
    page = "# A\n\n<!-- keys: ovos_memory.short_term.settings:ShortTermSettings -->\n\nend"

    filled = docs_hooks.on_page_markdown(page)

    assert filled.startswith("# A\n\n| key | default |") and filled.endswith("\n\nend")
    assert "| `max_history` | `5` |" in filled


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_backend_has_a_page_with_its_keys(name: str) -> None:
    model = OURS[name].load().settings_model()
    mark = f"<!-- keys: {model.__module__}:{model.__name__} -->"

    assert any(mark in page.read_text(encoding="utf-8") for page in doc_blocks.PAGES), mark


def test_the_drawing_of_fusion_is_what_fusion_does() -> None:
    drawn = (doc_blocks.ROOT / "shared" / "docs" / "images" / "fusion.svg").read_text(encoding="utf-8")

    assert drawn == draw_fusion.draw()
    assert "1. The boiler man is Mr Berg" in drawn and "1/62 + 1/62 = 0.0323" in drawn


@pytest.mark.slow
def test_the_picture_of_the_demo_is_what_the_demo_prints() -> None:
    drawn = (doc_blocks.ROOT / "shared" / "docs" / "images" / "demo.svg").read_text(encoding="utf-8")

    assert "no&#160;member&#160;ranks&#160;it&#160;first" in drawn
    assert draw_demo.draw(draw_demo.shorten(draw_demo.run())) == drawn
