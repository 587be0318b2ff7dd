"""Recall by meaning and by words behind one memory: what each finds, and what the fusion modes make of it.

    python demo_composite.py ["a question"]

`local-rag` searches by meaning, `lexical` by words. The right exchange is first in neither list, and first in the
list that is fused by rank. Without an embeddings model a stand-in embeds (demo_embedder.py).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OVOS_DEFAULT_LOG_LEVEL", "ERROR")

import demo_embedder
from demo import TOLD
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.composite import CompositeMemory

QUESTION = "When is my hospital appointment, for the knee?"
MODES = ["rrf", "weighted", "merge", "priority", "interleave"]


def main() -> None:
    """Tell, ask, compare."""
    question = " ".join(sys.argv[1:]) or QUESTION
    with tempfile.TemporaryDirectory(prefix="ovos-memory-demo-") as folder:
        demo_embedder.register(Path(folder))
        sys.path.insert(0, folder)
        memory = compose(folder, "rrf")
        for sentence, reply in TOLD:
            memory.update_history(
                [AgentMessage(MessageRole.USER, sentence), AgentMessage(MessageRole.ASSISTANT, reply)],
                "kitchen",
            )

        print(f"{question}\n\nembedded by {demo_embedder.choose()[0]}\n")
        for member in memory.members:
            show(f"{member.name} alone", member.memory.search(question, "kitchen", 3))
        for mode in MODES:
            show(f"fusion: {mode}", compose(folder, mode).search(question, "kitchen", 3))
        print("the context, in order:")
        for message in memory.build_conversation_context(question, "kitchen"):
            print(f"  {message.role.value:<10} {message.content.splitlines()[0]}")
        memory.close()


def compose(folder: str, fusion: str) -> CompositeMemory:
    """Return a composite whose members keep their files in ``folder``."""
    by_meaning = {
        **demo_embedder.choose()[1],
        "embeddings_db_config": {"path": f"{folder}/vectors"},
        "db_path": f"{folder}/meaning.db",
        "max_history": 4,
        "timeout_s": 60,  # it is asked at once what it was told just now, and waits for the model
    }
    by_words = {"db_path": f"{folder}/words.db"}
    return CompositeMemory(
        {
            "members": [
                {"module": "ovos-memory-plugin-local-rag", "name": "meaning", "config": by_meaning},
                {"module": "ovos-memory-plugin-lexical", "name": "words", "config": by_words},
            ],
            "fusion": fusion,
            "member_timeout_s": 90,
            "max_num_results": 3,
            "system_prompt": "You are Rosie, the voice of a family's kitchen.",
        }
    )


def show(heading: str, hits: list) -> None:
    """Print hits, best first."""
    print(heading)
    for place, hit in enumerate(hits, start=1):
        print(f"  {place}. {hit.content.splitlines()[0].removeprefix('Q: '):<64} {hit.score:.4f}")
    print()


if __name__ == "__main__":
    main()
