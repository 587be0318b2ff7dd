from __future__ import annotations

from pathlib import Path
from typing import Any

from ovos_memory.testing.contract import MemoryContract
from ovos_memory.testing.eventlog import MAX_SESSIONS
from ovos_memory.testing.reference import ReferenceMemory


def reference_settings() -> Any:
    from ovos_memory.testing.reference_settings import ReferenceSettings

    return ReferenceSettings


class TestInMemory(MemoryContract):
    factory = ReferenceMemory
    plugin = ReferenceMemory.plugin_name
    retrieves = scopes = thresholds = stores_texts = reports_health = True
    window_chars_key = "max_history_chars"
    ram_sessions = MAX_SESSIONS
    settings_model = reference_settings


class TestOnDisk(MemoryContract):
    factory = ReferenceMemory
    plugin = ReferenceMemory.plugin_name
    retrieves = scopes = thresholds = stores_texts = reports_health = persistent = True
    window_chars_key = "max_history_chars"
    path_key = "db_path"
    store_format = "lines"
    settings_model = reference_settings

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": folder / "events.jsonl"}
