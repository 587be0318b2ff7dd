"""Settings of the lexical memory."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from ovos_memory.core.settings import RecallSettings
from ovos_memory.lexical.languages import AUTO, language_code


class LexicalSettings(RecallSettings):
    """What the lexical memory takes."""

    db_path: str = Field(
        "ovos/lexical_memory.db",
        description="SQLite file; `~` and `$VARS` are expanded, relative paths belong to `$XDG_DATA_HOME`;"
        " `:memory:`: nothing is kept.",
    )
    table: str = Field(
        "lexical_memory",
        description="Name that the file's tables begin with; several stores can share a file.",
    )
    language: str = Field(
        AUTO,
        description="Language code such as `de` or `pt-BR`, for word forms and function words; `auto`: that of OVOS.",
    )

    @field_validator("table")
    @classmethod
    def _plain_identifier(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", value, re.ASCII) or value.lower().startswith(
            "sqlite_"
        ):
            raise ValueError(
                "must be at most 64 letters, digits and underscores, and begin with no digit or 'sqlite_'"
            )
        return value

    @field_validator("language")
    @classmethod
    def _language_tag(cls, value: str) -> str:
        if value != AUTO and language_code(value) is None:
            raise ValueError("must be 'auto' or a language code such as 'de' or 'pt-BR'")
        return value
