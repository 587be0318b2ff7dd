from __future__ import annotations

from pathlib import Path
from typing import Any

from ovos_memory.lexical import LexicalMemory
from ovos_memory.testing.contract import MemoryContract


class TestContract(MemoryContract):
    factory = LexicalMemory
    plugin = "ovos-memory-plugin-lexical"
    module = "ovos_memory.lexical"
    settings_model = LexicalMemory.settings_model
    retrieves = scopes = thresholds = stores_texts = persistent = reports_health = manages = True
    window_chars_key = "max_history_chars"
    path_key = "db_path"
    store_format = "sqlite"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": folder / "lexical.db"}
