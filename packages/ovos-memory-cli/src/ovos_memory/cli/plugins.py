"""``plugins``: what is installed, and what its settings are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib import metadata
from typing import Any

import click

from ovos_memory.cli.options import json_option
from ovos_memory.cli.output import Output, one_line
from ovos_memory.cli.target import GROUP

_MAX_ERROR_CHARS = 300
_FOR_DEVELOPERS = {"dev", "docs", "lint", "test", "tests"}


@click.command()
@click.option("--schema", "schema", metavar="NAME", help="Print the JSON Schema of a plugin's settings.")
@click.option("--samples", "samples", metavar="NAME", help="Print sample configurations of a plugin.")
@json_option
def plugins(schema: str | None, samples: str | None, is_json: bool) -> None:
    """List the memory plugins that are installed."""
    out = Output(is_json=is_json)
    if schema is not None:
        out.json(schema_of(schema))
        return
    if samples is not None:
        out.json(samples_of(samples))
        return
    found = installed()
    if is_json:
        out.json(found)
        return
    rows = [
        (p["name"], p["distribution"], p["version"], ", ".join(p["missing_extras"]) or "-", p["state"])
        for p in found
    ]
    out.table(("plugin", "package", "version", "missing extras", "state"), rows)


def installed() -> list[dict[str, Any]]:
    """Return the memory plugins there are, with version and what is missing for their extras."""
    points = sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)
    names = Counter(point.name for point in points)
    found = []
    for point in points:
        distribution = point.dist
        found.append(
            {
                "name": point.name,
                "distribution": "-" if distribution is None else distribution.metadata["Name"],
                "version": "-" if distribution is None else distribution.version,
                "class": point.value,
                "missing_extras": [] if distribution is None else missing_extras(distribution),
                "state": "twice: OPM takes the last" if names[point.name] > 1 else _state(point),
            }
        )
    return found


def _state(point: metadata.EntryPoint) -> str:
    try:
        point.load()
    except Exception as error:
        return f"broken ({type(error).__name__})"
    return "ready"


def why_broken(points: Iterable[metadata.EntryPoint]) -> str:
    """Return why a plugin cannot be loaded, as an exception's type and message; ``""`` when it can.

    Args:
        points: All that have its name: OPM takes one that can be loaded, whatever the others are.
    """
    told = ""
    for point in points:
        try:
            point.load()
        except (Exception, SystemExit) as error:  # a stranger's module may end in any way
            told = told or f"{type(error).__name__}: {one_line(error, _MAX_ERROR_CHARS)}".rstrip(": ")
        else:
            return ""
    return told


def missing_extras(distribution: metadata.Distribution) -> list[str]:
    """Return the extras of a package whose requirements are not all installed."""
    extras: dict[str, list[str]] = {}
    for requirement in distribution.requires or ():
        name, _, marker = requirement.partition(";")
        for quote in ("'", '"'):
            _, found, rest = marker.partition(f"extra == {quote}")
            if found:
                extras.setdefault(rest.partition(quote)[0], []).append(name)
    wanted = {extra: names for extra, names in extras.items() if extra not in _FOR_DEVELOPERS}
    return sorted(extra for extra, names in wanted.items() if not all(is_installed(name) for name in names))


def is_installed(requirement: str) -> bool:
    """Tell whether the package of a requirement is there, in whatever version."""
    name = requirement.strip()
    for separator in " <>=!~[(;":
        name = name.partition(separator)[0]
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a plugin's settings.

    Raises:
        click.UsageError: There is no such plugin, or it has none.
    """
    from ovos_memory.core.settings import json_schema

    model = settings_model(name)
    if model is None:
        raise click.UsageError(f"'{name}' publishes no settings; known: {_known()}")
    return json_schema(model)


def settings_model(name: str) -> Any:
    """Return the settings model of a memory plugin; ``None`` when it is not installed or has none."""
    for point in metadata.entry_points(group=GROUP):
        if point.name != name:
            continue
        try:
            found = getattr(point.load(), "settings_model", None)
        except Exception:  # a stranger's plugin may fail in any way; it is listed without settings
            continue
        if found is not None:
            return found()
    return None


def samples_of(name: str) -> Any:
    """Return the sample configurations that a plugin publishes for OPM.

    Raises:
        click.UsageError: There are none.
    """
    for point in metadata.entry_points(group=f"{GROUP}.config"):
        if point.name == f"{name}.config":
            return point.load()
    raise click.UsageError(f"'{name}' publishes no sample configurations; known plugins: {_known()}")


def _known() -> str:
    return ", ".join(sorted({point.name for point in metadata.entry_points(group=GROUP)})) or "none"
