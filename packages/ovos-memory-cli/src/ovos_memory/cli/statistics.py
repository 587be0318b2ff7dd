"""How much a memory holds, and how it is doing, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ovos_memory.cli.output import Output, moment, size

_COLUMNS = ("member", "sessions", "records", "kinds", "first (UTC)", "last (UTC)", "waiting", "size", "file")
_NOTED = ("member", "what failed", "times", "last (UTC)", "how")
_QUIET = {"plugin", "module", "state", "members", "health", "model", "form", "server", "engine"}
"""Parts of a health report that are no trouble by themselves."""


def show_stats(out: Output, told: Mapping[str, Any]) -> None:
    """Print what ``stats --json`` tells: a row per member, then what is not in order."""
    members = told.get("members") or {told.get("plugin", "memory"): told}
    out.line(
        f"{told.get('plugin', 'memory')}: {told.get('sessions', 0)} sessions, {told.get('records', 0)} records"
    )
    out.table(_COLUMNS, [_row(name, facts) for name, facts in members.items()])
    noted = [row for name, facts in members.items() for row in _noted(name, facts)]
    troubles = list(_troubles(str(told.get("plugin", "memory")), told.get("health") or {}))
    if noted:
        out.table(_NOTED, noted, title="failures that the stores have noted (see `ovos-memory doctor`)")
    if troubles:
        out.table(("member", "what", "value"), troubles, title="not in order (see `ovos-memory doctor`)")
    if not noted and not troubles:
        out.line("no failures")
    out.line(_whose(members), style="dim")


def _noted(name: str, facts: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    for operation, failure in (facts.get("failures") or {}).items():
        times, when = failure.get("failures"), moment(failure.get("last_at"))
        yield name, operation, times, when, failure.get("last_error")


def _whose(members: Mapping[str, Mapping[str, Any]]) -> str:
    """Return whose failures are shown: only what lies in a store is known of other processes."""
    noting = [name for name, facts in members.items() if "failures" in facts]
    failures = f", and the noted failures of {', '.join(noting)}" if noting else ""
    return (
        f"Of every process: what waits or was given up{failures}. All else is this command's own: a running"
        " persona tells in its log alone what failed besides, and what it holds in RAM."
    )


def _row(name: str, facts: Mapping[str, Any]) -> tuple[object, ...]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in (facts.get("kinds") or {}).items())
    return (
        name,
        facts.get("sessions", "-"),
        facts.get("records", "-"),
        kinds or "-",
        moment(facts.get("first_at")),
        moment(facts.get("last_at")),
        facts.get("waiting", "-"),
        size(facts.get("bytes") or 0),
        facts.get("path") or "-",
    )


def _troubles(name: str, health: Mapping[str, Any], path: str = "") -> Iterator[tuple[object, ...]]:
    """Yield what a health report counts beyond zero: member, what, value."""
    for member, facts in (health.get("members") or {}).items():
        if facts.get("state") not in (None, "ready"):
            yield member, "state", f"{facts['state']} {facts.get('reason') or ''}"
        yield from _troubles(str(member), {k: v for k, v in facts.items() if k not in ("state", "reason")})
    if isinstance(health.get("health"), Mapping):
        yield from _troubles(name, health["health"])
    for key, value in health.items():
        if key in _QUIET and not (key == "model" and isinstance(value, Mapping)):
            continue
        if isinstance(value, Mapping):
            yield from _troubles(name, value, f"{path}{key} ")
        elif key.endswith("_at"):
            yield name, f"{path}{key}", moment(value)
        elif value and not isinstance(value, bool) and key not in ("learned", "written", "removed"):
            yield name, f"{path}{key}", value
