"""The client of a chat plugin that runs in this process: no server, no port."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import ModelError, ModelUnavailable
from ovos_memory.core.llm.breaker import PAUSES_S, Breaker
from ovos_memory.core.llm.deadline import Deadline, OneAtATime
from ovos_memory.core.llm.reply import Reply


class Engine(Protocol):
    """The part of OPM's ``ChatEngine`` that is used."""

    def continue_chat(self, messages: list[AgentMessage], session_id: str = ...) -> Any:
        """Return the answer as a message."""


class EngineChat:
    """Asks a chat engine one question at a time; safe from any thread.

    Args:
        load: Returns the engine; called at the first question, on the thread that asks.
        label: What it is, for messages.
        pauses_s: See :class:`~ovos_memory.core.llm.breaker.Breaker`.
    """

    def __init__(
        self,
        load: Callable[[], Engine],
        *,
        label: str,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self.label = label
        self.breaker = Breaker(label, pauses_s=pauses_s)
        self._load = load
        self._engine: Engine | None = None
        self._line: OneAtATime[Any] = OneAtATime(label)

    def ready_in_s(self) -> float:
        """Return the seconds until a question may be asked; 0: now."""
        return self.breaker.ready_in_s()

    def health(self) -> dict[str, Any]:
        """Return how the engine is doing."""
        return {"engine": self.label, "loaded": self._engine is not None, **self.breaker.health()}

    def ask(
        self,
        prompt: str,
        *,
        max_tokens: int,
        timeout_s: float,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
    ) -> Reply:
        """Ask one question and return the answer.

        Length, temperature and output form are the engine's own configuration: OPM's contract has no place
        for them. A model that takes longer than ``timeout_s`` to load goes on loading, and is ready for a
        later question.

        Raises:
            ModelUnavailable: There is no such engine, it raised, or it did not come back in time.
        """
        deadline = Deadline(timeout_s)
        with self.breaker.turn(deadline):
            try:
                message = self._line.run(lambda: self._answer(prompt), deadline)
            except ModelError:
                self.breaker.failed()
                raise
            except Exception as error:
                self.breaker.failed()
                # Not quoted and not chained: a foreign exception may hold the prompt, and with it what people
                # said.
                raise ModelUnavailable(f"{self.label}: raised {type(error).__name__}") from None
            content = getattr(message, "content", message)
            if content is None or not isinstance(content, (str, list)):
                self.breaker.failed()
                raise ModelUnavailable(
                    f"{self.label}: returned {type(content).__name__} instead of a message"
                )
            self.breaker.succeeded()
            return Reply.read(content)

    def _answer(self, prompt: str) -> Any:
        if self._engine is None:
            self._engine = self._load()
        question = AgentMessage(role=MessageRole.USER, content=prompt)
        return self._engine.continue_chat([question], session_id="ovos-memory")
