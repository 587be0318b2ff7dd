"""A memory plugin that is another one, and writes down how long each call from outside took; found by entry point.

Config: `module`, `config`: the memory; `log`: a file that gets a line "<operation> <milliseconds>" per call.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ovos_plugin_manager.agents import load_memory_plugin
from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage


class TimedMemory(AgentContextManager):
    """Measures in the host's own thread, which is the host's event loop where it has one."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        self.memory = load_memory_plugin(self.config["module"])(config=self.config["config"])

    def get_history(self, session_id: str) -> list[AgentMessage]:
        return self.timed("get_history", session_id)

    def update_history(self, new_messages: list[AgentMessage], session_id: str) -> None:
        self.timed("update_history", new_messages, session_id)

    def build_conversation_context(self, utterance: str, session_id: str) -> list[AgentMessage]:
        return self.timed("build_conversation_context", utterance, session_id)

    def timed(self, operation: str, *arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            return getattr(self.memory, operation)(*arguments)
        finally:
            took_ms = 1000 * (time.perf_counter() - started)
            with Path(self.config["log"]).open("a", encoding="utf-8") as log:
                log.write(f"{operation} {took_ms:.2f}\n")
