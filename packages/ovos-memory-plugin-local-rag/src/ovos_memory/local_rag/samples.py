"""Sample configurations, offered through OPM's group ``opm.agents.memory.config``."""

from __future__ import annotations

from typing import Any

SAMPLES: list[dict[str, Any]] = [
    {
        "display_name": "Recall by meaning, with a model for many languages",
        "offline": True,
        "embeddings_plugin": "ovos-gguf-embeddings-plugin",
        "embeddings_config": {"model": "labse"},
        "embeddings_db_plugin": "ovos-chromadb-embeddings-plugin",
    },
    {
        "display_name": "Recall by meaning on a small box, without a vector store",
        "offline": True,
        "embeddings_plugin": "ovos-gguf-embeddings-plugin",
        "embeddings_config": {"model": "all-MiniLM-L6-v2", "n_threads": 2, "n_threads_batch": 2},
        "embeddings_db_plugin": None,
    },
]
"""Each is a block for a persona file; ``display_name`` and ``offline`` are for whoever shows them."""
