"""The memory that the twins of the management suite are made of keeps every rule of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ovos_memory.testing.managed_reference import ManagedReference
from ovos_memory.testing.management import ManagementContract


class Managed(ManagementContract):
    factory = ManagedReference
    plugin = ManagedReference.plugin_name
    retrieves = scopes = stores_texts = manages = True


class TestInMemory(Managed):
    pass


class TestOnDisk(Managed):
    persistent = True

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        return {"db_path": folder / "ledger.db"}
