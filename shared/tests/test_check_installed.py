"""Self-checks side by side: every plugin of the family, with the settings that it needs."""

from __future__ import annotations

import json
import sys

import pytest

import check_installed
from workspace import read_packages


def test_settings_are_there_for_plugins_of_this_checkout() -> None:
    points = {name for package in read_packages().values() for name in package.entry_points}
    files = {
        file.stem: json.loads(file.read_text(encoding="utf-8")) for file in check_installed.SETTINGS.iterdir()
    }

    assert files and set(files) <= points
    assert all(isinstance(block, dict) for block in files.values())


def test_every_plugin_of_an_environment_is_checked() -> None:
    points = {name for package in read_packages().values() for name in package.entry_points}

    assert check_installed.plugins() == sorted(points)


def test_a_plugin_is_checked_as_its_readme_tells() -> None:
    command = " ".join(check_installed.command("ovos-memory-plugin-local-rag"))

    assert (
        "-m pytest --pyargs ovos_memory.testing.selfcheck --memory-plugin ovos-memory-plugin-local-rag"
        in command
    )
    assert f"--memory-config {check_installed.SETTINGS / 'ovos-memory-plugin-local-rag.json'}" in command
    assert "--memory-config" not in check_installed.command("ovos-memory-plugin-lexical")


@pytest.mark.parametrize(
    ("results", "is_kept"),
    [({"a": True, "b": True}, True), ({"a": True, "b": False}, False), ({}, False)],
)
def test_one_broken_plugin_breaks_the_whole_and_none_is_no_success(
    monkeypatch: pytest.MonkeyPatch, results: dict[str, bool], is_kept: bool
) -> None:
    monkeypatch.setattr(check_installed, "check", lambda name: (results[name], "3 passed"))

    assert check_installed.check_all(results) == is_kept


@pytest.mark.parametrize(
    ("script", "is_kept"),
    [
        ("print('3 passed in 1 s')", True),
        ("print('1 failed, 3 passed in 1 s'); raise SystemExit(1)", False),
        ("print('2 deselected in 1 s')", False),
    ],
)
def test_a_check_that_ran_no_rule_is_not_passed(
    monkeypatch: pytest.MonkeyPatch, script: str, is_kept: bool
) -> None:
    monkeypatch.setattr(check_installed, "command", lambda plugin: [sys.executable, "-c", script])

    assert check_installed.check("x")[0] == is_kept


def test_the_members_that_a_check_needs_are_named():
    assert check_installed.needs(["ovos-memory-plugin-lexical"]) == ["ovos-memory-testing"]
    assert check_installed.needs(["ovos-memory-plugin-composite", "ovos-memory-plugin-local-rag"]) == [
        "ovos-memory-plugin-lexical",
        "ovos-memory-plugin-recency",
        "ovos-memory-testing",
    ]
