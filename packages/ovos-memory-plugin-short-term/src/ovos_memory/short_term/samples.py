"""Sample configurations, offered through OPM's group ``opm.agents.memory.config``."""

from __future__ import annotations

from typing import Any

SAMPLES: list[dict[str, Any]] = [
    {"display_name": "The last five messages, in RAM", "offline": True, "max_history": 5}
]
"""Each is a block for a persona file; ``display_name`` and ``offline`` are for whoever shows them."""
