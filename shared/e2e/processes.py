"""Starting, awaiting and ending the processes that a test needs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_until(claim: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    """Return when the claim is true.

    Raises:
        AssertionError: It was not within the time.
    """
    ends_at = time.monotonic() + timeout_s
    while not claim():
        assert time.monotonic() < ends_at, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.05)


def listens(port: int) -> bool:
    """Return whether somebody accepts connections on a loopback port."""
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


def responds(url: str) -> bool:
    """Return whether a page is there."""
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextlib.contextmanager
def running(
    command: Sequence[str | Path], env: dict[str, str] | None, log: Path, ready: Callable[[], bool]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process until the block ends; its output goes to the end of `log`, which a failure shows."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*map(str, command)], env=env, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait_until(lambda: ready() or process.poll() is not None, f"{log.stem} is ready", 120)
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")[-4000:]
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # An older ovos-core leaves the helpers behind that its intent parser forks.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def model_server(model: Path, log: Path) -> Iterator[str]:
    """Serve a GGUF model; yields the base of its OpenAI-compatible API."""
    port = free_port()
    command = f"-m llama_cpp.server --model {model} --host 127.0.0.1 --port {port} --n_ctx 2048"
    command += " --model_alias llama3.2"  # as the set-up page names it; doctor asks whether the server has it
    threads = "--n_threads 1 --n_threads_batch 1 --interrupt_requests false"
    url = f"http://127.0.0.1:{port}/v1"
    with running(
        [sys.executable, *command.split(), *threads.split()], None, log, lambda: responds(f"{url}/models")
    ):
        yield url
