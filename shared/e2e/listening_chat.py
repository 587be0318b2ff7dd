"""A chat engine that writes down what it gets and whose timing a test controls; found by entry point.

Config: `log`, a file that gets one JSON line of messages per call.  It answers in sentences.  Asked to "count", it
says one number and goes on only when the file `<log>.go` is there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, ChatEngine, MessageRole


class ListeningChat(ChatEngine):
    """Says what it heard, in two sentences."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        self.log = Path(self.config["log"])

    def continue_chat(self, messages: list[AgentMessage], *_: Any, **__: Any) -> AgentMessage:
        return AgentMessage(MessageRole.ASSISTANT, " ".join(self.answer(messages)))

    def stream_tokens(self, messages: list[AgentMessage], *_: Any, **__: Any) -> Iterator[str]:
        yield from self.answer(messages)

    def stream_sentences(self, messages: list[AgentMessage], *_: Any, **__: Any) -> Iterator[str]:
        yield from self.answer(messages)

    def answer(self, messages: list[AgentMessage]) -> Iterator[str]:
        got = [[message.role.value, message.content] for message in messages]
        with self.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(got) + "\n")
        asked = messages[-1].content
        if "count" not in asked:
            yield f"You said {asked}."
            yield "I will remember."
            return
        yield "One."
        ends_at = time.monotonic() + 60
        while not self.log.with_name(f"{self.log.name}.go").exists() and time.monotonic() < ends_at:
            time.sleep(0.02)
        yield "Two."
        yield "Three."
