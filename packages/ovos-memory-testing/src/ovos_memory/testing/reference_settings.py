"""Settings of the reference memory."""

from __future__ import annotations

from pydantic import Field

from ovos_memory.core.settings import RecallSettings


class ReferenceSettings(RecallSettings):
    """Those of every memory that recalls, and a file."""

    db_path: str | None = Field(None, description="File of events; null: it ends with the process.")
