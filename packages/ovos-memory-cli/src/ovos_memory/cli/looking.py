"""``list``, ``show``, ``search``, ``stats``: what a memory knows."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from ovos_memory.cli.options import (
    NOTHING,
    caller_option,
    json_option,
    managed,
    memory_option,
    query_option,
    session_option,
)
from ovos_memory.cli.output import Output, moment, one_line
from ovos_memory.cli.statistics import show_stats
from ovos_memory.cli.target import Target

if TYPE_CHECKING:
    from ovos_memory.core.record_types import Record


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.4 on
    """A time: ISO 8601, epoch seconds, or an age such as ``30d``."""

    name = "time"
    _UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return epoch seconds."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            if text[-1:] in self._UNITS and text[:-1].isdigit():
                return datetime.now(timezone.utc).timestamp() - int(text[:-1]) * self._UNITS[text[-1]]
            if text.replace(".", "", 1).isdigit() and len(text) >= 9:
                return float(text)
            found = datetime.fromisoformat(text)
        except ValueError:
            self.fail(
                f"{value!r} is no time; write 2026-01-31, 2026-01-31T12:00, epoch seconds or an age as 30d"
            )
        return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()


def record_json(record: Record) -> dict[str, Any]:
    """Return a record as JSON values."""
    return {
        "id": record.id,
        "kind": record.kind,
        "session_id": record.session_id,
        "created_at": record.created_at,
        "text": record.text,
        "origin": record.origin,
        **record.details,
    }


@click.command("list")
@memory_option
@session_option
@query_option("Only records that contain this phrase")
@click.option("--before", type=Moment(), help="Only older ones: a date, epoch seconds, or an age as 30d.")
@click.option("--after", type=Moment(), help="Only from then on.")
@click.option(
    "--sessions",
    "is_sessions",
    is_flag=True,
    help="List sessions that have such records, each with all it has.",
)
@click.option("-n", "--limit", type=click.IntRange(1), help="So many at most.")
@json_option
def list_records(
    target: Target,
    session: str | None,
    query: str | None,
    before: float | None,
    after: float | None,
    is_sessions: bool,
    limit: int | None,
    is_json: bool,
) -> None:
    """List what is remembered: records, or sessions."""
    out = Output(is_json=is_json)
    memory = managed(target)
    if is_sessions:
        found = [s for s in memory.sessions() if session in (None, s.session_id)]
        if (query, before, after) != (None, None, None):
            matching = {record.session_id for record in memory.records(session, query, before, after)}
            found = [summary for summary in found if summary.session_id in matching]
        _list_sessions(out, found[:limit])
        return
    records = islice(memory.records(session, query, before, after), limit)
    if is_json:
        out.json([record_json(record) for record in records])
        return
    rows = [(r.id, r.kind, r.session_id, moment(r.created_at), one_line(r.text)) for r in records]
    if not rows:
        click.echo("Nothing is remembered that matches.", err=True)
        sys.exit(NOTHING)
    out.table(("id", "kind", "session", "when (UTC)", "text"), rows)


def _list_sessions(out: Output, found: list[Any]) -> None:
    if out.is_json:
        keys = ("session_id", "documents", "first_at", "last_at")
        out.json([{key: getattr(summary, key) for key in keys} for summary in found])
        return
    if not found:
        click.echo("Nothing is remembered that matches.", err=True)
        sys.exit(NOTHING)
    rows = [(s.session_id, s.documents, moment(s.first_at), moment(s.last_at)) for s in found]
    out.table(("session", "records", "first (UTC)", "last (UTC)"), rows)


@click.command()
@click.argument("record_id", metavar="ID")
@memory_option
@json_option
def show(target: Target, record_id: str, is_json: bool) -> None:
    """Show one record in full."""
    out = Output(is_json=is_json)
    record = managed(target).record(record_id)
    if record is None:
        click.echo("There is no record of that id; `list` shows those there are.", err=True)
        sys.exit(NOTHING)
    if is_json:
        out.json(record_json(record))
        return
    out.facts(
        {
            "id": record.id,
            "kind": record.kind,
            "session": record.session_id,
            "when (UTC)": moment(record.created_at),
            "origin": record.origin,
        }
    )
    shown = ("question", "answer", "message")
    out.facts({name: value for name, value in record.details.items() if name not in shown})
    out.line()
    out.line(record.text)  # last, so that no text can pass for a fact about the record


@click.command()
@click.argument("query")
@memory_option
@caller_option
@click.option("-n", "--top-k", type=click.IntRange(1), help="So many hits at most; default: as configured.")
@json_option
def search(target: Target, query: str, session: str | None, top_k: int | None, is_json: bool) -> None:
    """Search as the memory does for a conversation: hits with scores, best first."""
    out = Output(is_json=is_json)
    memory = target.open()
    if not callable(getattr(memory, "search", None)):
        raise click.ClickException(f"'{target.module}' has no search; `list --query` finds phrases")
    hits = memory.search(query, session, top_k)
    if is_json:
        out.json([hit_json(hit, rank) for rank, hit in enumerate(hits, 1)])
        return
    if not hits:
        click.echo("Nothing was found.", err=True)
        sys.exit(NOTHING)
    rows = []
    for rank, hit in enumerate(hits, 1):
        facts = hit.metadata
        when = moment(facts.get("created_at"))
        rows.append(
            (rank, f"{hit.score:.4g}", hit.source, facts.get("session_id"), when, one_line(hit.content))
        )
    out.table(("rank", "score", "source", "session", "when (UTC)", "text"), rows)


def hit_json(hit: Any, rank: int) -> dict[str, Any]:
    """Return a hit as JSON values."""
    return {
        "rank": rank,
        "score": hit.score,
        "content": hit.content,
        "source": hit.source,
        "metadata": dict(hit.metadata),
    }


@click.command()
@memory_option
@json_option
def stats(target: Target, is_json: bool) -> None:
    """Count sessions and records, and tell how the memory is doing.

    What waits, what was given up and the failures that stores have noted are those of every process.  All else of
    health is this command's own, which opens the memory anew: what a running persona holds in RAM, a model that it
    leaves alone for a while, and failures of members that note none, show in its log.
    """
    out = Output(is_json=is_json)
    memory = managed(target)
    told = {**memory.stats(), "health": memory.health()}
    if is_json:
        out.json(told)
    else:
        show_stats(out, told)
