"""A memory's configuration as doctor sees it: the memory itself and each of its members, read and judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ovos_memory.cli.plugins import settings_model
from ovos_memory.cli.target import Target, plugin_names

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Trouble


def problem(check: str, where: str, what: str, remedy: str) -> Trouble:
    """Return something that makes memory useless."""
    from ovos_memory.core.management_types import Trouble

    return Trouble(check, where, what, remedy)


def advice(check: str, where: str, what: str, remedy: str) -> Trouble:
    """Return something that may be meant so."""
    from ovos_memory.core.management_types import Trouble

    return Trouble(check, where, what, remedy, "advice")


@dataclass(frozen=True)
class Block:
    """One plugin's configuration.

    Attributes:
        where: Name for messages: the plugin, or ``<composite> > <member>``.
        module: Entry-point name.
        given: The configuration as it is written.
        settings: The same, read; ``None`` when it cannot be.
        error: Why not.
        member: Name within the composite; ``""`` for the memory itself.
    """

    where: str
    module: str
    given: Mapping[str, Any] = field(default_factory=dict)
    settings: Any = None
    error: str = ""
    member: str = ""

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting, whether or not the plugin publishes its settings."""
        if self.settings is not None and hasattr(self.settings, key):
            return getattr(self.settings, key)
        return self.given.get(key, default)

    @property
    def engine(self) -> tuple[str, Mapping[str, Any]]:
        """Name and configuration of the chat plugin that is to take the place of a server; ``""``: none."""
        found = self.get("chat_engine")
        if not isinstance(found, Mapping):
            found = {"module": getattr(found, "module", ""), "config": getattr(found, "config", {})}
        config = found.get("config")
        return str(found.get("module") or ""), config if isinstance(config, Mapping) else {}


def blocks_of(target: Target) -> list[Block]:
    """Return the memory's block and those of its members."""
    top = _block(target.module, target.module, target.block, "")
    return [top, *_members(top)]


def _members(top: Block) -> Iterator[Block]:
    names: set[str] = set()
    for entry in top.given.get("members") or ():
        member = {"module": entry} if isinstance(entry, str) else entry
        if not isinstance(member, Mapping) or not isinstance(member.get("module"), str):
            continue
        module = member["module"]
        name, number = str(member.get("name") or module), 2
        while name in names:
            name, number = f"{module}#{number}", number + 1
        names.add(name)
        config = member.get("config")
        yield _block(f"{top.module} > {name}", module, config if isinstance(config, Mapping) else {}, name)


def _block(where: str, module: str, given: Mapping[str, Any], member: str) -> Block:
    from ovos_memory.core.errors import ConfigError
    from ovos_memory.core.settings import load_settings

    model = settings_model(module) if module in plugin_names() else None
    if model is None:
        return Block(where, module, given, member=member)
    try:
        return Block(where, module, given, load_settings(model, given, plugin=module), member=member)
    except ConfigError as error:
        return Block(where, module, given, None, str(error), member)
