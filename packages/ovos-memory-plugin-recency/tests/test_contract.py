from __future__ import annotations

from pathlib import Path
from typing import Any

from ovos_memory.core.state import MAX_SESSIONS
from ovos_memory.recency import RecencyMemory
from ovos_memory.testing.contract import MemoryContract


class Recency(MemoryContract):
    factory = RecencyMemory
    plugin = "ovos-memory-plugin-recency"
    module = "ovos_memory.recency"
    settings_model = RecencyMemory.settings_model
    reports_health = manages = True
    window_chars_key = "max_history_chars"


class TestInMemory(Recency):
    ram_sessions = MAX_SESSIONS


class TestOnJson(Recency):
    persistent = True
    path_key = "db_path"
    store_format = "json"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": folder / "recency.json"}


class TestOnSqlite(Recency):
    persistent = True
    path_key = "db_path"
    store_format = "sqlite"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": folder / "recency.db"}
