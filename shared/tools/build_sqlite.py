"""Build one version of SQLite as a shared library: ``python build_sqlite.py VERSION`` prints its path.

Python's ``sqlite3`` uses whatever library the process loads, so ``LD_PRELOAD`` with this path runs the tests on another
version. The source is the amalgamation that the npm package better-sqlite3 ships unchanged, pinned by its sha256.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import bootstrap

PINS = {
    "3.36.0": ("7.4.3", "671fe84d9f4d84f5d5042e66d9f301820487d5ccf07aa91276254f8af23fde2e"),
    "3.40.0": ("8.0.1", "210c1937742b4840a2f2bbd656fd171904d05d780f2c92b4cdea0cd90d69ad13"),
    "3.43.2": ("9.0.0", "951f7f9bf66112eace3f69e0ed437ce0ea3b2fd90b02f362777c4d7dcc0ec81a"),
    "3.46.0": ("11.0.0", "7d45ffde103d487327e3832b4ff3300adc3c537c701e4ed863b3a33918ec2c33"),
    "3.50.4": ("12.4.1", "14398acbf00d1e8fe0a2753df7d4f15c13138e4b874f4e6e96791f65b4536d0d"),
    "3.54.1": ("13.2.0", "40487589df3496f2ee0079d22b73c63fccebe7db0e8ee9a2c42421861e321e0b"),
}
"""SQLite version: the release of better-sqlite3 that holds it, and the sha256 of its tarball."""

OPTIONS = ("FTS5", "FTS4", "RTREE", "JSON1", "COLUMN_METADATA", "LOAD_EXTENSION", "UNLOCK_NOTIFY")
"""What distributions switch on, as far as Python's module or the tests may ask for it."""


def build(version: str, cache: Path) -> Path:
    """Return ``libsqlite3.so.0`` of a version, built unless an earlier run did.

    Args:
        version: One of :data:`PINS`.
        cache: A folder per version is made in it.

    Raises:
        SystemExit: The version is not pinned, a program is missing, or the tarball is another one.
    """
    if version not in PINS:
        raise SystemExit(
            f"SQLite {version} is not pinned in {Path(__file__).name}; there are {', '.join(PINS)}"
        )
    library = cache / version / "libsqlite3.so.0"
    if not library.is_file():
        missing = [name for name in ("npm", "cc") if not shutil.which(name)]
        if missing:
            raise SystemExit(f"to build SQLite {version}, install {' and '.join(missing)}")
        with tempfile.TemporaryDirectory() as scratch:
            _compile(_unpack(_fetch(version, Path(scratch)), Path(scratch)), library)
    return library


def _fetch(version: str, folder: Path) -> bytes:
    release, sha256 = PINS[version]
    command = ["npm", "pack", "--silent", f"better-sqlite3@{release}"]
    bootstrap.attempt(
        lambda: subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr), what="npm pack"
    )
    data = (folder / f"better-sqlite3-{release}.tgz").read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise SystemExit(f"better-sqlite3 {release} has sha256 {found}; {sha256} is pinned")
    return data


def _unpack(tarball: bytes, folder: Path) -> Path:
    """Write the amalgamation, which older releases keep in an archive of its own, and return its path."""
    with tarfile.open(fileobj=io.BytesIO(tarball)) as package:
        names = package.getnames()
        if (inner := "package/deps/sqlite3.tar.gz") in names:
            with tarfile.open(fileobj=package.extractfile(inner)) as archive:
                return _write(
                    archive, next(n for n in archive.getnames() if Path(n).name == "sqlite3.c"), folder
                )
        return _write(package, "package/deps/sqlite3/sqlite3.c", folder)


def _write(archive: tarfile.TarFile, name: str, folder: Path) -> Path:
    stream = archive.extractfile(name)
    assert stream is not None
    source = folder / "sqlite3.c"
    source.write_bytes(stream.read())
    return source


def _compile(source: Path, library: Path) -> None:
    library.parent.mkdir(parents=True, exist_ok=True)
    unfinished = library.with_suffix(".unfinished")
    defined = [f"-DSQLITE_ENABLE_{option}" for option in OPTIONS]
    command = [
        "cc",
        "-O2",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libsqlite3.so.0",
        *defined,
        "-DSQLITE_THREADSAFE=1",
        "-DHAVE_USLEEP=1",  # else whoever waits for a lock looks again after whole seconds, and starves
    ]
    command += ["-o", str(unfinished), str(source), "-lm", "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    unfinished.rename(library)


if __name__ == "__main__":
    print(build(sys.argv[1], bootstrap.cache_home() / "sqlite"))
