from __future__ import annotations

from pathlib import Path
from typing import Any

from ovos_memory.testing.contract import MemoryContract
from ovos_memory.testing.degrade import DegradeSuite
from ovos_memory.testing.eventlog import MAX_SESSIONS
from ovos_memory.testing.persistence import PersistenceSuite
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.suite import Declarations


class Declared(Declarations):
    factory = ReferenceMemory
    plugin = ReferenceMemory.plugin_name
    settings_model = ReferenceMemory.settings_model
    retrieves = scopes = thresholds = stores_texts = reports_health = True
    window_chars_key = "max_history_chars"


class TestInMemory(Declared, MemoryContract):
    ram_sessions = MAX_SESSIONS


class TestOnDisk(Declared, MemoryContract):
    persistent = True
    path_key = "db_path"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": folder / "events.jsonl"}


class TestOnSqlite(Declared, PersistenceSuite, DegradeSuite):
    persistent = True
    path_key = "db_path"
    store_format = "sqlite"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": folder / "events.db"}
