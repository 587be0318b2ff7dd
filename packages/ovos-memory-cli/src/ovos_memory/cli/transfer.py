"""``export`` and ``import``: records are taken along."""

from __future__ import annotations

from pathlib import Path

import click

from ovos_memory.cli.changing import bar
from ovos_memory.cli.options import json_option, managed, memory_option
from ovos_memory.cli.output import Output
from ovos_memory.cli.target import Target


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@memory_option
@click.option("-f", "--force", is_flag=True, help="Replace the file if there is one.")
@json_option
def export(target: Target, file: Path, force: bool, is_json: bool) -> None:
    """Write all records to FILE as JSON Lines, readable by you alone (mode 0600)."""
    from ovos_memory.core.export_files import write_export

    out = Output(is_json=is_json)
    if file.exists() and not force:
        raise click.UsageError(f"{file} exists; --force replaces it")
    memory = managed(target)
    total = int(memory.stats().get("records", 0))
    with bar("exporting", total or None) as progress:
        count = write_export(file, memory.export(), progress=progress)
    if is_json:
        out.json({"exported": count, "file": str(file)})
    else:
        out.line(f"{count} records written to {file}")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@memory_option
@json_option
def import_(target: Target, file: Path, is_json: bool) -> None:
    """Take in the records of FILE: an export, or a file that version 1.x of a memory plugin wrote.

    Ids, times and messages stay as they were; what is there already is left alone.
    """
    from ovos_memory.core.export_files import read_export

    out = Output(is_json=is_json)
    memory = managed(target)
    with bar("importing") as progress:
        done = memory.import_records(read_export(file), progress=progress)
    told = {
        "added": done.total,
        "counts": dict(done.added),
        "known": done.known,
        "renumbered": done.renumbered,
        "refused": dict(done.refused),
    }
    if is_json:
        out.json(told)
        return
    out.table(("member", "added"), list(done.added.items()))
    out.facts({key: told[key] for key in ("known", "renumbered")})
    for kind, count in done.refused.items():
        out.line(f"not taken in: {count} of kind {kind}", style="yellow")
