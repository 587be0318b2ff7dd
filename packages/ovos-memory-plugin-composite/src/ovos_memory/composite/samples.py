"""Sample configurations, offered through OPM's group ``opm.agents.memory.config``."""

from __future__ import annotations

from typing import Any

SAMPLES: list[dict[str, Any]] = [
    {
        "display_name": "What was said lately, and what was said once in the same words",
        "offline": True,
        "members": [
            {"module": "ovos-memory-plugin-recency", "config": {"max_history": 10}},
            {"module": "ovos-memory-plugin-lexical"},
        ],
        "primary": "ovos-memory-plugin-recency",
    }
]
"""Each is a block for a persona file; ``display_name`` and ``offline`` are for whoever shows them."""
