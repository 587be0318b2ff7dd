"""The composite keeps the rules of every memory, whoever its members are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

from ovos_memory.composite import CompositeMemory
from ovos_memory.testing.contract import MemoryContract
from ovos_memory.testing.fakes.members import PlainMember
from ovos_memory.testing.managed_reference import ManagedReference
from ovos_memory.testing.management import ManagementContract
from ovos_memory.testing.reference import ReferenceMemory

PLUGINS = {"reference": ReferenceMemory, "plain": PlainMember, "managed": ManagedReference}


def compose(config: Mapping[str, Any] | None = None, **seams: Any) -> CompositeMemory:
    """Return a composite whose members need not be installed."""
    with patch("ovos_memory.composite.members.load_memory_plugin", PLUGINS.get):
        return CompositeMemory(config, **seams)


class Composite(MemoryContract):
    factory = compose
    plugin = "ovos-memory-plugin-composite"
    module = "ovos_memory.composite"
    settings_model = CompositeMemory.settings_model
    retrieves = scopes = thresholds = reports_health = True
    window_chars_key = "max_history_chars"
    top_k_key = "max_num_results"


class TestOfOneRetriever(Composite):
    config: ClassVar[dict[str, Any]] = {
        "members": [{"module": "reference", "config": {"max_history": 0}}],
        "max_history": 10,
    }


class TestOfSeveral(Composite):
    persistent = True

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        events = {"max_history": 0, "db_path": str(folder / "events.jsonl")}
        more = {"max_history": 0, "db_path": str(folder / "more.db")}
        return {
            "members": [
                {"module": "reference", "config": events},
                "plain",
                {"module": "reference", "name": "second", "config": more},
            ],
            "max_history": 10,
        }


class TestOfManagedMembers(ManagementContract):
    factory = compose
    plugin = "ovos-memory-plugin-composite"
    retrieves = persistent = manages = True
    top_k_key = "max_num_results"
    config: ClassVar[dict[str, Any]] = {"fusion": "merge"}

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        paths = {name: str(folder / f"{name}.db") for name in ("first", "second")}
        return {
            "members": [
                {"module": "managed", "name": name, "config": {"max_history": 0, "db_path": path}}
                for name, path in paths.items()
            ]
        }
