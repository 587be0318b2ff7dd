from __future__ import annotations

from pathlib import Path
from typing import Any

from ovos_memory.entity import EntityMemory
from ovos_memory.testing.contract import MemoryContract


class Resting:
    """A model that pauses for ever: nothing changes behind the back of a rule."""

    def ready_in_s(self) -> float:
        return 3_600.0

    def ask(self, prompt: str, **options: Any) -> Any:
        raise AssertionError("asked while it pauses")

    def health(self) -> dict[str, Any]:
        return {}


def entity(config: dict[str, Any] | None = None, **seams: Any) -> EntityMemory:
    return EntityMemory(config, chat=Resting(), **seams)


class Entity(MemoryContract):
    factory = entity
    plugin = "ovos-memory-plugin-entity"
    module = "ovos_memory.entity"
    settings_model = EntityMemory.settings_model
    reports_health = manages = True
    keeps_history = False
    llm_backed = True
    window_key = None


class TestInMemory(Entity):
    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"backend": "memory"}


class TestOnJson(Entity):
    persistent = True
    path_key = "db_path"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": str(folder / "entity.json")}


class TestOnSqlite(Entity):
    persistent = True
    path_key = "db_path"

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": str(folder / "entity.db")}
