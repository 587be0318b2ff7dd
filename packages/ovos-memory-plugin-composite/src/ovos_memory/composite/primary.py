"""The primary: the member whose history a context holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ovos_utils.log import LOG

from ovos_memory.composite.members import Member, member_names
from ovos_memory.core.errors import ConfigError

if TYPE_CHECKING:
    from ovos_memory.composite.settings import CompositeSettings


def primary_names(settings: CompositeSettings, *, plugin: str) -> list[str]:
    """Return the members that `primary` may mean, a name before a module; ``[]`` when it is not set.

    Raises:
        ConfigError: It means none of the members.
    """
    if settings.primary is None or not settings.members:
        return []
    names = member_names(settings.members, plugin=plugin)
    if settings.primary in names:
        return [settings.primary]
    found = [
        name for name, entry in zip(names, settings.members, strict=True) if entry.module == settings.primary
    ]
    if not found:
        raise ConfigError(f"{plugin}: primary must be one of {', '.join(names)}, got {settings.primary!r}")
    return found


def choose_primary(
    members: Sequence[Member], candidates: Sequence[str], *, wanted: str | None, plugin: str
) -> Member | None:
    """Return the member whose history is used, and say so when that is not what one would expect.

    Args:
        members: Those that loaded.
        candidates: Names that the setting may mean, see :func:`primary_names`.
        wanted: The setting itself, for messages.
        plugin: The composite's entry-point name, for messages.
    """
    for member in members:
        if member.name in candidates:
            return member
    first = members[0] if members else None
    if wanted is not None:
        LOG.warning(
            "%s: primary '%s' did not load; the history comes from '%s'",
            plugin,
            wanted,
            first.name if first else "nowhere",
        )
    if first is not None and not first.keeps_turns:
        warn_of_no_turns(first, plugin=plugin)
    return first


def warn_of_no_turns(member: Member, *, plugin: str) -> None:
    """Say that the member that the history comes from keeps none."""
    LOG.warning(
        "%s: '%s' is the history source and keeps no turns, so contexts hold no history; "
        "set `primary` to a member that keeps them",
        plugin,
        member.name,
    )
