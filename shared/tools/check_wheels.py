"""Wheels that can live together: ``python check_wheels.py FOLDER`` looks into every wheel of a folder.

``ovos_memory`` belongs to no distribution. A file on it would be owned by whoever was installed last, and go
with it.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path


def problems(folder: Path) -> list[str]:
    """Return one sentence per problem in the wheels of a folder; empty when all is well."""
    wheels = {wheel: _payload(wheel) for wheel in sorted(folder.glob("*.whl"))}
    found = [] if wheels else [f"{folder}: no wheel found"]
    owners: dict[str, list[str]] = defaultdict(list)
    for wheel, names in wheels.items():
        found += [f"{wheel.name}: {problem}" for problem in _problems(wheel.name, names)]
        for name in names:
            owners[name].append(wheel.name)
    return found + [f"{name}: in {' and '.join(two)}" for name, two in owners.items() if len(two) > 1]


def _payload(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if ".dist-info/" not in name]


def _problems(wheel: str, names: list[str]) -> Iterator[str]:
    leaf = re.sub(r"^ovos_memory_(plugin_)?", "", wheel.split("-")[0])
    inside = f"ovos_memory/{leaf}/"
    for name in names:
        if not name.startswith(inside):
            yield f"{name} is outside {inside}"
    if names and f"{inside}py.typed" not in names:
        yield f"{inside}py.typed is missing"


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) or f"wheels: {len(list(Path(sys.argv[1]).glob('*.whl')))} can live together")
    sys.exit(bool(found))
