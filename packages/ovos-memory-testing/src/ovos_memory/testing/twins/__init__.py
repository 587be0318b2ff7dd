"""Evil twins: the reference memory with one fault each, and the rules that must catch it.

A suite that nobody breaks proves nothing.  For every rule there is at least one twin, and the tests of this
package run each twin against its suite: exactly the rules that it names may fail.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ovos_memory.testing.twins.catalogue import Twin


def all_twins() -> list[Twin]:
    """Return every twin of the package."""
    for module in pkgutil.iter_modules(__path__):
        if module.name not in ("catalogue", "runner", "importing"):
            importlib.import_module(f"{__name__}.{module.name}")
    from ovos_memory.testing.twins.catalogue import TWINS

    return list(TWINS)
