"""Where files live: XDG folders, ``~`` and environment variables."""

from __future__ import annotations

import os
from pathlib import Path

from ovos_memory.core.errors import ConfigError

IN_MEMORY = ":memory:"
"""A path that names no file: the store lives and ends with the process."""


def data_home() -> Path:
    """Return ``$XDG_DATA_HOME``, or ``~/.local/share`` when it is unset or relative (as the XDG rules demand)."""
    given = os.environ.get("XDG_DATA_HOME", "")
    return Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~"), ".local", "share")


def default_path(*parts: str) -> Path:
    """Return a path below the folder of OVOS in the XDG data folder."""
    return data_home().joinpath("ovos", *parts)


def expand_path(value: str, *, plugin: str, key: str) -> str | Path:
    """Turn a configured path into an absolute one.

    ``~`` and ``$VARS`` are expanded; a relative path is anchored at the XDG data folder, because the working
    directory of a service is nobody's choice.  ``":memory:"`` is returned as it is.

    Raises:
        ConfigError: The path is empty or holds a NUL character.
    """
    if value == IN_MEMORY:
        return value
    if not value.strip() or "\0" in value:
        raise ConfigError(f"{plugin}: {key} must be a path to a file or ':memory:', got {value!r}")
    return data_home() / os.path.expandvars(os.path.expanduser(value))
