"""Sample configurations, offered through OPM's group ``opm.agents.memory.config``."""

from __future__ import annotations

from typing import Any

SAMPLES: list[dict[str, Any]] = [
    {
        "display_name": "A rolling summary, with a model on this box",
        "offline": True,
        "api_url": "http://localhost:8000/v1",
        "summarize_every": 6,
        "recent_window": 4,
    },
    {
        "display_name": "A rolling summary of thousands of sessions, on a server",
        "offline": False,
        "api_url": "http://localhost:8000/v1",
        "backend": "sqlite",
    },
]
"""Each is a block for a persona file; ``display_name`` and ``offline`` are for whoever shows them."""
