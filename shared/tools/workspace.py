"""What the package files under ``packages/`` say, as objects the checks can ask."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENTRY_POINT_GROUP = "opm.agents.memory"


@dataclass(frozen=True)
class Package:
    """One distribution of the family.

    Attributes:
        folder: ``packages/<distribution>``.
        table: The parsed ``pyproject.toml``.
    """

    folder: Path
    table: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The distribution, which is also the folder and, of a plugin, an entry point."""
        return self.folder.name

    @property
    def version(self) -> str:
        """The static version."""
        return str(self.table["project"]["version"])

    @property
    def leaf(self) -> str | None:
        """The import name below ``ovos_memory``; ``None`` of a package without code."""
        if not (self.folder / "src").is_dir():
            return None
        return re.sub(r"^ovos-memory-(plugin-)?", "", self.name).replace("-", "_")

    @property
    def factor(self) -> str:
        """The package in the name of a tox environment: the distribution without its prefix."""
        return re.sub(r"^ovos-memory-(plugin-)?", "", self.name)

    @property
    def dependencies(self) -> list[str]:
        """Requirements as written, extras left out."""
        return list(self.table["project"].get("dependencies", []))

    @property
    def extras(self) -> dict[str, list[str]]:
        """Requirements of each extra, as written."""
        return dict(self.table["project"].get("optional-dependencies", {}))

    @property
    def test_dependencies(self) -> list[str]:
        """What the package's own tests need beside the package."""
        return list(self.table.get("dependency-groups", {}).get("test", []))

    @property
    def entry_points(self) -> dict[str, str]:
        """Name to object, of the group that OPM reads."""
        return dict(self.table["project"].get("entry-points", {}).get(ENTRY_POINT_GROUP, {}))


def read_package(folder: Path) -> Package:
    """Return the package in a folder that holds a ``pyproject.toml``."""
    return Package(folder, read_toml(folder / "pyproject.toml"))


def read_packages(root: Path = ROOT) -> dict[str, Package]:
    """Return all packages of a checkout by name, sorted."""
    files = sorted(root.glob("packages/*/pyproject.toml"))
    return {file.parent.name: read_package(file.parent) for file in files}


def read_toml(path: Path) -> dict[str, Any]:
    """Return a parsed TOML file."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(path.read_text(encoding="utf-8"))


def distribution(requirement: str) -> str:
    """Return the normalised distribution name of a requirement such as ``Ovos_Utils[extras]>=1; marker``."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    if not match:
        raise ValueError(f"not a requirement: {requirement!r}")
    return re.sub(r"[-_.]+", "-", match[1]).lower()


def closure(names: Iterable[str], packages: Mapping[str, Package]) -> list[Package]:
    """Return the named packages and the siblings they need, each once, those that are needed first."""
    found: dict[str, Package] = {}

    def visit(name: str) -> None:
        if name in packages and name not in found:
            for requirement in packages[name].dependencies:
                visit(distribution(requirement))
            found[name] = packages[name]

    for name in names:
        visit(distribution(name))
    return list(found.values())
