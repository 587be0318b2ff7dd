"""The rules that hold for every memory, on the light stack and on a store without a library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.testing.contract import MemoryContract
from ovos_memory.testing.fakes.embedder import FakeEmbedder
from ovos_memory.testing.fakes.store import FakeStore

NOTHING_IN_COMMON = 0.001
"""A text without a word of the query is no hit to the rules; to vectors alone everything is one, far away."""


def light(config: Mapping[str, Any] | None = None) -> LocalRAGMemory:
    return LocalRAGMemory(config, embedder=FakeEmbedder({"dimension": 4096}))


def stored(config: Mapping[str, Any] | None = None) -> LocalRAGMemory:
    return LocalRAGMemory(
        config,
        embedder=FakeEmbedder({"dimension": 4096}),
        embeddings_db=FakeStore({"path": (config or {})["db_path"]}),
    )


def settings_model() -> Any:
    return LocalRAGMemory.settings_model()


class TestLightStack(MemoryContract):
    factory = light
    plugin = "ovos-memory-plugin-local-rag"
    module = "ovos_memory.local_rag"
    config: ClassVar = {"embeddings_db_plugin": None, "retrieval": {"min_score": NOTHING_IN_COMMON}}
    retrieves = scopes = thresholds = stores_texts = persistent = reports_health = manages = True
    window_chars_key = "max_history_chars"
    path_key = "db_path"
    store_format = "sqlite"
    settings_model = settings_model

    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": str(folder / "ledger.db")}


class TestStore(MemoryContract):
    factory = stored
    plugin = "ovos-memory-plugin-local-rag"
    config: ClassVar = {"retrieval": {"min_score": NOTHING_IN_COMMON}}
    module = "ovos_memory.local_rag"
    retrieves = scopes = thresholds = stores_texts = persistent = reports_health = manages = True
    window_chars_key = "max_history_chars"
    path_key = "db_path"
    store_format = "sqlite"

    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": str(folder / "ledger.db")}
