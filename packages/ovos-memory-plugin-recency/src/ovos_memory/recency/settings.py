"""Settings of the recency memory."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ovos_memory.core.settings import Count, MemorySettings, NonNegative


class RecencySettings(MemorySettings):
    """What the recency memory takes."""

    max_history: Count = Field(
        10, description="Messages kept per session (an exchange is two); 0: all of them."
    )
    max_age: NonNegative | None = Field(
        None, description="Seconds after which a message is left out; null: never."
    )
    db_path: str | None = Field(
        None, description="File that keeps the messages across restarts; null: only in RAM."
    )
    backend: Literal["json", "sqlite"] | None = Field(
        None, description="Kind of file; null: `sqlite` when `db_path` ends with `.db`, else `json`."
    )
