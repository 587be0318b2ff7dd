"""Hold the package files equal.

``python check_packages.py [CHECKOUT]`` prints what deviates. The files stay literal, so that each can be
read, built and released alone; what they have in common is kept here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

import changelogs
from workspace import ENTRY_POINT_GROUP, ROOT, Package, distribution, read_packages, read_toml

URL = "https://github.com/OpenVoiceOS/ovos-memory-plugins"
EXTRA_NAMES = {"ovos-memory-plugin-short-term": {"ovos-agents-short-term-memory-plugin"}}
"""Entry points beside the distribution's own name."""

OWN_KEYS = {"name", "version", "description", "keywords", "dependencies", "optional-dependencies", "scripts"}
"""Keys of ``[project]`` that say something of one package alone."""

LINES = range(25, 46)


def deviations(root: Path) -> list[str]:
    """Return one sentence per deviation, with the file and what was expected; empty when all is well."""
    packages = read_packages(root)
    found = [] if packages else [f"{root}: no package found"]
    for package in packages.values():
        for check in (_equal_tables, _size, _names, _bounds, _files, _changelog):
            found += [f"packages/{package.name}/{text}" for text in check(package, packages, root)]
    return found + list(_workspace(packages, root))


def expected_tables(package: Package) -> dict[str, Any]:
    """Return what every package file says in the same words, the name and leaf aside."""
    wheel: dict[str, Any] = {"only-include": [f"src/ovos_memory/{package.leaf}"], "sources": ["src"]}
    sdist = {"only-include": ["src", "tests", "CHANGELOG.md"]}
    if package.leaf is None:
        wheel, sdist = {"bypass-selection": True}, {"only-include": ["CHANGELOG.md"]}
    changelog = f"{URL}/blob/main/packages/{package.name}/CHANGELOG.md"
    return {
        "build-system": {"requires": ["hatchling>=1.27,<2"], "build-backend": "hatchling.build"},
        "project": {
            "readme": "README.md",
            "requires-python": ">=3.10",
            "license": "Apache-2.0",
            "license-files": ["LICENSE"],
            "classifiers": ["Programming Language :: Python :: 3", "Typing :: Typed"],
            "urls": {"Homepage": URL, "Changelog": changelog},
        },
        "tool": {
            "hatch": {"build": {"targets": {"sdist": sdist, "wheel": wheel}}},
            "uv": {"cache-keys": [{"file": "pyproject.toml"}, {"file": "src/**/*"}]},
        },
    }


def _equal_tables(package: Package, packages: dict[str, Package], root: Path) -> Iterator[str]:
    expected = expected_tables(package)
    project = {k: v for k, v in package.table["project"].items() if k not in OWN_KEYS | {"entry-points"}}
    actual = {k: v for k, v in package.table.items() if k != "dependency-groups"} | {"project": project}
    for path in sorted(set(_leaves(expected)) | set(_leaves(actual))):
        want, got = _at(expected, path), _at(actual, path)
        if want != got:
            yield f"pyproject.toml: {'.'.join(path)} must be {want!r}, is {got!r}"
    groups = set(package.table.get("dependency-groups", {}))
    if package.leaf and groups != {"test"}:
        yield f"pyproject.toml: dependency-groups must hold 'test' alone, holds {sorted(groups)}"
    if package.leaf and "hypothesis" not in map(distribution, package.test_dependencies):
        yield "pyproject.toml: dependency-groups.test lacks hypothesis, whose profile the root's settings choose"


def _leaves(table: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key)


