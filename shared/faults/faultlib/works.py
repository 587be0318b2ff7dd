"""What the victims are doing when they are killed; ``step`` tells that something was accepted or is complete."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faultlib.kinds import make
from faultlib.victims import Step

from ovos_memory.core.llm.reply import Reply
from ovos_memory.testing.messages import pair

EXCHANGES = 12
SECRET = "xylophonist"


def write(step: Step, kind: str, first: int, folder: str) -> None:
    """Record numbered exchanges."""
    memory = make(kind, folder)
    for number in range(first, first + EXCHANGES):
        memory.update_history(pair(f"question {number}", f"answer {number}"), "s")
        step(number)


def forget(step: Step, kind: str, folder: str) -> None:
    """Forget what names the secret, which vacuums, and record in between."""
    memory = make(kind, folder)
    memory.forget(query=SECRET)
    step(1)
    memory.update_history(pair("question 1000", "answer"), "s")
    step(1000)


def index(step: Step, kind: str, folder: str) -> None:
    """Build everything that is derived anew."""
    make(kind, folder).reindex()
    step(1)


def take_over(step: Step, kind: str, changes: Mapping[str, Any], folder: str) -> None:
    """Open what version 1 left, and record into it."""
    memory = make(kind, folder, changes)
    memory.get_history("s")
    memory.update_history(pair("question 1000", "answer"), "s")
    step(1000)


class ReadyModel:
    """A language model that answers at once, and says what it was told: facts for facts, a summary else."""

    def ask(self, prompt: str, **options: Any) -> Reply:
        """Return the colours that the prompt names as facts, or all its numbers as a summary."""
        if options.get("schema") is not None or "facts" in prompt.lower():
            said = re.findall(r"I own the boat number (\d+)", prompt)
            return Reply(json.dumps([f"Owns the boat number {number}" for number in dict.fromkeys(said)]))
        return Reply("The user spoke of the numbers " + ", ".join(dict.fromkeys(re.findall(r"\d+", prompt))) + ".")

    def ready_in_s(self) -> float:
        """Return that it is."""
        return 0.0

    def health(self) -> dict[str, Any]:
        """Return nothing of note."""
        return {}


def with_model(kind: str, folder: str | Path) -> Any:
    """Return a memory whose model answers at once, and summarises often."""
    changes = {"summarize_every": 2, "recent_window": 1} if kind.startswith("longterm") else {}
    return make(kind, folder, changes, chat=ReadyModel())


def learn(step: Step, kind: str, first: int, folder: str) -> None:
    """Record while the model's worker is busy with what was recorded."""
    memory = with_model(kind, folder)
    for number in range(first, first + EXCHANGES):
        memory.update_history(pair(f"question {number}: I own the boat number {number}", "noted"), "s")
        step(number)
    memory.workplace.worker.drain(20)

