"""The self-check of an installed plugin, as its README tells it, finds what is wrong with a twin of every suite."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from ovos_memory.testing.contract import SUITES, MemoryContract
from ovos_memory.testing.fakes import install_plugin
from ovos_memory.testing.processes import environment
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.suite import MemorySuite
from ovos_memory.testing.twins import all_twins
from ovos_memory.testing.twins.catalogue import Twin, rules_without_twin

NAME = ReferenceMemory.plugin_name
PLUGIN = "from {module} import {name} as Twin\n\nclass Checked(Twin):\n    memory_contract = {declared!r}\n"

IN_RAM = {"persistent": False, "path_key": None}
"""What a twin says whose fault shows without a file."""


def first_of(suite: type[MemorySuite]) -> Twin:
    """Return the first twin of a suite."""
    return next(found for found in all_twins() if found.suite is suite)


def broken(folder: Path, monkeypatch: pytest.MonkeyPatch, found: Twin) -> set[str]:
    """Install a twin as somebody's plugin and return the rules of its suite that the self-check saw broken."""
    place = {"module": found.factory.__module__, "name": found.name}
    declared = {**(IN_RAM if found.store == "ram" else {}), **found.declared}
    (folder / "somebodys.py").write_text(PLUGIN.format(declared=declared, **place))
    install_plugin(folder, monkeypatch, NAME, "somebodys:Checked")
    is_installed = any(point.name == "ovos-memory" for point in entry_points(group="pytest11"))
    loading = [] if is_installed else ["-p", "ovos_memory.testing.plugin"]
    options = [
        *loading,
        "-c",
        "/dev/null",
        "-p",
        "no:cacheprovider",
        "--tb=no",
        "-rfE",
        "--memory-plugin",
        NAME,
    ]
    rules = " or ".join(found.suite.rules())
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--pyargs",
        "ovos_memory.testing.selfcheck",
        *options,
        "-k",
        rules,
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=600, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return set(re.findall(r"^(?:FAILED|ERROR) \S+::(test_\w+)", done.stdout, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.__name__)
def test_a_twin_fails_the_self_check_at_its_rules_and_no_others(
    suite: type[MemorySuite], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = first_of(suite)

    assert broken(tmp_path, monkeypatch, found) == found.rules


def test_every_rule_of_the_contract_has_a_twin() -> None:
    assert rules_without_twin(MemoryContract, all_twins()) == []


def test_a_rule_that_nobody_breaks_is_found() -> None:
    class Extended(MemoryContract):
        def test_a_rule_that_somebody_added(self) -> None:
            """It has no twin."""

    assert rules_without_twin(Extended, all_twins()) == ["test_a_rule_that_somebody_added"]
    rule = "test_an_exchange_is_kept_as_it_was_said"
    others = [found for found in all_twins() if rule not in found.rules]
    assert rule in rules_without_twin(MemoryContract, others)