def _at(table: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def _size(package: Package, packages: dict[str, Package], root: Path) -> Iterator[str]:
    lines = len((package.folder / "pyproject.toml").read_text(encoding="utf-8").splitlines())
    if lines not in LINES:
        yield f"pyproject.toml: must have {LINES.start} to {LINES.stop - 1} lines, has {lines}"


def _names(package: Package, packages: dict[str, Package], root: Path) -> Iterator[str]:
    project = package.table["project"]
    if project["name"] != package.name:
        yield f"pyproject.toml: project.name must be the folder's name, is {project['name']!r}"
    own = {package.name} if "-plugin-" in package.name else set()
    names = own | EXTRA_NAMES.get(package.name, set())
    if set(package.entry_points) != names:
        points = sorted(package.entry_points)
        yield f"pyproject.toml: entry points of {ENTRY_POINT_GROUP} must be {sorted(names)}, are {points}"
    for name, target in package.entry_points.items():
        if not re.fullmatch(rf"ovos_memory\.{package.leaf}:[A-Z]\w+", target):
            where = f"ovos_memory.{package.leaf}"
            yield f"pyproject.toml: entry point {name} must be a class in {where}, is {target!r}"


def _bounds(package: Package, packages: dict[str, Package], root: Path) -> Iterator[str]:
    extras = [text for texts in package.extras.values() for text in texts]
    for text in [*package.dependencies, *extras, *package.test_dependencies]:
        requirement = Requirement(text)
        operators = {clause.operator for clause in requirement.specifier}
        if "==" in operators or "~=" in operators:
            yield f"pyproject.toml: {text!r} must be a range"
        sibling = packages.get(requirement.name)
        if sibling is None:
            continue
        major = Version(sibling.version).major
        if f"<{major + 1}" not in str(requirement.specifier).split(",") or ">=" not in operators:
            yield f"pyproject.toml: the bound of a sibling must be '>=X.Y,<{major + 1}', is {text!r}"
        if not requirement.specifier.contains(sibling.version, prereleases=True):
            yield f"pyproject.toml: {text!r} refuses {sibling.name} {sibling.version} of this checkout"


def _files(package: Package, packages: dict[str, Package], root: Path) -> Iterator[str]:
    for name in ("README.md", "LICENSE", "CHANGELOG.md"):
        file = package.folder / name
        if not file.is_file() or file.is_symlink():
            yield f"{name}: must be a file of its own; a link or a path outside breaks the sdist"
    license_text = package.folder / "LICENSE"
    if license_text.is_file() and license_text.read_bytes() != (root / "LICENSE").read_bytes():
        yield "LICENSE: differs from the one at the root"
    if package.leaf is None:
        return
    namespace = package.folder / "src" / "ovos_memory"
    strangers = sorted(p.name for p in namespace.glob("*") if p.name not in {package.leaf, "__pycache__"})
    if strangers:
        yield f"src/ovos_memory: must hold {package.leaf} alone, holds also {strangers}"
    if not (namespace / package.leaf / "py.typed").is_file():
        yield f"src/ovos_memory/{package.leaf}/py.typed: missing, so type checkers ignore the package"


def _changelog(package: Package, packages: dict[str, Package], root: Path) -> Iterator[str]:
    file = package.folder / "CHANGELOG.md"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    yield from (f"CHANGELOG.md: {problem}" for problem in changelogs.problems(text))
    if package.version not in [entry.version for entry in changelogs.entries(text)]:
        yield f"CHANGELOG.md: no entry '## [{package.version}]'"


def _workspace(packages: dict[str, Package], root: Path) -> Iterator[str]:
    table = read_toml(root / "pyproject.toml")["tool"]
    sources = set(table["uv"]["sources"])
    if sources != set(packages):
        differs = sorted(sources ^ set(packages))
        yield f"pyproject.toml: tool.uv.sources must name every package; differs in {differs}"
    modules = {f"ovos_memory.{package.leaf}" for package in packages.values() if package.leaf}
    roots = set(table["importlinter"]["root_packages"])
    if roots != modules:
        yield f"pyproject.toml: tool.importlinter.root_packages differs in {sorted(roots ^ modules)}"
    tox = (root / "tox.ini").read_text(encoding="utf-8")
    for name, package in packages.items():  # one without code has no tests to run alone
        if package.leaf and not re.search(rf"^\s*[a-z-]+: DIST = {re.escape(name)}$", tox, re.MULTILINE):
            yield f"tox.ini: no environment installs {name} alone"


if __name__ == "__main__":
    problems = deviations(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    print("\n".join(problems) or "package files: equal")
    sys.exit(bool(problems))
