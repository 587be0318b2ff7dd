"""May this tag be released? ``python release.py <distribution>-v<version>`` says what stands against it.

A tag releases one package: the version in its file, described in its changelog, on siblings that users can
already install.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from packaging.requirements import Requirement

import changelogs
from workspace import ROOT, Package, distribution, read_packages


def parts(tag: str) -> tuple[str, str]:
    """Return distribution and version of a tag.

    Raises:
        ValueError: It has another form.
    """
    match = re.fullmatch(r"(ovos-memory-[a-z-]*[a-z])-v(\d[0-9a-z.]*)", tag)
    if not match:
        raise ValueError(f"{tag!r} must read <distribution>-v<version>, as in ovos-memory-core-v1.0.0")
    return match[1], match[2]


def objections(
    tag: str, packages: Mapping[str, Package], is_released: Callable[[str], bool]
) -> Iterator[str]:
    """Yield one sentence for each reason not to release a tag.

    Args:
        tag: ``<distribution>-v<version>``.
        packages: All packages of the checkout.
        is_released: Whether the index has something that meets a requirement.
    """
    try:
        name, version = parts(tag)
    except ValueError as error:
        yield str(error)
        return
    package = packages.get(name)
    if package is None:
        yield f"{tag}: there is no package {name}; there are {', '.join(sorted(packages))}"
        return
    if version != package.version:
        yield f"{tag}: packages/{name}/pyproject.toml says version {package.version}"
    yield from (f"{tag}: {text}" for text in _unwritten(package, version))
    for text in sorted(set(_siblings(package, packages))):
        if not is_released(text):
            yield f"{tag}: pip finds no release of {Requirement(text).name} that meets {text!r}; it comes first"


def on_index(requirement: str) -> bool:
    """Whether pip finds a requirement on the index that it is set up for, past its cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
        return subprocess.run([*command, "--dest", folder, requirement], check=False).returncode == 0


def _unwritten(package: Package, version: str) -> Iterator[str]:
    """Yield what the changelog lacks."""
    where = f"packages/{package.name}/CHANGELOG.md"
    text = (package.folder / "CHANGELOG.md").read_text(encoding="utf-8")
    yield from (f"{where}: {problem}" for problem in changelogs.problems(text))
    entry = next((entry for entry in changelogs.entries(text) if entry.version == version), None)
    if entry is None:
        yield f"{where} has no entry '## [{version}] - YYYY-MM-DD'"
    elif not entry.is_released:
        yield f"{where}: the entry of {version} still says '{changelogs.NOT_YET}'; give it the day's date"


def _siblings(package: Package, packages: Mapping[str, Package]) -> Iterator[str]:
    """Yield the requirements on other packages of the family, extras' included, their own extras left out."""
    extras = [text for texts in package.extras.values() for text in texts]
    for text in [*package.dependencies, *extras]:
        if distribution(text) in packages:
            yield f"{distribution(text)}{Requirement(text).specifier}"


def main() -> int:
    """Read the command line and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tag", help="<distribution>-v<version>")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout, by default this one")
    given = parser.parse_args()
    found = list(objections(given.tag, read_packages(given.root), on_index))
    print("\n".join(found) or f"{given.tag}: nothing stands against it")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
