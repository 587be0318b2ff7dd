"""What the subcommands have in common: which memory, how to print, how to fail."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ovos_memory.cli.target import Target, find_target

OK, FAILED, USAGE, NOTHING, INCOMPLETE = 0, 1, 2, 3, 4
"""Exit codes: done; something failed; wrong call; nothing found; some traces are left."""

Command = Callable[..., Any]


def memory_option(command: Command) -> Command:
    """Add ``--memory`` and ``--config``; the command gets a ``target``."""

    @click.option(
        "-m",
        "--memory",
        metavar="WHICH",
        envvar="OVOS_MEMORY",
        help="Persona file, persona name, or plugin name; by default the only persona there is.",
    )
    @click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        help="JSON file with the configuration of the plugin that --memory names.",
    )
    @functools.wraps(command)
    def with_target(*arguments: Any, memory: str | None, config: Path | None, **options: Any) -> Any:
        return command(*arguments, target=find_target(memory, config), **options)

    return with_target


def json_option(command: Command) -> Command:
    """Add ``--json``."""
    return click.option("--json", "is_json", is_flag=True, help="Print JSON for programs.")(command)


def caller_option(command: Command) -> Command:
    """Add ``--session`` where it says who asks: what is found depends on the memory's ``scope``."""
    told = "Who asks; with `scope: session` only that session is searched."
    return click.option("-s", "--session", metavar="ID", default=None, help=told)(command)


def session_option(command: Command) -> Command:
    """Add ``--session``."""
    return click.option(
        "-s", "--session", metavar="ID", default=None, help="Only this session; '' is one, too."
    )(command)


def query_option(told: str) -> Callable[[Command], Command]:
    """Add ``--query``, a phrase; one that is too short is a wrong call, whatever the command does with it."""

    def checked(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
        from ovos_memory.core.management_types import Selection

        try:
            Selection(query=value)
        except ValueError as error:
            raise click.UsageError(str(error), ctx) from error
        return value

    return click.option("-q", "--query", callback=checked, help=f"{told} (3 characters or more).")


def managed(target: Target) -> Any:
    """Return the memory, which must keep the management contract.

    Raises:
        click.ClickException: It does not.
    """
    from ovos_memory.core.management import Management

    memory = target.open()
    if not isinstance(memory, Management):
        raise click.ClickException(
            f"'{target.module}' cannot be managed: it has no records(), forget() and export()"
        )
    return memory
