"""Hold every memory plugin of the family that an environment has to the contract, as an outside author would.

``python check_installed.py`` is run by the environment in question, which needs ovos-memory-testing. Settings come
from ``selfcheck/<entry point>.json`` beside this file, where there is one; stand-ins take the place of models.
With ``--needs`` it checks nothing and prints the distributions to install first, one a line: the kit, and the members
of these settings.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

GROUP = "opm.agents.memory"
KIT = "ovos-memory-testing"
SETTINGS = Path(__file__).parent / "selfcheck"
TIMEOUT_S = 900.0


def plugins() -> list[str]:
    """Return the entry points that the family's distributions bring, sorted."""
    points = importlib.metadata.entry_points(group=GROUP)
    return sorted({point.name for point in points if point.value.startswith("ovos_memory.")})


def needs(names: Iterable[str]) -> list[str]:
    """Return the distributions that the self-checks of plugins need beside the plugins, sorted."""
    files = [SETTINGS / f"{name}.json" for name in names]
    settings = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]
    return sorted({KIT, *(member["module"] for each in settings for member in each.get("members", []))})


def command(plugin: str) -> list[str]:
    """Return the self-check of one plugin as its README tells it."""
    words = [sys.executable, "-m", "pytest", "--pyargs", "ovos_memory.testing.selfcheck"]
    settings = SETTINGS / f"{plugin}.json"
    words += ["--memory-plugin", plugin]
    words += ["--memory-config", str(settings)] if settings.is_file() else []
    return [*words, "-c", os.devnull, "-p", "no:cacheprovider", "-q"]


def check(plugin: str) -> tuple[bool, str]:
    """Run one self-check in a folder of its own, with a home of its own.

    Returns:
        Whether every rule was kept, and what pytest printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        homes = {f"XDG_{name}_HOME": f"{folder}/{name}" for name in ("CONFIG", "DATA", "STATE")}
        done = subprocess.run(
            command(plugin),
            cwd=folder,
            env={**os.environ, **homes},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    is_kept = done.returncode == 0 and re.search(r"^\d+ passed", done.stdout, re.MULTILINE) is not None
    return is_kept, done.stdout + done.stderr


def check_all(names: Iterable[str]) -> bool:
    """Check plugins, as many at a time as there are processors, and print how each came out."""
    names = list(names)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(names, pool.map(check, names), strict=True))
    for name, (is_kept, printed) in results.items():
        print(f"{name}: {printed.strip().splitlines()[-1]}" if is_kept else f"{name}:\n{printed}")
    return bool(results) and all(is_kept for is_kept, _ in results.values())


if __name__ == "__main__":
    if sys.argv[1:] == ["--needs"]:
        print("\n".join(needs(plugins())))
        sys.exit()
    chosen = sys.argv[1:] or plugins()
    print(f"self-check of {', '.join(chosen) or 'nothing, for no memory plugin is installed'}", flush=True)
    sys.exit(not check_all(chosen))
