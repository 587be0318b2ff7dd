"""Install one package from built wheels.

A workspace takes siblings from their folders and ignores the bounds between them; wheels obey them, as users'
installs do.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import bootstrap
from build_wheels import build
from workspace import ROOT, Package, closure, distribution, read_packages


def requirements(
    name: str, wheels: Path, packages: dict[str, Package], *, tests: bool, lowest: bool
) -> list[str]:
    """Return what to ask the installer for.

    Args:
        name: The distribution.
        wheels: Folder with a wheel of every package.
        packages: All packages of the checkout.
        tests: Add what the package's tests need.
        lowest: Name what the package and its siblings depend on too; "lowest direct" is about what is named.
    """
    wanted = [name, *(packages[name].test_dependencies if tests else [])]
    siblings = closure(wanted, packages)
    outside = [text for text in wanted if distribution(text) not in packages]
    if lowest:
        texts = [text for package in siblings for text in package.dependencies]
        outside += [text for text in texts if distribution(text) not in packages]
    return [*(str(_wheel(package, wheels)) for package in siblings), *outside]


def install(name: str, python: Path, *, tests: bool = False, lowest: bool = False, root: Path = ROOT) -> None:
    """Install a package, its siblings from wheels, everything else from the index.

    Raises:
        subprocess.CalledProcessError: The installer found no set of versions that all bounds allow.
    """
    wheels = build(root, None if root == ROOT else root / ".cache" / "wheels")
    uv = os.environ.get("UV") or str(bootstrap.tool("uv"))
    command = [uv, "pip", "install", "--quiet", "--no-sources", f"--python={python}"]
    command += ["--resolution=lowest-direct"] if lowest else []
    command += requirements(name, wheels, read_packages(root), tests=tests, lowest=lowest)
    subprocess.run(command, check=True, env={**os.environ, **bootstrap.tool_environment()})


def _wheel(package: Package, wheels: Path) -> Path:
    return next(wheels.glob(f"{package.name.replace('-', '_')}-{package.version}-*.whl"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and install."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", metavar="DISTRIBUTION")
    parser.add_argument(
        "--python", type=Path, required=True, help="interpreter of the environment to install into"
    )
    parser.add_argument("--lowest", action="store_true", help="lowest direct dependencies")
    parser.add_argument("--tests", action="store_true", help="also what the package's tests need")
    given = parser.parse_args(arguments)
    install(given.name, given.python, tests=given.tests, lowest=given.lowest)


if __name__ == "__main__":
    main()
