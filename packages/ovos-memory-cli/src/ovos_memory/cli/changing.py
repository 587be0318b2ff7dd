"""``forget``, ``edit``, ``reindex``: what a memory knows is put right."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ovos_memory.cli.looking import Moment, record_json
from ovos_memory.cli.options import (
    INCOMPLETE,
    NOTHING,
    json_option,
    managed,
    memory_option,
    query_option,
    session_option,
)
from ovos_memory.cli.output import Output, moment, one_line
from ovos_memory.cli.target import Target

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Selection

_SHOWN = 20


@click.command()
@memory_option
@session_option
@click.option("--id", "record_id", metavar="ID", help="The record of this id.")
@query_option("Records that contain this phrase")
@click.option("--before", type=Moment(), help="Older records: a date, epoch seconds, or an age as 30d.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@json_option
def forget(
    target: Target,
    session: str | None,
    record_id: str | None,
    query: str | None,
    before: float | None,
    yes: bool,
    dry_run: bool,
    is_json: bool,
) -> None:
    """Forget records for good: in every member, every index and every file.

    All conditions must be met; at least one is needed.  Set-aside files and copies beside the stores go too.
    """
    from ovos_memory.core.management_types import Selection

    try:
        chosen = Selection.to_forget(session_id=session, record_id=record_id, query=query, before=before)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    out = Output(is_json=is_json)
    memory = managed(target)
    found = [] if yes else _chosen(memory, chosen)
    if dry_run:
        _show(out, found)
        if not found and not is_json:
            sys.exit(NOTHING)
        return
    if not yes:
        _show(Output(is_json=False) if is_json else out, found)
        what = f"{len(found)} records" if len(found) != 1 else "1 record"
        click.confirm(f"Forget {what} for good, with all that was made of them?", abort=True, err=True)
    done = memory.forget(session_id=session, record_id=record_id, query=query, before=before)
    _tell(out, done)
    if done.leftovers:
        sys.exit(INCOMPLETE)
    if not done.total:
        sys.exit(NOTHING)


def _chosen(memory: Any, chosen: Selection) -> list[Any]:
    if chosen.record_id is not None:
        found = memory.record(chosen.record_id)
        return [found] if found is not None and replace(chosen, record_id=None)(found) else []
    return list(memory.records(chosen.session_id, chosen.query, chosen.before))


def _show(out: Output, found: list[Any]) -> None:
    if out.is_json:
        out.json([record_json(record) for record in found])
        return
    if not found:
        out.line("Nothing is remembered that matches.")
        return
    rows = [(r.id, r.kind, r.session_id, moment(r.created_at), one_line(r.text, 60)) for r in found[:_SHOWN]]
    out.table(("id", "kind", "session", "when (UTC)", "text"), rows, title="This will be forgotten:")
    if len(found) > _SHOWN:
        out.line(f"… and {len(found) - _SHOWN} more")


def _tell(out: Output, done: Any) -> None:
    if out.is_json:
        out.json(
            {
                "forgotten": done.total,
                "counts": dict(done.counts),
                "files": list(done.files),
                "leftovers": list(done.leftovers),
                "unproven": list(done.unproven),
            }
        )
        return
    out.table(("member", "forgotten"), [(name, count) for name, count in done.counts.items()])
    for file in done.files:
        out.line(f"removed the copy {file}")
    for sentence in done.unproven:
        out.line(f"not to be proven from here: {sentence}", style="yellow")
    for sentence in done.leftovers:
        out.line(f"left: {sentence}", style="bold red")


@click.command()
@click.argument("record_id", metavar="ID")
@memory_option
@click.option("--question", help="What the user said, of an exchange.")
@click.option("--answer", help="What was answered, of an exchange.")
@click.option("--text", help="All of it, of anything else.")
@json_option
def edit(
    target: Target, record_id: str, question: str | None, answer: str | None, text: str | None, is_json: bool
) -> None:
    """Correct what a record says; without options an editor is opened."""
    from ovos_memory.core.errors import DocumentGone

    out = Output(is_json=is_json)
    memory = managed(target)
    record = memory.record(record_id)
    if record is None:
        click.echo("There is no record of that id; `list` shows those there are.", err=True)
        sys.exit(NOTHING)
    given = {"question": question, "answer": answer, "text": text}
    texts = {name: value for name, value in given.items() if value is not None} or _by_hand(record)
    try:
        edited = memory.edit(record_id, **texts)
    except DocumentGone:
        click.echo("The record has been forgotten meanwhile.", err=True)
        sys.exit(NOTHING)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if is_json:
        out.json(record_json(edited))
    else:
        out.line(edited.text)


def _by_hand(record: Any) -> dict[str, str]:
    """Return what an editor made of the record's texts."""
    if not sys.stdin.isatty() and not any(os.environ.get(name) for name in ("VISUAL", "EDITOR")):
        raise click.UsageError("there is no terminal for an editor; give --question, --answer or --text")
    parts = ("question", "answer") if "question" in record.details else ("text",)
    texts = {}
    for part in parts:
        before = record.details.get(part, record.text)
        after = click.edit(before)
        if after is not None and after.rstrip("\n") != before:
            texts[part] = after.rstrip("\n")
    if not texts:
        raise click.ClickException("nothing was changed")
    return texts


@click.command()
@memory_option
@json_option
def reindex(target: Target, is_json: bool) -> None:
    """Build what is derived from the records anew; an interrupted run goes on where it was."""
    out = Output(is_json=is_json)
    memory = managed(target)
    if not callable(getattr(memory, "reindex", None)):
        raise click.ClickException(f"'{target.module}' has no index to build")
    with bar("indexing") as progress:
        count = memory.reindex(progress=progress)
    if is_json:
        out.json({"indexed": count})
    else:
        out.line(f"{count} records indexed")


@contextmanager
def bar(what: str, total: int | None = None) -> Iterator[Any]:
    """Show a progress bar on stderr while a function is told how much is done."""
    from rich.console import Console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done, of: progress.update(task, completed=done, total=of or total)
