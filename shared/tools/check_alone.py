"""See what ``pip install`` of some packages brought.

``python -I check_alone.py DISTRIBUTION…``, run by the environment in question, wants nothing beyond what OPM,
ovos-utils and pydantic need themselves, the packages' own entry points and no others, and classes that load.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Iterable, Sequence

GROUP = "opm.agents.memory"
ALLOWED = ("ovos-plugin-manager", "ovos-utils", "pydantic")
INSTALLERS = {"pip", "setuptools", "wheel"}


def normalised(name: str) -> str:
    """Return the distribution name of a requirement, in the index's spelling."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s;<>=!~\[(]", name, maxsplit=1)[0]).lower()


def needs(names: Iterable[str]) -> set[str]:
    """Return the named distributions and everything they need, as far as it is installed."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = normalised(waiting.pop())
        if name in found:
            continue
        try:
            texts = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        found.add(name)
        waiting += texts
    return found


def problems(ours: Sequence[str]) -> list[str]:
    """Return one sentence per surprise in the running environment."""
    installed = {
        normalised(str(distribution.metadata["Name"])) for distribution in importlib.metadata.distributions()
    }
    found = [f"{name} is not installed" for name in ours if name not in installed]
    extra = installed - set(ours) - needs(ALLOWED) - INSTALLERS
    found += [f"{name} came along, though OPM and pydantic do not need it" for name in sorted(extra)]
    points = importlib.metadata.entry_points(group=GROUP)
    strangers = [point.name for point in points if not point.dist or normalised(point.dist.name) not in ours]
    found += [f"{GROUP} holds {name}, which comes from elsewhere" for name in strangers]
    missing = {name for name in ours if "-plugin-" in name} - {point.name for point in points}
    found += [f"{GROUP} lacks {name}" for name in sorted(missing)]
    return found + [text for point in points for text in _load(point)]


def _load(point: importlib.metadata.EntryPoint) -> list[str]:
    from ovos_plugin_manager.agents import load_memory_plugin

    loaded = load_memory_plugin(point.name)
    found = f"load_memory_plugin({point.name!r}) returned {loaded!r}"
    return [] if isinstance(loaded, type) and loaded.__name__ == point.attr else [found]


if __name__ == "__main__":
    surprises = problems(sys.argv[1:])
    print("\n".join(surprises) or f"alone: {', '.join(sys.argv[1:])} and nothing else")
    sys.exit(bool(surprises))
