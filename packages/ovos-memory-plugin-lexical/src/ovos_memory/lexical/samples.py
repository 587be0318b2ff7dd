"""Sample configurations, offered through OPM's group ``opm.agents.memory.config``."""

from __future__ import annotations

from typing import Any

SAMPLES: list[dict[str, Any]] = [
    {"display_name": "Recall by words, for one person's box", "offline": True},
    {
        "display_name": "Recall by words, each session for itself",
        "offline": True,
        "scope": "session",
        "inject_mode": "user",
        "retrieval": {"max_num_results": 5},
    },
]
"""Each is a block for a persona file; ``display_name`` and ``offline`` are for whoever shows them."""
