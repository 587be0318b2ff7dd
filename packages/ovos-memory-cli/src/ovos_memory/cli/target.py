"""Which memory is meant: a persona file, a persona by its name, or a plugin with its configuration."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import click

GROUP = "opm.agents.memory"
DEFAULT_MODULE = "ovos-agents-short-term-memory-plugin"
"""What ovos-persona takes when a persona names no memory."""
_MODEL_WAIT_S, _MEMBER_TIMEOUT_S = 60, 90
"""How long a command waits for a model, and a composite for its members, where the configuration does not say."""


@dataclass(frozen=True)
class Target:
    """A memory that is meant, not opened yet.

    Attributes:
        name: For messages.
        module: Entry-point name of the plugin.
        block: Its configuration.
        persona: The whole persona; ``None`` when only a plugin was named.
        path: The file that said so.
    """

    name: str
    module: str
    block: Mapping[str, Any] = field(default_factory=dict)
    persona: Mapping[str, Any] | None = None
    path: Path | None = None

    @property
    def handlers(self) -> list[str]:
        """Entry-point names of what answers for the persona, in the order in which ovos-persona asks them."""
        persona = self.persona or {}
        named = persona.get("handlers") or persona.get("solvers") or []
        return list(map(str, named if isinstance(named, list) else [named]))

    def open(self, *, is_calm: bool = True) -> Any:
        """Return the memory.

        Args:
            is_calm: Load no model before it is needed.

        Raises:
            click.ClickException: The plugin is not installed, or a setting is wrong.
        """
        from ovos_plugin_manager.agents import load_memory_plugin

        from ovos_memory.core.errors import ConfigError

        if not self.module:
            raise click.ClickException(f'{self.name}: the persona has no memory; set "memory_module"')
        found = load_memory_plugin(self.module)
        if found is None:
            raise click.ClickException(
                f"{self.name}: no memory plugin '{self.module}' is installed; pip install {self.module}"
            )
        block = calm(self.block) if is_calm else dict(self.block)
        try:
            return found(config=block)
        except ConfigError as error:
            raise click.ClickException(str(error)) from error


def calm(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration in which nothing is loaded ahead, and what is needed is waited for.

    To list records no model is needed, and a command is no conversation: it may wait until one is loaded.
    """
    quiet = dict(block)
    if "embeddings_plugin" in block or "embeddings_db_plugin" in block or "collection" in block:
        quiet = _patient(quiet)
    if isinstance(block.get("members"), list):
        quiet.setdefault("member_timeout_s", _MEMBER_TIMEOUT_S)
        quiet["members"] = [_calm_member(member) for member in block["members"]]
    return quiet


def _patient(block: dict[str, Any]) -> dict[str, Any]:
    return {"timeout_s": _MODEL_WAIT_S, **block, "preload": False}


def _calm_member(member: Any) -> Any:
    if isinstance(member, str):
        member = {"module": member}
    if not isinstance(member, Mapping):
        return member
    config = member.get("config")
    quiet = calm(config if isinstance(config, Mapping) else {})
    if member.get("module") == "ovos-memory-plugin-local-rag":
        quiet = _patient(quiet)
    return {**member, "config": quiet}


def find_target(name: str | None, config: Path | None) -> Target:
    """Return the memory that is meant.

    Args:
        name: A persona file, a persona's name, a plugin's entry-point name; ``None``: the only persona.
        config: The plugin's configuration, a JSON object.

    Raises:
        click.UsageError: There is no such thing, or more than one.
    """
    if name is None:
        return _only_persona(config)
    if name in plugin_names():
        block = {} if config is None else _block_of(_read(config), name)
        return Target(name, name, block, None, config)
    if config is not None:
        raise click.UsageError(f"--config belongs to a plugin, and '{name}' is none that is installed")
    if name.endswith(".json") or os.sep in name:
        return persona_target(Path(name).expanduser())
    found = [path for path, called in personas().items() if called == name]
    folded = [path for path, called in personas().items() if called.casefold() == name.casefold()]
    if len(found or folded) == 1:
        return persona_target((found or folded)[0])
    by_file = (
        persona_folder() / f"{name}.json"
    )  # one whose name is another, or that cannot be read: it says so
    if not found and not folded and by_file.is_file():
        return persona_target(by_file)
    known = ", ".join(sorted({*personas().values(), *plugin_names()})) or "none"
    raise click.UsageError(f"no persona or memory plugin is called '{name}'; known: {known}")


def _only_persona(config: Path | None) -> Target:
    if config is not None:
        raise click.UsageError("--config needs --memory PLUGIN")
    found = [target for path in personas() if (target := persona_target(path)).module]
    if len(found) == 1:
        return found[0]
    known = ", ".join(sorted(personas().values()))
    why = f"there are several personas ({known})" if found else f"no persona is in {persona_folder()}"
    raise click.UsageError(f"which memory? {why}; name a persona, a persona file or a plugin with --memory")


def persona_target(path: Path) -> Target:
    """Return the memory of a persona file.

    Raises:
        click.UsageError: The file cannot be read, or is no persona.
    """
    persona = _read(path)
    module = persona.get("memory_module", DEFAULT_MODULE)
    name = str(persona.get("name", path.stem))
    block = persona.get(module) if isinstance(module, str) else None
    return Target(name, module or "", block if isinstance(block, Mapping) else {}, persona, path)


def persona_folder() -> Path:
    """Return the folder in which ovos-persona looks for personas."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(given) if os.path.isabs(given) else Path("~/.config").expanduser()
    return home / "ovos_persona"


def personas() -> dict[Path, str]:
    """Return the persona files of the user, each with the persona's name."""
    found: dict[Path, str] = {}
    for path in sorted(persona_folder().glob("*.json")):
        try:
            found[path] = str(_read(path).get("name", path.stem))
        except click.UsageError:
            continue
    return found


def plugin_names() -> dict[str, metadata.EntryPoint]:
    """Return the installed memory plugins by entry-point name, without importing them."""
    return {point.name: point for point in metadata.entry_points(group=GROUP)}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise click.UsageError(f"{path} is not JSON ({error})") from error
    if not isinstance(found, Mapping):
        raise click.UsageError(f"{path} must hold a JSON object")
    return found


def _block_of(found: Mapping[str, Any], plugin: str) -> Mapping[str, Any]:
    """Return a plugin's block of a file that is one, or a persona with one."""
    inner = found.get(plugin)
    return inner if isinstance(inner, Mapping) else found
