"""A memory backend of your own, complete: it finds what is spelt differently.

Speech recognition writes names as it likes: "Jansen" today, "Jonsen" tomorrow. A search by words finds
nothing then; this one compares groups of three letters, for those words of a question that nobody has used
before. Ledger, history, rendering and injection come from the base; a backend fills three hooks. It looks
at every document, which is fine for some thousands of them.

A package of its own would register it in its pyproject.toml:

    [project.entry-points."opm.agents.memory"]
    ovos-memory-example-spelling = "spelling_memory:SpellingMemory"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.paths import default_path, expand_path
from ovos_memory.core.retrieval import BaseRetrievalMemory
from ovos_memory.core.sqlite import open_database
from ovos_memory.core.types import Document, MemoryHit

PLUGIN = "ovos-memory-example-spelling"
ALIKE = 0.4  # words that share this much of their letter groups may be the same


class SpellingMemory(BaseRetrievalMemory):
    """Recalls exchanges with words that look like those of the question."""

    plugin_name = PLUGIN

    @classmethod
    def settings_model(cls):
        from ovos_memory.core.settings import RecallSettings

        class SpellingSettings(RecallSettings):
            db_path: str | None = None

        return SpellingSettings

    def _ledger_opener(self) -> Callable[[], SqliteLedger]:
        given = self.settings.db_path
        path = (
            expand_path(given, plugin=PLUGIN, key="db_path") if given else default_path("spelling_memory.db")
        )
        return lambda: SqliteLedger(open_database(path, plugin=PLUGIN))

    def _index(self, documents: list[Document]) -> None:
        """Nothing to do: the ledger itself is searched."""

    def _query(self, text: str, session_id: str | None, top_k: int) -> list[MemoryHit]:
        documents = list(self.journal.documents(session_id))
        words = [set(split(document.content)) for document in documents]
        unheard = [word for word in split(text) if not any(word in used for used in words)]
        scores = [sum(best_likeness(word, used) for word in unheard) for used in words]
        ranked = sorted(zip(scores, documents, strict=True), key=lambda pair: (-pair[0], -pair[1].row))
        return [
            MemoryHit(
                document.content,
                source=document.id,
                score=score,
                metadata={"session_id": document.session_id, "created_at": document.created_at},
            )
            for score, document in ranked[:top_k]
            if score > 0
        ]


def split(text: str) -> list[str]:
    """Return the words that are long enough to be spelt differently."""
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) >= 5]


def best_likeness(word: str, others: set[str]) -> float:
    """Return how much the most similar word looks like this one, 0 to 1; 0 when none is similar enough."""
    best = max((likeness(letter_groups(word), letter_groups(other)) for other in others), default=0.0)
    return best if best >= ALIKE else 0.0


def letter_groups(word: str) -> set[str]:
    """Return the groups of three letters in a word, its beginning and end marked."""
    padded = f"  {word} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)}


def likeness(one: set[str], other: set[str]) -> float:
    """Return the share of common groups, 0 to 1 (Dice's coefficient)."""
    return 2 * len(one & other) / (len(one) + len(other))


def register(folder: Path) -> None:
    """Write into ``folder`` what pip would write when it installs a package with this entry point.

    A process that has the folder, and the one of this file, on its path finds the backend by name like
    any other.
    """
    info = folder / "ovos_memory_example_spelling-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PLUGIN}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        f"[opm.agents.memory]\n{PLUGIN} = spelling_memory:SpellingMemory\n", encoding="utf-8"
    )
