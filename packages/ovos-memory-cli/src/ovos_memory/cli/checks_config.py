"""What doctor finds in configurations, without touching a store."""

from __future__ import annotations

import inspect
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ovos_memory.cli.blocks import Block, advice, problem
from ovos_memory.cli.checks_handlers import handler_findings, install, reinstall
from ovos_memory.cli.checks_roles import role_findings
from ovos_memory.cli.plugins import is_installed, why_broken
from ovos_memory.cli.target import GROUP, Target, plugin_names

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Trouble

_DROP_SYSTEM = {"ovos-chat-openai-plugin", "ovos-chat-gguf-plugin"}
"""Chat engines that drop system messages unless ``allow_system_prompts`` is true."""
_SERVERS = ("ovos-persona-server", "hivemind-persona-agent-plugin")
_DEFAULT_STACK = {"ovos-gguf-embeddings-plugin", "ovos-chromadb-embeddings-plugin"}
_BLOCKS_IN_SYSTEM = {"ovos-memory-plugin-entity", "ovos-memory-plugin-longterm"}


def config_findings(target: Target, blocks: list[Block]) -> Iterator[Trouble]:
    """Yield what is wrong with the configuration."""
    for block in blocks:
        yield from _installed(block)
        yield from _settings(block)
        yield from _embeddings(block)
        yield from _chat_engine(block)
        if block.module == "ovos-memory-plugin-lexical":
            yield from _fts5(block)
    yield from _persona(target)
    yield from handler_findings(target)
    yield from _engine(target, blocks)
    yield from role_findings(target, blocks)
    yield from _primary(blocks)
    yield from _scope(target, blocks)


def _installed(block: Block) -> Iterator[Trouble]:
    points = [point for point in metadata.entry_points(group=GROUP) if point.name == block.module]
    if not block.module:
        yield problem("plugin", block.where, "the persona has no memory", "set memory_module")
    elif not points:
        remedy = (
            f"pip install {block.module}, or correct the name; known: {', '.join(sorted(plugin_names()))}"
        )
        yield problem("plugin", block.where, f"no plugin '{block.module}' is installed", remedy)
    elif len(points) > 1:
        owners = sorted({point.dist.metadata["Name"] for point in points if point.dist is not None})
        what = (
            f"several packages offer '{block.module}' ({', '.join(owners)}); OPM takes the last one it finds"
        )
        yield problem("plugin", block.where, what, "uninstall all but one (1.x is ovos-memory-plugins)")
    if why := why_broken(points):
        what = (
            f"the plugin '{block.module}' is installed and cannot be loaded ({why}), so nothing is remembered"
        )
        yield problem("plugin", block.where, what, reinstall(points))


def _settings(block: Block) -> Iterator[Trouble]:
    from ovos_memory.core.settings import unknown_keys
    from ovos_memory.core.templates import unknown_placeholders

    if block.error:
        yield problem("settings", block.where, block.error, "correct the key")
    if block.settings is not None:
        for path, remedy in unknown_keys(block.settings):
            yield problem("settings", block.where, f"unknown key '{path}' is ignored", remedy)
        for path, unknown, known in unknown_placeholders(block.settings):
            what = f"{path} has the unknown placeholder {unknown}, which stays in the text as it is"
            yield problem("template", block.where, what, f"correct it; known: {known}")


def _fts5(block: Block) -> Iterator[Trouble]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except sqlite3.OperationalError:
        what = f"the SQLite {sqlite3.sqlite_version} of this Python has no FTS5, so nothing is found by words"
        yield problem("fts5", block.where, what, "install a Python whose sqlite3 has FTS5")
    finally:
        connection.close()


def _embeddings(block: Block) -> Iterator[Trouble]:
    if block.module != "ovos-memory-plugin-local-rag":
        return
    wanted = {
        "opm.embeddings.text": block.get("embeddings_plugin", "ovos-gguf-embeddings-plugin"),
        "opm.embeddings": block.get("embeddings_db_plugin", "ovos-chromadb-embeddings-plugin"),
    }
    for group, name in wanted.items():
        if name is not None and name not in {point.name for point in metadata.entry_points(group=group)}:
            package = f"'{block.module}[default-stack]'" if name in _DEFAULT_STACK else name
            remedy = f"pip install {package}, or name an installed plugin"
            what = f"the plugin '{name}' ({group}) is not installed, so nothing is recalled by meaning"
            yield problem("embeddings", block.where, what, remedy)


def _chat_engine(block: Block) -> Iterator[Trouble]:
    name, _ = block.engine
    points = [point for point in metadata.entry_points(group="opm.agents.chat") if point.name == name]
    if name and not points:
        what = f"the chat engine '{name}' is not installed, so nothing is learned or summarised"
        yield problem("model", block.where, what, f"{install(name)}, or correct chat_engine.module")
    elif name and (why := why_broken(points)):
        what = f"the chat engine '{name}' cannot be loaded ({why}), so nothing is learned or summarised"
        yield problem("model", block.where, what, reinstall(points))


