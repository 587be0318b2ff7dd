"""Sample configurations, offered through OPM's group ``opm.agents.memory.config``."""

from __future__ import annotations

from typing import Any

SAMPLES: list[dict[str, Any]] = [
    {"display_name": "The last ten messages", "offline": True, "max_history": 10},
    {
        "display_name": "The last hour, across restarts",
        "offline": True,
        "max_history": 30,
        "max_age": 3600,
        "db_path": "ovos/recency_memory.json",
    },
]
"""Each is a block for a persona file; ``display_name`` and ``offline`` are for whoever shows them."""
