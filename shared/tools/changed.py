"""Which packages a change concerns: ``python changed.py [BASE]`` prints them for GitHub's file of outputs.

``packages=["core", …]`` names those that were edited and those that need one of them, in the words of tox.ini,
and ``edited=["core", …]`` the former alone.
Without a base that git knows, or with one that is the first of its branch, every package is concerned.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from workspace import ROOT, Package, closure, distribution, read_packages

BASES = ("ovos-memory-core", "ovos-memory-testing")
"""A change of these concerns everyone: all build on the one and are tested with the other."""

SHARED = (".ci/", ".github/workflows/", "noxfile.py", "pyproject.toml", "shared/tools/", "tox.ini", "uv.lock")
"""What decides how every package is built and tested; a name that ends in ``/`` is a folder."""


def edited(files: Iterable[str], packages: Mapping[str, Package]) -> list[str]:
    """Return the packages that hold one of these files, sorted."""
    parts = [Path(file).parts for file in files]
    return sorted({part[1] for part in parts if part[0] == "packages" and len(part) > 2} & set(packages))


def concerned(files: Iterable[str], packages: Mapping[str, Package]) -> list[str]:
    """Return the packages that a change of these files may break, sorted.

    Args:
        files: Paths from the checkout's root, ``/`` between the folders.
        packages: All packages of the checkout.
    """
    files = list(files)
    touched = set(edited(files, packages))
    if touched & set(BASES) or any(_is_shared(file) for file in files):
        return sorted(packages)
    return sorted(name for name, package in packages.items() if touched & _needed(package, packages))


def changed_files(base: str, root: Path = ROOT) -> list[str] | None:
    """Return what differs from the point where a base was left; ``None`` when git does not know it."""
    command = ["git", "diff", "--name-only", "--no-renames", "-z", f"{base}...HEAD", "--"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return None if done.returncode else [name for name in done.stdout.split("\0") if name]


def factors(names: Iterable[str], packages: Mapping[str, Package]) -> list[str]:
    """Return how tox.ini calls these packages; those without code are left out, for tox has none of them."""
    return [packages[name].factor for name in names if packages[name].leaf]


def _is_shared(file: str) -> bool:
    return any(file == name or (name.endswith("/") and file.startswith(name)) for name in SHARED)


def _needed(package: Package, packages: Mapping[str, Package]) -> set[str]:
    extras = [text for texts in package.extras.values() for text in texts]
    wanted = map(distribution, [*extras, *package.test_dependencies])
    return {found.name for found in closure([package.name, *wanted], packages)}


def main(arguments: list[str]) -> None:
    """Print the output lines."""
    packages = read_packages()
    files = changed_files(arguments[0]) if arguments and arguments[0] else None
    lists = {
        "packages": sorted(packages) if files is None else concerned(files, packages),
        "edited": sorted(packages) if files is None else edited(files, packages),
    }
    for key, names in lists.items():
        print(f"{key}={json.dumps(factors(names, packages))}")


if __name__ == "__main__":
    main(sys.argv[1:])
