"""Build one package into ``dist/`` and try what was built: ``python build_release.py <distribution>-v<version>``.

Siblings come from the index, as users get them: a package that needs a sibling's unreleased change fails here,
where a workspace would not notice. Only the test kit may be the checkout's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import bootstrap
import check_installed
from release import parts
from workspace import ROOT, Package, distribution, read_packages

KIT = check_installed.KIT
TOOLS = Path(__file__).resolve().parent


def build(name: str, root: Path, folder: Path) -> Path:
    """Build sdist and wheel of one package into an emptied folder and return the wheel."""
    shutil.rmtree(folder, ignore_errors=True)
    uv = os.environ.get("UV") or str(bootstrap.tool("uv"))
    command = [uv, "build", "--quiet", f"--package={name}", "--no-sources", f"--out-dir={folder}"]
    environment = {**os.environ, **bootstrap.tool_environment()}
    bootstrap.attempt(lambda: subprocess.run(command, cwd=root, check=True, env=environment), what="uv build")
    (folder / ".gitignore").unlink(missing_ok=True)  # uv's; what is published is all that lies here
    (wheel,) = folder.glob("*.whl")
    return wheel


def try_out(package: Package, wheel: Path, root: Path) -> None:
    """Install a wheel in an environment of its own, import all of it, and run its tests and self-checks there.

    Raises:
        subprocess.CalledProcessError: One of these failed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch, "environment")
        venv.EnvBuilder(with_pip=True, symlinks=os.name != "nt").create(fresh)
        python = str(fresh / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        _run(scratch, python, "-m", "pip", "install", "--quiet", str(wheel))
        if package.leaf is None:
            return
        _run(scratch, python, "-I", str(TOOLS / "import_all.py"), package.name)
        siblings = {KIT: wheel} if package.name == KIT else {KIT: build(KIT, root, Path(scratch, "kit"))}
        needs = [text for text in package.test_dependencies if distribution(text) != KIT]
        _run(scratch, python, "-m", "pip", "install", "--quiet", *needs, *map(str, siblings.values()))
        marked = ["-m", "not slow and not models", "-p", "no:cacheprovider", "-q"]
        _run(scratch, python, "-m", "pytest", str(package.folder / "tests"), *marked)
        if package.entry_points:
            members = [name for name in check_installed.needs(package.entry_points) if name != KIT]
            if members:
                _run(scratch, python, "-m", "pip", "install", "--quiet", *members)
            _run(scratch, python, str(TOOLS / "check_installed.py"))


def _run(folder: str, *command: str) -> None:
    homes = {f"XDG_{name}_HOME": f"{folder}/{name}" for name in ("CONFIG", "DATA", "STATE")}
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, **homes})


def main(tag: str, root: Path = ROOT) -> None:
    """Build and try what a tag names."""
    name, _ = parts(tag)
    wheel = build(name, root, root / "dist")
    try_out(read_packages(root)[name], wheel, root)
    print(f"dist/{wheel.name}: installs, imports and works with what its siblings have released")


if __name__ == "__main__":
    main(sys.argv[1])
