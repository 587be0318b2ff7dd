"""What ``doctor`` finds about the plugins that answer for a persona."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ovos_memory.cli.blocks import problem
from ovos_memory.cli.plugins import why_broken
from ovos_memory.cli.target import Target

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Trouble

GROUPS = (
    "opm.agents.chat",
    "opm.agents.chat.multimodal",
    "opm.agents.retrieval",
    "opm.agents.retrieval.documents",
    "opm.agents.retrieval.qa",
    "opm.solver.chat",
    "opm.solver.question",
    "neon.plugin.solver",
)
"""Where ovos-persona looks for handlers, the last under its former name, which OPM still reads."""
SERVED = "ovos-chat-openai-plugin"
"""The chat engine that asks a server."""
_PACKAGES = {SERVED: "ovos-openai-plugin", "ovos-chat-gguf-plugin": "ovos-gguf-plugin"}


def handler_findings(target: Target) -> Iterator[Trouble]:
    """Yield what keeps ovos-persona from loading the persona, or the persona from answering."""
    if target.persona is None:
        return
    for key in ("handlers", "solvers"):
        given = target.persona.get(key)
        if given and not isinstance(given, list):
            what = f"'{key}' must be a list of names, got {type(given).__name__}"
            yield problem("handlers", target.name, what, f'write {key} as ["{SERVED}"]')
    if not target.handlers:
        what = "the persona has no handlers, and ovos-persona refuses to load one that nothing answers for"
        yield problem("handlers", target.name, what, f'set "handlers", for one to ["{SERVED}"]')
    points = [point for group in GROUPS for point in metadata.entry_points(group=group)]
    for name in dict.fromkeys(target.handlers):
        installed = [point for point in points if point.name == name]
        if not installed:
            what = (
                f"the handler '{name}' is not installed, and ovos-persona refuses to load the persona without"
            )
            yield problem("handlers", target.name, what, f"{install(name)}, or correct the name")
        elif why := why_broken(installed):
            what = (
                f"the handler '{name}' is installed and cannot be loaded ({why}),"
                " and ovos-persona refuses to load the persona without"
            )
            yield problem("handlers", target.name, what, reinstall(installed))
        yield from _block(target.name, name, target.persona.get(name))


def _block(persona: str, handler: str, block: Any) -> Iterator[Trouble]:
    """Yield what ovos-persona makes of a handler's own block."""
    if block and not isinstance(block, Mapping):
        what = (
            f"the block of the handler '{handler}' must be an object, got {type(block).__name__},"
            " and ovos-persona refuses to load the persona"
        )
        yield problem("handlers", persona, what, f'write it as "{handler}": {{...}}')
    elif block and not block.get("enabled", True):
        what = (
            f"\"enabled\" is {json.dumps(block['enabled'])} in the block of the handler '{handler}': ovos-persona"
            " leaves it out, misses it with every turn, and no handler answers"
        )
        remedy = f"take '{handler}' out of the handlers, or \"enabled\" out of its block"
        yield problem("handlers", persona, what, remedy)


def reinstall(points: Sequence[metadata.EntryPoint]) -> str:
    """Return the remedy for a plugin that is installed and cannot be loaded."""
    packages = sorted({point.dist.metadata["Name"] for point in points if point.dist is not None})
    return f"install what it misses, or pip install --force-reinstall {' '.join(packages)}".rstrip()


def install(engine: str) -> str:
    """Return the command that installs a chat engine: its package may have another name."""
    return f"pip install {_PACKAGES.get(engine, engine)}"
