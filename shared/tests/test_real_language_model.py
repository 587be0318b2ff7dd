"""Facts and summaries through a real server and back: a small model on llama-cpp-python's server.

``nox -s models`` makes the model and sets ``OVOS_MEMORY_TEST_MODELS`` to its folder.  A model of this size
answers too poorly for its words to be judged: what is tested is that work flows, and that nothing is stored
that nobody said.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from ovos_memory.entity import EntityMemory
from ovos_memory.longterm import LongTermMemory
from ovos_memory.testing.messages import assistant, user

pytestmark = pytest.mark.models

SAID = [
    ("my name is Maria Lopez and I live in Oslo", "Nice to meet you, Maria."),
    ("I am allergic to peanuts", "I will remember that."),
]


@pytest.fixture(scope="module")
def api_url():
    model = Path(os.environ["OVOS_MEMORY_TEST_MODELS"]) / "smollm2-135m-instruct.gguf"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = f"-m llama_cpp.server --model {model} --host 127.0.0.1 --port {port} --n_ctx 2048"
    threads = "--n_threads 1 --n_threads_batch 1 --interrupt_requests false"
    server = subprocess.Popen([sys.executable, *command.split(), *threads.split()])
    try:
        url = f"http://127.0.0.1:{port}/v1"
        ends_at = time.monotonic() + 120
        while not answers(f"{url}/models"):
            assert server.poll() is None and time.monotonic() < ends_at, "the server did not start"
            time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait(20)


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def test_facts_flow_through_a_real_server(api_url, tmp_path):
    memory = EntityMemory({"db_path": str(tmp_path / "f.json"), "api_url": api_url, "request_timeout": 60})
    for question, answer in SAID:
        memory.update_history([user(question), assistant(answer)], "s")

    assert memory.workplace.worker.drain(240)

    health = memory.health()
    assert (health["model"]["form"], health["work"]["parked"]) == ("json_object", 0)
    assert health["model"]["model"].endswith("smollm2-135m-instruct.gguf")
    words = {word for question, _ in SAID for word in question.lower().split()} | {"name", "name:"}
    for fact in memory.facts("s"):
        assert words & set(fact.text.lower().split()), fact.text


def test_a_summary_flows_through_a_real_server(api_url, tmp_path):
    settings = {"db_path": str(tmp_path / "s.json"), "api_url": api_url, "request_timeout": 60}
    memory = LongTermMemory({**settings, "summarize_every": 2, "max_summary_tokens": 64})
    for question, answer in SAID:
        memory.update_history([user(question), assistant(answer)], "s")

    memory.workplace.worker.drain(60)

    written, rejected = memory.health()["summaries"].values()
    assert written + rejected >= 1
    assert len(memory.summary("s")) <= 256
    assert bool(memory.summary("s")) == bool(written)
    assert len(memory.get_history("s")) == 4
