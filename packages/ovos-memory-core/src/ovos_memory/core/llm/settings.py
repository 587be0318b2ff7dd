"""The keys that name a language model; shared by the memories that need one."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from ovos_memory.core.settings import NonNegative, Positive, Settings

Backend = Literal["json", "sqlite", "memory"]
DEFAULT_API_URL = "http://localhost:8000/v1"


class ChatEngineSettings(Settings):
    """A chat plugin that runs in this process, instead of a server."""

    module: str = Field("", description="Entry point of any `opm.agents.chat` plugin; blank: none.")
    config: dict[str, Any] = Field(default_factory=dict, description="The plugin's own configuration.")


class ChatSettings(Settings):
    """Where the language model is."""

    api_url: str = Field(DEFAULT_API_URL, description="Base address of any OpenAI-compatible server.")
    api_key: str = Field("", description="Bearer token for the server, if it wants one; never logged.")
    model: str = Field(
        "",
        description="The model's id; blank: the first of the server's `/models` that is no embedding model.",
    )
    chat_engine: ChatEngineSettings | None = Field(
        None,
        description="`{module, config}` of a chat plugin to run in this process instead of asking a server.",
    )
    request_options: dict[str, Any] = Field(
        default_factory=dict,
        description="More members for the request body, as the server knows them.",
    )
    max_wait_s: NonNegative = Field(
        0.0, description="Seconds that recording a turn waits for the model's work on it; 0: nobody waits."
    )

    @field_validator("api_url")
    @classmethod
    def _is_http(cls, value: str) -> str:
        parts = urlsplit(value.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an address that starts with http:// or https://")
        return value.strip()


class ModelMemorySettings(ChatSettings):
    """What every memory takes that a language model works for."""

    system_prompt: str = Field(
        "", description="Persona system prompt, sent as the first message; blank: none."
    )
    request_timeout: Positive = Field(
        30.0, description="Seconds that one call of the model may take, all in all."
    )
    backend: Backend | None = Field(
        None,
        description="How results are stored: `json` (one file), `sqlite` (many sessions), `memory` (RAM). "
        "null: `sqlite` when `db_path` ends in `.db`, else `json`.",
    )
    db_path: str | None = Field(
        None,
        description="The file; `:memory:`: RAM only. Pending work lies beside it, in `<db_path>.pending.db`.",
    )

    @property
    def store(self) -> Backend:
        """How results are stored, as set or by the file's name."""
        if self.backend is not None:
            return self.backend
        is_database = self.db_path is not None and self.db_path.endswith((".db", ".sqlite", ".sqlite3"))
        return "sqlite" if is_database else "json"
