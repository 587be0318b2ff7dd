"""Sample configurations, offered through OPM's group ``opm.agents.memory.config``."""

from __future__ import annotations

from typing import Any

SAMPLES: list[dict[str, Any]] = [
    {
        "display_name": "Facts about one person, with a model on this box",
        "offline": True,
        "api_url": "http://localhost:8000/v1",
    },
    {
        "display_name": "Facts about each session's user, on a server",
        "offline": False,
        "api_url": "http://localhost:8000/v1",
        "scope": "session",
        "backend": "sqlite",
    },
]
"""Each is a block for a persona file; ``display_name`` and ``offline`` are for whoever shows them."""
