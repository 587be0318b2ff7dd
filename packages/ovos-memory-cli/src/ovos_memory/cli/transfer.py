"""``export`` and ``import``: records are taken along."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ovos_memory.cli.changing import bar
from ovos_memory.cli.options import NOTHING, json_option, managed, memory_option
from ovos_memory.cli.output import Output, cell
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


def _imported_json(done: Any) -> dict[str, Any]:
    return {
        "added": done.total,
        "counts": dict(done.added),
        "known": done.known,
        "renumbered": done.renumbered,
        "refused": dict(done.refused),
    }


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@memory_option
@json_option
def import_(target: Target, file: Path, is_json: bool) -> None:
    """Take in an export, or a file that version 1.x of a memory plugin wrote.

    Ids, times and messages stay as they were; what is there already is left alone.
    """
    from ovos_memory.core.export_files import read_export

    out = Output(is_json=is_json)
    memory = managed(target)
    with bar("importing") as progress:
        done = memory.import_records(read_export(file), progress=progress)
    if is_json:
        out.json(_imported_json(done))
        return
    _show_imported(out, done)


def _show_imported(out: Output, done: Any) -> None:
    out.table(("member", "added"), list(done.added.items()))
    if done.known:
        out.line(f"{done.known} were there already")
    if done.renumbered:
        out.line(f"{done.renumbered} got another id: theirs belonged to another record")
    for kind, count in done.refused.items():
        out.line(f"not taken in: {count} of kind {cell(kind)}", style="yellow")


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@memory_option
@json_option
def recover(target: Target, file: Path, is_json: bool) -> None:
    """Bring back what can be read of a damaged store that was set aside.

    FILE stays as it is.  Records of a member's own file go to that member, others to all that keep their kind.
    """
    from ovos_memory.core.salvage import salvage

    out = Output(is_json=is_json)
    memory = managed(target)
    found = salvage(file)
    owner = _owner(memory, file)
    lines = [{**line, "member": owner} for line in found.lines] if owner else found.lines
    with bar("recovering", len(lines)) as progress:
        done = memory.import_records(lines, progress=progress)
    told = {
        "read": len(found.lines),
        "unreadable": found.unreadable,
        "missing": found.missing,
        **_imported_json(done),
    }
    if is_json:
        out.json(told)
    else:
        out.line(f"{len(found.lines)} records read from {file}")
        if found.unreadable:
            lost = (
                "how many records were there is not known"
                if found.missing is None
                else f"{found.missing} records"
            )
            out.line(f"lost: {lost}; {found.unreadable} places cannot be read", style="yellow")
        _show_imported(out, done)
    if not found.lines:
        sys.exit(NOTHING)


def _owner(memory: Any, file: Path) -> str:
    """Return the member whose file was set aside under this name; ``""``: no member's."""
    stem = file.name.rpartition(".corrupt-")[0] or file.name
    place = file.absolute().with_name(stem)
    for member in getattr(memory, "members", ()):
        if place in (path.absolute() for path in getattr(member.memory, "files", list)()):
            return str(member.name)
    return ""
