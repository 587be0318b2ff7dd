"""A memory plugin that is another one, and writes down how long each call from outside took; found by entry point.

Config: `module`, `config`: the memory; `log`: a file that gets a line "<operation> <milliseconds>" per call.  Each call
is followed by a bare durable commit, "control": what the machine itself takes just then.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from ovos_plugin_manager.agents import load_memory_plugin
from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage


class TimedMemory(AgentContextManager):
    """Measures in the host's own thread, which is the host's event loop where it has one."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        self.bare: sqlite3.Connection | None = None
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
            called = time.perf_counter()
            self.commit()
            took = {operation: called - started, "control": time.perf_counter() - called}
            with Path(self.config["log"]).open("a", encoding="utf-8") as log:
                log.writelines(f"{name} {1000 * seconds:.2f}\n" for name, seconds in took.items())

    def commit(self) -> None:
        if self.bare is None:
            self.bare = sqlite3.connect(self.config["log"] + ".db", isolation_level=None)
            self.bare.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE bare(x)")
        self.bare.execute("INSERT INTO bare VALUES (1)")
