"""Import every module of one installed distribution: ``python -I import_all.py DISTRIBUTION``.

In an environment with nothing but the distribution's own dependencies this shows an undeclared one.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys


def modules(distribution: str) -> list[str]:
    """Return the dotted names of a distribution's modules, sorted; of an editable install too."""
    files = importlib.metadata.files(distribution) or []
    names = {file.with_suffix("") for file in files if file.suffix == ".py" and file.name != "__main__.py"}
    return sorted(".".join(name.parts).removesuffix(".__init__") for name in names)


if __name__ == "__main__":
    found = modules(sys.argv[1])
    for module in found:
        importlib.import_module(module)
    print(f"{sys.argv[1]}: {len(found)} modules import")
    sys.exit(not found)
