"""Two retrievers behind one memory: what each of them finds, and what the fusion modes make of it.

    python demo_composite.py ["a question"]

`lexical` searches by words, `spelling` (spelling_memory.py) by likeness of letters; `recency` keeps turns.
The right exchange is first in neither list, and first in the fused one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OVOS_DEFAULT_LOG_LEVEL", "ERROR")

from demo import TOLD
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole
from spelling_memory import PLUGIN as SPELLING
from spelling_memory import register

from ovos_memory.composite import CompositeMemory

QUESTION = "When does Jonsen check my knee?"
MODES = ["rrf", "weighted", "merge", "priority", "interleave"]


def main() -> None:
    """Tell, ask, compare."""
    question = " ".join(sys.argv[1:]) or QUESTION
    with tempfile.TemporaryDirectory(prefix="ovos-memory-demo-") as folder:
        register(Path(folder))
        sys.path.insert(0, folder)
        memory = compose(folder, "rrf")
        for sentence, reply in TOLD:
            memory.update_history(
                [AgentMessage(MessageRole.USER, sentence), AgentMessage(MessageRole.ASSISTANT, reply)],
                "kitchen",
            )

        print(f"{question}\n")
        for member in memory.members:
            if member.is_retriever:
                show(f"{member.name} alone", member.memory.search(question, "kitchen", 3))
        for mode in MODES:
            show(f"fusion: {mode}", compose(folder, mode).search(question, "kitchen", 3))
        print("the context, in order:")
        for message in memory.build_conversation_context(question, "kitchen"):
            print(f"  {message.role.value:<10} {message.content.splitlines()[0]}")
        memory.close()


def compose(folder: str, fusion: str) -> CompositeMemory:
    """Return a composite whose members keep their files in ``folder``."""
    return CompositeMemory(
        {
            "members": [
                {"module": "ovos-memory-plugin-recency", "name": "recency", "config": {"max_history": 4}},
                {
                    "module": "ovos-memory-plugin-lexical",
                    "name": "lexical",
                    "config": {"db_path": f"{folder}/lexical.db"},
                },
                {"module": SPELLING, "name": "spelling", "config": {"db_path": f"{folder}/spelling.db"}},
            ],
            "fusion": fusion,
            "max_num_results": 3,
            "system_prompt": "You are Rosie, the voice of a family's kitchen.",
        }
    )


def show(heading: str, hits: list) -> None:
    """Print hits, best first."""
    print(heading)
    for place, hit in enumerate(hits, start=1):
        print(f"  {place}. {hit.content.splitlines()[0].removeprefix('Q: '):<58} {hit.score:.4f}")
    print()


if __name__ == "__main__":
    main()
