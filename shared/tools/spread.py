"""The contract suites of every backend on other versions of Python and OPM.

``python spread.py`` runs all of the matrix that this machine has; ``python spread.py --corners`` its two corners, the
oldest OPM on the oldest Python and the newest on the newest.  A cell that cannot be installed is told, and is a
failure unless it is in `IMPOSSIBLE`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bootstrap
from build_wheels import build
from workspace import ROOT

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
OPMS = {"lowest": "==2.7.0a1", "2.x": ">=2.7.0a1,<3", "3.x": ">=3.0.0a1,<4"}
BACKENDS = ("short-term", "recency", "lexical", "local-rag", "entity", "longterm", "composite")
CORNERS = ((PYTHONS[0], "lowest"), (PYTHONS[-1], "3.x"))
IN_CORNERS = ("lexical", "entity", "composite")
"""Ledger and recall; records and a language model; members: the rest builds on the same."""
IMPOSSIBLE: set[tuple[str, str]] = set()
"""Cells that cannot be installed, for reasons told in shared/docs/set-up.md."""


@dataclass(frozen=True)
class Cell:
    """One environment of the matrix."""

    python: str
    opm: str
    folder: Path

    @property
    def name(self) -> str:
        """The cell as a person calls it."""
        return f"Python {self.python}, OPM {self.opm}"

    @property
    def interpreter(self) -> Path:
        """Its Python."""
        return self.folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"


def interpreter(version: str) -> str | None:
    """Return an interpreter of this version: the running one, pyenv's, or one on the PATH."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT") or Path("~/.pyenv").expanduser())
    found = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    return str(found[-1]) if found else None


def install(cell: Cell, base: str, wheels: Path, limits: Path) -> subprocess.CompletedProcess[str]:
    """Make the cell's environment anew."""
    uv = os.environ.get("UV") or str(bootstrap.tool("uv"))
    env = {**os.environ, **bootstrap.tool_environment()}
    venv = [uv, "venv", "--quiet", "--clear", f"--python={base}", str(cell.folder / "env")]
    subprocess.run(venv, check=True, env=env, cwd=ROOT)
    ours = [str(path) for path in sorted(wheels.glob("ovos_memory_*.whl")) if "_cli-" not in path.name]
    wanted = [f"ovos-plugin-manager{OPMS[cell.opm]}", "pytest>=8", "hypothesis>=6.100"]
    command = [uv, "pip", "install", "--quiet", f"--python={cell.interpreter}", f"--constraint={limits}"]
    return subprocess.run([*command, *ours, *wanted], capture_output=True, text=True, env=env, cwd=ROOT)


def constraints(opm: str, folder: Path) -> Path:
    """Return versions of all else: those of uv.lock beside OPM 3, those of the oldest OVOS beside OPM 2."""
    if opm == "3.x":
        command = [os.environ.get("UV") or str(bootstrap.tool("uv")), "export", "--quiet", "--locked"]
        command += ["--no-hashes", "--all-packages", "--group=test", "--no-emit-workspace", "--no-annotate"]
        env = {**os.environ, **bootstrap.tool_environment()}
        text = subprocess.run(command, check=True, capture_output=True, text=True, env=env, cwd=ROOT).stdout
    else:
        text = (ROOT / "shared" / "e2e" / "oldest.txt").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("ovos-plugin-manager==")]
    file = folder / f"constraints-{opm}.txt"
    file.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return file


def check(cell: Cell, backends: Sequence[str]) -> bool:
    """Run the self-checks of the backends, which print how each came out; returns whether all passed."""
    names = [f"ovos-memory-plugin-{backend}" for backend in backends]
    command = [str(cell.interpreter), str(ROOT / "shared" / "tools" / "check_installed.py"), *names]
    env = {**os.environ, "HOME": str(cell.folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=env, check=False).returncode == 0


def run(chosen: Sequence[tuple[str, str]], backends: Sequence[str]) -> bool:
    """Check cells one after the other; returns whether all is well."""
    wheels, is_well = build(), True
    with tempfile.TemporaryDirectory(prefix="spread-", ignore_cleanup_errors=True) as text:
        for python, opm in chosen:
            cell = Cell(python, opm, Path(text) / f"{python}-{opm}")
            base = interpreter(python)
            if base is None:
                print(f"{cell.name}: this Python is not on this machine", flush=True)
                continue
            cell.folder.mkdir()
            installed = install(cell, base, wheels, constraints(opm, Path(text)))
            if installed.returncode:
                print(f"{cell.name}: cannot be installed\n{installed.stderr}", flush=True)
                is_well &= (python, opm) in IMPOSSIBLE
                continue
            print(f"{cell.name}: {version(cell)}", flush=True)
            is_well &= check(cell, backends)
    return is_well


def version(cell: Cell) -> str:
    """Return the version of OPM that the cell got."""
    code = "from importlib.metadata import version; print(version('ovos-plugin-manager'))"
    command = [str(cell.interpreter), "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corners", action="store_true", help="two cells and three backends")
    parser.add_argument("--python", choices=PYTHONS, action="append", help="only these")
    parser.add_argument("--opm", choices=OPMS, action="append", help="only these")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="only these")
    given = parser.parse_args(arguments)
    cells = [(python, opm) for python in given.python or PYTHONS for opm in given.opm or OPMS]
    chosen = CORNERS if given.corners else cells
    is_well = run(chosen, given.backend or (IN_CORNERS if given.corners else BACKENDS))
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
