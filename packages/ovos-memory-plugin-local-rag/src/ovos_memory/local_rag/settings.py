"""The settings of the local RAG memory."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ovos_memory.core.settings import NonNegative, Positive, RecallSettings, Share


class LocalRAGSettings(RecallSettings):
    """Keys of the block ``ovos-memory-plugin-local-rag``."""

    embeddings_plugin: str = Field(
        "ovos-gguf-embeddings-plugin", min_length=1, description="Any `opm.embeddings.text` entry point."
    )
    embeddings_config: dict[str, Any] = Field(
        default_factory=dict, description="Handed to the embeddings plugin's constructor."
    )
    embeddings_db_plugin: str | None = Field(
        "ovos-chromadb-embeddings-plugin",
        min_length=1,
        description="Any `opm.embeddings` entry point; null: no store beside the ledger's own vectors.",
    )
    embeddings_db_config: dict[str, Any] = Field(
        default_factory=dict, description="Handed to the store's constructor; paths are expanded."
    )
    collection: str = Field(
        "ovos_local_rag",
        min_length=1,
        description="Name of the collection; any name, made legal for the store.",
    )
    db_path: str | None = Field(
        None, min_length=1, description="The ledger; null: beside the vectors, or in the XDG data folder."
    )
    document_prefix: str = Field(
        "", description="In front of every text that is embedded, where a model wants one."
    )
    query_prefix: str = Field("", description="In front of every query that is embedded.")
    neighbour_weight: NonNegative = Field(
        0.0,
        description="How much an exchange's passage with the one before or after it, in its session, counts beside"
        " its own likeness (1); 0: not at all.",
    )
    drop_common_names: Share | None = Field(
        None,
        description="Leave names out of the query that stand in more than this share of the exchanges; null: none.",
    )
    drop_common_words: Share | None = Field(
        None,
        description="Leave query words out that stand in more than this share of the exchanges; null: none.",
    )
    timeout_s: Positive = Field(
        4.0,
        description="Seconds a call waits for model and vector store together; what is not done by then is done later.",
    )
    preload: bool = Field(True, description="Load model and store in the background after construction.")
    background: bool = Field(
        False, description="Embed behind the conversation instead of within `update_history`."
    )