# ---------------------------------------------------------------------- the persona around it
def _persona(target: Target) -> Iterator[Trouble]:
    """Yield blocks of the persona file that no memory reads."""
    persona = target.persona or {}
    if target.persona is not None and not persona.get("memory_module"):
        what = "the persona names no memory, so it forgets everything when its process ends"
        yield advice(
            "memory", target.name, what, 'set "memory_module", for one to "ovos-memory-plugin-lexical"'
        )
    if not target.module or isinstance(persona.get(target.module), Mapping):
        return
    blocks = [key for key, value in persona.items() if isinstance(value, Mapping)]
    others = [key for key in blocks if key in plugin_names()]
    near = get_close_matches(target.module, [key for key in blocks if key not in others], 1, 0.8)
    for name in near:
        what = f"the block '{name}' is read by nobody: the memory's block must be called '{target.module}'"
        yield problem("settings", target.name, what, f"rename '{name}' to '{target.module}'")
    for name in others:
        what = f"the block '{name}' is read by nobody: the persona's memory is '{target.module}'"
        yield problem("settings", target.name, what, f'set "memory_module": "{name}", or remove the block')


def _engine(target: Target, blocks: list[Block]) -> Iterator[Trouble]:
    persona = target.persona or {}
    for name in target.handlers:
        config = persona.get(name)
        is_allowed = isinstance(config, Mapping) and config.get("allow_system_prompts") is True
        if is_allowed or not _drops_system(name):
            continue
        lost = list(dict.fromkeys(_in_system_messages(blocks)))
        if lost:
            what = f"'{name}' drops system messages, and with them {', '.join(lost)}"
            remedy = f'set "allow_system_prompts": true in the block of {name}, or inject_mode to "user"'
            yield problem("system messages", name, what, remedy)


def _drops_system(engine: str) -> bool:
    """Tell whether a chat engine knows the switch that keeps system messages, which is off by default."""
    if engine in _DROP_SYSTEM:
        return True
    for point in metadata.entry_points(group="opm.agents.chat"):
        if point.name == engine:
            try:
                source = inspect.getsource(sys.modules[point.load().__module__])
            except Exception:  # a stranger's plugin that does not load has its own finding
                return False
            return "allow_system_prompts" in source
    return False


def _in_system_messages(blocks: list[Block]) -> Iterator[str]:
    """Yield what a memory hands to the engine as system messages."""
    top = blocks[0]
    if str(top.get("system_prompt") or "").strip():
        yield "the memory's system_prompt"
    if _recalls(top) and top.get("inject_mode", "system") in ("system", "system_prompt"):
        yield "all that is recalled"
    for block in blocks:
        if block.module in _BLOCKS_IN_SYSTEM:
            yield f"what '{block.member or block.module}' knows"


def _recalls(block: Block) -> bool:
    if block.settings is not None:
        return hasattr(block.settings, "inject_mode")
    return "lexical" in block.module or "rag" in block.module


def _primary(blocks: list[Block]) -> Iterator[Trouble]:
    top, members = blocks[0], blocks[1:]
    if not members or top.settings is None:
        return
    primary = top.get("primary")
    chosen = (
        [block for block in members if primary in (block.member, block.module)] if primary else members[:1]
    )
    keeping = [block.member for block in members if _keeps_turns(block)]
    if chosen and not _keeps_turns(chosen[0]):
        what = f"'{chosen[0].member}' is the history source and keeps no turns, so contexts hold no history"
        remedy = (
            f'set "primary": "{keeping[0]}"' if keeping else "add a member that keeps turns, such as recency"
        )
        yield problem("primary", top.where, what, remedy)


def _keeps_turns(block: Block) -> bool:
    for point in metadata.entry_points(group=GROUP):
        if point.name == block.module:
            try:
                return getattr(point.load(), "keeps_turns", True) is not False
            except Exception:  # a plugin that does not load keeps nothing
                return False
    return True


def _scope(target: Target, blocks: list[Block]) -> Iterator[Trouble]:
    top = blocks[0]
    servers = [name for name in _SERVERS if is_installed(name)]
    scoped = [block for block in blocks if _scope_of(block, top) == "global"]
    if target.persona is not None and servers and scoped:
        what = f"{servers[0]} is installed, and scope is 'global': what one user says is recalled for another"
        yield advice("scope", top.where, what, 'set "scope": "session" where several people talk')


def _scope_of(block: Block, top: Block) -> str | None:
    settings: Any = block.settings
    if settings is None or not hasattr(settings, "scope"):
        return None
    if block is not top and "scope" in getattr(top.settings, "model_fields_set", ()):
        return str(top.settings.scope)
    return str(settings.scope)
