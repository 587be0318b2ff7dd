"""Questions that wait for their turn behind a probe of a model that keeps failing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import ModelUnavailable
from ovos_memory.core.llm.breaker import OPEN_AFTER
from ovos_memory.core.llm.engine import EngineChat
from ovos_memory.core.llm.http import Answer
from ovos_memory.core.llm.server import ServerChat

PAUSES_S = (0.0, 0.0, 0.0, 3600.0)
SOON_S = 10.0
"""How long a test waits for what should happen at once."""
WAITING = 5


class Probed:
    """Lets the first request, the probe, wait; ``outcome`` says how every one ends."""

    def __init__(self, outcome: Callable[[], Any]) -> None:
        self.requests = 0
        self.outcome = outcome
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.requests += 1
        if self.requests == 1:
            self.reached.set()
            assert self.go_on.wait(SOON_S)
        return self.outcome()


def closed_port() -> Answer:
    raise ModelUnavailable("no answer")


def broken_engine() -> Any:
    raise RuntimeError("out of memory")


def server(probed: Probed) -> ServerChat:
    chat = ServerChat("http://127.0.0.1:9/v1", model="m", pauses_s=PAUSES_S)
    chat._http._send = probed  # type: ignore[method-assign]
    return chat


def engine(probed: Probed) -> EngineChat:
    class Engine:
        def continue_chat(self, messages: list[AgentMessage], session_id: str = "") -> Any:
            return probed()

    return EngineChat(Engine, label="engine", pauses_s=PAUSES_S)


FAILURES: dict[str, tuple[Callable[[Probed], Any], Callable[[], Any]]] = {
    "server that is away": (server, closed_port),
    "server that answers with a failure": (server, lambda: Answer(500, "text/plain", b"")),
    "server that answers with a web page": (server, lambda: Answer(200, "text/html", b"<html>")),
    "engine that raises": (engine, broken_engine),
    "engine that returns nothing": (engine, lambda: None),
}


class Asking:
    """A probe under way, and questions that came before anybody knew how it ends."""

    def __init__(self, chat: Any, probed: Probed, timeout_s: float = SOON_S) -> None:
        self.outcomes: list[Any] = []
        self._chat, self._probed, self._timeout_s = chat, probed, timeout_s
        for _ in range(OPEN_AFTER):
            chat.breaker.failed()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(1 + WAITING)]
        self._threads[0].start()
        assert probed.reached.wait(SOON_S)
        for thread in self._threads[1:]:
            self._start_and_let_pass(thread)

    def _start_and_let_pass(self, thread: threading.Thread) -> None:
        """Start a thread and return when it has been told that no pause lasts."""
        passed, check = threading.Event(), self._chat.breaker.check

        def checked() -> None:
            check()
            passed.set()

        self._chat.breaker.check = checked
        thread.start()
        assert passed.wait(SOON_S)
        self._chat.breaker.check = check

    def _ask(self) -> None:
        try:
            self.outcomes.append(self._chat.ask("question", max_tokens=8, timeout_s=self._timeout_s).text)
        except ModelUnavailable as error:
            self.outcomes.append(error)

    def end(self) -> None:
        self._probed.go_on.set()
        for thread in self._threads:
            thread.join(SOON_S)


@pytest.fixture(params=FAILURES.values(), ids=FAILURES.keys())
def failing(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Probed]]:
    make, outcome = request.param
    probed = Probed(outcome)
    yield make(probed), probed
    probed.go_on.set()


def test_questions_that_waited_behind_a_probe_that_failed_are_not_asked(failing: tuple[Any, Probed]) -> None:
    chat, probed = failing
    asking = Asking(chat, probed)

    asking.end()

    assert probed.requests == 1
    assert len(asking.outcomes) == 1 + WAITING
    assert sum("paused for" in str(outcome) for outcome in asking.outcomes) == WAITING
    assert chat.breaker.failures == OPEN_AFTER + 1, "what was not asked counts as no failure"


def test_questions_that_waited_behind_a_probe_that_worked_are_asked() -> None:
    probed = Probed(lambda: AgentMessage(role=MessageRole.ASSISTANT, content="yes"))
    chat = engine(probed)
    asking = Asking(chat, probed)

    asking.end()

    assert asking.outcomes == ["yes"] * (1 + WAITING)
    assert probed.requests == 1 + WAITING


def test_a_question_whose_turn_does_not_come_in_time_is_not_asked_and_counts_as_no_failure() -> None:
    probed = Probed(lambda: None)
    chat = engine(probed)

    def ask_first() -> None:
        with pytest.raises(ModelUnavailable):
            ask(chat, SOON_S)

    first = threading.Thread(target=ask_first, daemon=True)
    first.start()
    assert probed.reached.wait(SOON_S)

    with pytest.raises(ModelUnavailable, match="an earlier question has still not been answered"):
        ask(chat, 0.05)

    assert (probed.requests, chat.breaker.failures) == (1, 0)
    probed.go_on.set()
    first.join(SOON_S)


def ask(chat: Any, timeout_s: float) -> Any:
    return chat.ask("question", max_tokens=8, timeout_s=timeout_s)
