"""The private environment that holds nox and uv, so that a checkout needs nothing but Python and an index.

Standard library only, and importable by any Python 3: one that is too old gets a sentence, not a traceback.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

REQUIREMENTS = ("nox==2026.10.20", "uv==0.13.9")
"""Exact versions: a lock file and a noxfile that work here work everywhere."""

PAUSES_S = (2.0, 5.0, 15.0)
"""Waits between attempts at a download; an index that answers badly once mostly answers the next time."""


def checkout() -> Path:
    """Return the folder that holds ``noxfile.py``."""
    return Path(__file__).resolve().parents[2]


def cache_home() -> Path:
    """Return a folder of ours that can be written: the checkout's ``.cache``, else a temporary one."""
    inside = checkout() / ".cache"
    if _writable(inside):
        return inside
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    name = hashlib.sha256(bytes(checkout())).hexdigest()[:8]
    outside = Path(tempfile.gettempdir()) / f"ovos-memory-{user}" / name
    if not _writable(outside):
        raise SystemExit(f"neither {inside} nor {outside} can be written; make one of them writable")
    return outside


def tool_environment() -> dict[str, str]:
    """Return the variables that make uv patient, and independent of a home folder that cannot be written."""
    wanted = {
        "UV_HTTP_RETRIES": "6",
        "UV_HTTP_TIMEOUT": "120",
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    if not _writable(_default_uv_cache()):
        wanted["UV_CACHE_DIR"] = str(cache_home() / "uv")
    return {name: value for name, value in wanted.items() if name not in os.environ}


def tool(name: str) -> Path:
    """Return a program of the private environment (``python``, ``nox``, ``uv``), which first use makes."""
    folder = _environment()
    return folder / ("Scripts" if os.name == "nt" else "bin") / (name + (".exe" if os.name == "nt" else ""))


def attempt(action: Callable[[], object], *, what: str) -> None:
    """Do something that may download, again after a pause when it fails.

    Args:
        action: Raises OSError or CalledProcessError when it failed; another exception is not worth a second try.
        what: The thing being tried, for the line that says it is tried again.

    Raises:
        OSError, subprocess.CalledProcessError: What the last attempt raised.
    """
    for pause in PAUSES_S:
        try:
            action()
            return
        except (OSError, subprocess.CalledProcessError) as error:
            _say(f"{what} failed ({type(error).__name__}); once more in {pause:.0f} s")
            time.sleep(pause)
    action()


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Keep a second process out while the first one installs, where the system can lock files."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run_nox(arguments: Sequence[str]) -> int:
    """Run nox of the private environment on this checkout and return its exit status."""
    if sys.version_info < (3, 10):  # noqa: UP036 - whoever comes with an older one gets this sentence
        raise SystemExit(
            f"Python >= 3.10 is needed, this is {sys.version.split()[0]}; try python3.12 noxfile.py …"
        )
    command = [str(tool("python")), "-m", "nox", "-f", str(checkout() / "noxfile.py"), *arguments]
    try:
        return subprocess.call(command)
    except KeyboardInterrupt:
        return 130


def _environment() -> Path:
    key = hashlib.sha256("\n".join((sys.version, sys.base_prefix, *REQUIREMENTS)).encode()).hexdigest()[:8]
    folder = cache_home() / f"tools-py{sys.version_info[0]}.{sys.version_info[1]}-{key}"
    complete = folder / "complete"
    if complete.exists():
        return folder
    with one_at_a_time(cache_home() / "tools.lock"):
        if not complete.exists():
            _say(f"one moment: installing {' and '.join(REQUIREMENTS)} into {folder}")
            _create(folder)
            complete.touch()
    return folder


def _create(folder: Path) -> None:
    try:
        venv.EnvBuilder(clear=True, with_pip=True, symlinks=os.name != "nt").create(folder)
    except subprocess.CalledProcessError as error:
        remedy = "on Debian: apt-get install python3-venv"
        raise SystemExit(f"this Python cannot make virtual environments; {remedy}") from error
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS]
    attempt(lambda: subprocess.run(install, check=True), what="the installation of nox and uv")


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _default_uv_cache() -> Path:
    given = os.environ.get("UV_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(given) if given else Path(base) / "uv"


def _writable(folder: Path) -> bool:
    """Whether files can be made in the folder, which is made when it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
