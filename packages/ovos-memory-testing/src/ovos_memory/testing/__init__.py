"""Contract suites, fakes and a self-check for memory plugins.

A backend's ``tests/test_contract.py`` is one class::

    from ovos_memory.testing.contract import MemoryContract

    class TestContract(MemoryContract):
        factory = LexicalMemory
        plugin = "ovos-memory-plugin-lexical"
        retrieves = persistent = True
"""

import pkgutil
import sys

if "pytest" in sys.modules:  # in other processes the fakes and the reference memory do without it
    sys.modules["pytest"].register_assert_rewrite(
        *(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__))
    )
