"""Twins whose modules do something when they are imported."""

from __future__ import annotations

from ovos_memory.testing.importing import ImportSuite
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.twins.catalogue import twin

_HERE = "ovos_memory.testing.twins.importing"


@twin(ImportSuite, "the_module_asks_for_nothing_heavy", module=f"{_HERE}.heavy")
class AsksForNumpy(ReferenceMemory):
    """Imports what most hosts do not have, in a ``try``."""


@twin(ImportSuite, "the_module_imports_quickly", module=f"{_HERE}.slow")
class ComputesATable(ReferenceMemory):
    """Spends 200 ms on what nobody has asked for yet."""


@twin(ImportSuite, "the_module_starts_no_thread", module=f"{_HERE}.threaded")
class StartsAThread(ReferenceMemory):
    """Waits for work that may never come."""
