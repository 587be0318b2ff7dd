"""What importing a plugin adds to OPM and pydantic, which every host has loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points

from harness import Bench, Row, limit, median

_MEASURE = """
import gc, json, sys, time
import ovos_plugin_manager.templates.agents, pydantic
gc.collect(); gc.freeze()
start = time.thread_time()  # threads that OPM has started go on meanwhile
__import__(sys.argv[1])
print(json.dumps((time.thread_time() - start) * 1e3))
"""


def plugins(bench: Bench) -> list[Row]:
    """Import each plugin of ours in fresh processes, its byte code compiled; processor time."""
    rows = []
    modules = {entry.module for entry in entry_points(group="opm.agents.memory")}
    for module in sorted(module for module in modules if module.startswith("ovos_memory.")):
        _import(module, bench)
        ms = median([_import(module, bench) for _ in range(bench.scaled(11, 3))])
        rows.append(limit(f"import {module}", ms, 30, "ms"))
    return rows


def _import(module: str, bench: Bench) -> float:
    own = {f"XDG_{name}_HOME": str(bench.work / "home") for name in ("CONFIG", "DATA", "STATE")}
    environ = {**os.environ, **own, "PYTHONPYCACHEPREFIX": str(bench.work / "byte-code")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", _MEASURE, module]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))
