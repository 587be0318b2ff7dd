"""Settings of the short-term memory."""

from __future__ import annotations

from pydantic import Field

from ovos_memory.core.settings import Count, MemorySettings


class ShortTermSettings(MemorySettings):
    """What the short-term memory takes."""

    max_history: Count = Field(
        5, description="Messages kept per session (an exchange is two); 0: all of them."
    )
