"""Clocks, embedders, vector stores and language models that misbehave in every way they can."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from faultlib.account import Account
from faultlib.kinds import NUMBER, PERSISTENT, make, numbers, opened, wait_until
from faultlib.works import named, word

from ovos_memory.core.llm.server import ServerChat
from ovos_memory.testing.fakes import embedder as embedders
from ovos_memory.testing.fakes import server as servers
from ovos_memory.testing.fakes.embedder import FakeEmbedder
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.fakes.store import FakeStore
from ovos_memory.testing.messages import pair
from ovos_memory.testing.surroundings import SteppingClock

pytestmark = pytest.mark.faults
TURN_S = 3.0
MODES = [
    mode for mode in get_args(embedders.Mode) if mode not in ("good", "tuple", "float32", "array", "hangs")
]
SERVER_MODES = [mode for mode in get_args(servers.Mode) if mode != "truncated"]
"""An answer that is cut off is an answer: what is whole in it counts (cases C30), and the exchange has been asked about."""
FAILURES = ["locked", "raises"]


# ---------------------------------------------------------------------- clocks
@pytest.mark.parametrize("kind", PERSISTENT)
@pytest.mark.parametrize("times", [[2e9, 1e9, 1.5e9, 0.0, 5.0], [1e9, -1e9, 4e12, -4e12, 1e9]])
def test_a_clock_that_goes_backwards_loses_and_reorders_nothing(
    kind: str, times: list[float], account: Account, tmp_path: Path
) -> None:
    what, clock = "a clock that goes backwards, or mad", SteppingClock()
    for number, now in enumerate(times):
        clock.now = now
        with account.fault(what), opened(kind, tmp_path, clock=clock) as memory:
            memory.update_history(pair(f"question {number}", "answer"), "s")
            assert memory.build_conversation_context("question", "s")[-1].content.endswith("question")
    with opened(kind, tmp_path) as memory:
        for store, found in numbers(memory).items():
            account.kept(what, list(range(len(times))), found, where=store)


# ---------------------------------------------------------------------- embedders and vector stores
@pytest.mark.parametrize("kind", ["local-rag", "local-rag-store"])
@pytest.mark.parametrize("mode", MODES)
def test_an_embedder_that_misbehaves_loses_no_exchange(
    kind: str, mode: Any, account: Account, tmp_path: Path
) -> None:
    what, embedder = "an embedder that raises or returns nonsense", FakeEmbedder()
    memory = make(kind, tmp_path, embedder=embedder)
    memory.update_history(pair("question 0", "answer"), "s")
    embedder.mode = mode
    with account.fault(what):
        for number in range(1, 6):
            memory.update_history(pair(f"question {number}", "answer"), "s")
            assert memory.build_conversation_context("question", "s")[-1].content.endswith("question")
            assert all(math.isfinite(hit.score) for hit in memory.search("question", "s", 50))
        embedder.mode = "good"
        memory.close()
        account.kept(what, list(range(6)), numbers(memory)[""])
        memory.reindex()
        assert found_by(memory) == set(range(6))
    memory.close()


@pytest.mark.parametrize("failure", FAILURES)
def test_a_vector_store_that_fails_loses_no_exchange(failure: Any, account: Account, tmp_path: Path) -> None:
    what, store = "a vector store that raises", FakeStore({"path": str(tmp_path)})
    memory = make("local-rag-store", tmp_path, embeddings_db=store)
    memory.update_history(pair("question 0", "answer"), "s")
    store.failure = failure
    with account.fault(what):
        for number in range(1, 6):
            memory.update_history(pair(f"question {number}", "answer"), "s")
            assert memory.build_conversation_context("question", "s")[-1].content.endswith("question")
        assert found_by(memory) == set(range(6)), "the ledger's own vectors answer"
        store.failure = "none"
        account.kept(what, list(range(6)), numbers(memory)[""])
        assert found_by(memory) == set(range(6))
    memory.close()


def found_by(memory: Any) -> set[int]:
    found = (NUMBER.search(hit.content) for hit in memory.search("question", "s", 50))
    return {int(match[1]) for match in found if match}


# ---------------------------------------------------------------------- language models
@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as fake:
        yield fake


def likes(payload: dict[str, Any]) -> str:
    """Answer what the user likes, as facts or as a summary."""
    words = [word(number) for number in dict.fromkeys(named(str(payload)))]
    if "response_format" in payload:
        return "[" + ", ".join(f'"Likes {each}"' for each in words) + "]"
    return f"The user likes {', '.join(words)}."


@pytest.mark.parametrize("kind", ["entity-json", "longterm-sqlite"])
@pytest.mark.parametrize("mode", [*SERVER_MODES, "closed port", "no such host", "hangs up"])
def test_an_endpoint_that_misbehaves_loses_no_exchange(
    kind: str, mode: Any, account: Account, server: FakeServer, tmp_path: Path
) -> None:
    """While it does, turns are quick; when it has recovered, nothing is missing."""
    what = "a language model's server that misbehaves"
    with account.fault(what), _silent() as silent:
        odd = {"closed port": "http://127.0.0.1:9/v1", "no such host": "http://no.such.host.invalid/v1"}
        url = odd.get(mode) or (silent if mode == "hangs up" else server.url)
        if mode in get_args(servers.Mode):
            server.mode = mode
            server.replies = [likes]
        chat = ServerChat(url, model="m", pauses_s=(0.05, 0.1))
        memory = make(kind, tmp_path, {"request_timeout": 0.5}, chat=chat)
        for number in range(4):
            began = time.monotonic()
            memory.update_history(pair(f"question {number}: I like {word(number)}", "noted"), "s")
            context = memory.build_conversation_context("hello", "s")
            assert time.monotonic() - began < TURN_S
            assert context[-1].content == "hello"
        began = time.monotonic()
        memory.close()
        assert time.monotonic() - began < 7.0
        del memory
        with opened(
            kind, tmp_path, chat=ServerChat(server.url, model="m", pauses_s=(0.05, 0.1)), clock=later
        ) as after:
            server.mode, server.replies = "good", [likes]
            after.reindex()
            after.workplace.worker.wake()
            known: list[int] = []

            def is_complete() -> bool:
                known[:] = sorted(known_to(after))
                return known == [0, 1, 2, 3]

            wait_until(is_complete, timeout_s=15)
            account.kept(what, [0, 1, 2, 3], known)


def later() -> float:
    return time.time() + 3_600.0


def known_to(memory: Any) -> set[int]:
    made = [fact.text for fact in memory.facts("s")] if memory.kind == "entity" else [memory.summary("s")]
    waiting = [record.text for record in memory.records(session_id="s")]
    return {number for text in (*made, *waiting) for number in named(text)}


class _silent:
    """A port that accepts and hangs up."""

    def __enter__(self) -> str:
        import threading

        self._socket = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                try:
                    self._socket.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __exit__(self, *reason: object) -> None:
        self._socket.close()
