from __future__ import annotations

from pathlib import Path
from typing import Any

from ovos_memory.longterm import LongTermMemory
from ovos_memory.testing.contract import MemoryContract


class Resting:
    """A model that pauses for ever: nothing changes behind the back of a rule."""

    def ready_in_s(self) -> float:
        return 3_600.0

    def ask(self, prompt: str, **options: Any) -> Any:
        raise AssertionError("asked while it pauses")

    def health(self) -> dict[str, Any]:
        return {}


def longterm(config: dict[str, Any] | None = None, **seams: Any) -> LongTermMemory:
    return LongTermMemory(config, chat=Resting(), **seams)


class LongTerm(MemoryContract):
    factory = longterm
    plugin = "ovos-memory-plugin-longterm"
    module = "ovos_memory.longterm"
    settings_model = LongTermMemory.settings_model
    reports_health = manages = True
    llm_backed = True
    window_key = None
    window_chars_key = "max_history_chars"


class TestInMemory(LongTerm):
    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"backend": "memory"}


class TestOnJson(LongTerm):
    persistent = True
    path_key = "db_path"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": str(folder / "longterm.json")}


class TestOnSqlite(LongTerm):
    persistent = True
    path_key = "db_path"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": str(folder / "longterm.db")}
