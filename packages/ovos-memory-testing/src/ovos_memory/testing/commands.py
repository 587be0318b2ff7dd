"""A console command in a process of its own, without paying for its imports each time.

A server process imports what the command needs and forks for every call: what runs is a process like any other,
with its own environment, standard streams and exit code.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def run_command(
    function: str,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: str = "",
    preload: Sequence[str] = (),
    timeout_s: float = 120.0,
) -> Ended:
    """Run a command and wait for its end.

    Args:
        function: Where it begins, ``"module:function"``.
        arguments: Those behind the command's name.
        environment: All its variables.
        stdin: What it can read.
        preload: Modules that the server imports once; only the first call in a process decides.
        timeout_s: It is killed after this long.

    Raises:
        TimeoutError: It was killed.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([function.partition(":")[0], *preload])
    with tempfile.TemporaryDirectory() as folder:
        streams = [str(Path(folder, name)) for name in ("in", "out", "err")]
        Path(streams[0]).write_text(stdin, encoding="utf-8")
        job = (function, list(arguments), dict(environment), streams)
        process = context.Process(target=_child, args=job)
        process.start()
        process.join(timeout_s)
        if process.is_alive():
            process.kill()
            process.join()
            raise TimeoutError(f"{function} {' '.join(arguments)}")
        out, err = (Path(name).read_text(encoding="utf-8", errors="replace") for name in streams[1:])
        return Ended(process.exitcode or 0, out, err)


def _child(function: str, arguments: list[str], environment: dict[str, str], streams: list[str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    # A Python reads that variable when it begins, and the server has begun before.
    sys.path[:] = dict.fromkeys([*paths, *sys.path])
    flags = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)
    for descriptor, (name, flag) in enumerate(zip(streams, flags, strict=True)):
        os.dup2(os.open(name, flag, 0o600), descriptor)
    # They stay open: the process ends with them.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    module, _, name = function.partition(":")
    sys.argv = [module, *arguments]
    getattr(importlib.import_module(module), name)()
