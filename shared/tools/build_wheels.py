"""Build every package once per state of its sources.

``python build_wheels.py [CHECKOUT]`` prints the folder with the wheels. They are made from the sdists, so an
sdist that lacks a file fails here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import bootstrap
from workspace import ROOT, read_packages


def build(root: Path = ROOT, cache: Path | None = None) -> Path:
    """Return a folder with the sdist and the wheel of every package of a checkout.

    Args:
        root: The checkout.
        cache: Where the folders are kept, one per state of the sources; older ones are removed.
    """
    cache = cache or bootstrap.cache_home() / "wheels"
    cache.mkdir(parents=True, exist_ok=True)
    with bootstrap.one_at_a_time(cache / "lock"):
        folder = cache / _state(root)
        if not folder.is_dir():
            _remove_all_but_newest(cache)
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            _build_into(unfinished, root)
            unfinished.rename(folder)
    return folder


def _build_into(folder: Path, root: Path) -> None:
    uv = os.environ.get("UV") or str(bootstrap.tool("uv"))
    command = [uv, "build", "--quiet", "--all-packages", "--no-sources", "--out-dir", str(folder)]
    environment = {**os.environ, **bootstrap.tool_environment()}
    bootstrap.attempt(lambda: subprocess.run(command, cwd=root, check=True, env=environment), what="uv build")


def _state(root: Path) -> str:
    """Return a digest of every file that can end in a wheel or an sdist."""
    digest = hashlib.sha256()
    for name in read_packages(root):
        for file in sorted((root / "packages" / name).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _remove_all_but_newest(cache: Path) -> None:
    """Keep the last state: someone may be installing from it."""
    folders = sorted(
        (path for path in cache.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime
    )
    for folder in folders[:-1]:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    print(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
