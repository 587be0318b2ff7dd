"""The command as a shell runs it: every subcommand, its help, its errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest

from ovos_memory.cli.main import cli

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(cli.commands)


def test_every_subcommand_runs_on_a_real_store(rosie: Any) -> None:
    file = str(rosie.home / "all.jsonl")
    calls = {
        "list": ["--json"],
        "show": ["words/kitchen_0"],
        "search": ["door code"],
        "explain": ["door code"],
        "stats": [],
        "edit": ["words/kitchen_1", "--answer", "well noted"],
        "export": [file],
        "import": [file],
        "recover": [str(rosie.home / "data" / "lexical.db")],
        "reindex": [],
        "forget": ["--query", "door code", "--yes"],
        "doctor": ["--offline"],
        "plugins": [],
        "chat": ["--say", "hello"],
    }
    assert sorted(calls) == COMMANDS

    codes = {name: rosie.run_afresh(name, *arguments).code for name, arguments in calls.items()}
    assert {name: code for name, code in codes.items() if code} == {"chat": 1}  # it has no chat engine
    assert not rosie.files_with("4512")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_documentation_names_every_subcommand_and_its_options(name: str) -> None:
    command = cli.commands[name]
    row = next(line for line in README.splitlines() if re.match(rf"\| `{name}[ `]", line))
    shared = {"--memory", "--config", "--json", "--help"}
    options = {o for p in command.params if isinstance(p, click.Option) for o in p.opts if o.startswith("--")}
    missing = {option for option in options - shared if option not in row and option not in _explained()}
    assert not missing

    assert command.help and len(command.help.split("\n")[0]) > 10
    assert all(p.help for p in command.params if isinstance(p, click.Option))


def _explained() -> set[str]:
    """Return options that the page explains elsewhere."""
    return set(re.findall(r"--[a-z-]+", README))


def test_help_is_printed_and_needs_no_memory(user: Any) -> None:
    for name in COMMANDS:
        done = user.run(name, "--help")
        assert (done.code == 0 and f"ovos-memory {name}" in done.out) or "Usage" in done.out
    assert all(name in user.run("--help").out for name in COMMANDS)


def test_without_a_persona_it_says_what_is_needed(user: Any) -> None:
    done = user.run("list")
    assert done.code == 2 and "--memory" in done.err and "Traceback" not in done.err


def test_with_two_personas_one_must_be_named(rosie: Any) -> None:
    rosie.persona("Max", {}, module="ovos-memory-plugin-recency")

    done = rosie.run("list")
    assert done.code == 2 and "Rosie" in done.err and "Max" in done.err
    assert rosie.run("list", "-m", "rosie").code == 0
    assert rosie.run("list", "-m", str(rosie.home / "config" / "ovos_persona" / "rosie.json")).code == 0
    assert rosie.run("list", "-m", "Nobody").code == 2


@pytest.mark.parametrize("content", ["", "[]", "{", "null"])
def test_a_broken_persona_file_is_named(user: Any, content: str) -> None:
    path = user.home / "broken.json"
    path.write_text(content)

    done = user.run("list", "-m", str(path))
    assert done.code == 2 and "broken.json" in done.err and "Traceback" not in done.err


def test_a_plugin_that_is_not_installed_is_named(user: Any) -> None:
    user.persona("Rosie", {}, module="ovos-memory-plugin-nowhere")

    done = user.run("list")
    assert done.code == 1 and "pip install ovos-memory-plugin-nowhere" in done.err


def test_a_wrong_setting_is_named(user: Any) -> None:
    user.persona("Rosie", {"max_history": -1}, module="ovos-memory-plugin-recency")

    done = user.run("list")
    assert done.code == 1 and "max_history" in done.err and "Traceback" not in done.err


def test_plugins_lists_schemas_and_samples(user: Any) -> None:
    name = "ovos-memory-plugin-recency"
    found = {plugin["name"]: plugin for plugin in user.run("plugins", "--json").json}
    assert found[name]["state"] == "ready" and found[name]["version"]
    assert name in user.run("plugins").out

    schema = user.run("plugins", "--schema", name).json
    assert schema["properties"]["max_age"]["description"]
    assert user.run("plugins", "--samples", name).json[0]["max_history"] == 10
    assert user.run("plugins", "--schema", "nobody").code == 2


def test_completion_offers_the_subcommands(user: Any) -> None:
    from click.shell_completion import ShellComplete

    offered = ShellComplete(cli, {}, "ovos-memory", "_OVOS_MEMORY_COMPLETE").get_completions([], "ex")
    assert {item.value for item in offered} == {"explain", "export"}
