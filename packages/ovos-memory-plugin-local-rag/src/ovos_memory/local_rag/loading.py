"""Finding and building the plugins that the settings name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ovos_memory.core.errors import PluginMissing
from ovos_memory.core.shared import ProcessLock

GGUF_LOCK = ProcessLock()
"""Held while a GGUF model is loaded or used.

One llama.cpp model in two threads kills the process, and two models that load at once leave stdout on
/dev/null.
"""

_DEFAULT_STACK = ("ovos-gguf-embeddings-plugin", "ovos-chromadb-embeddings-plugin")


def find_text_embedder(name: str, *, plugin: str) -> type[Any]:
    """Return the class of an ``opm.embeddings.text`` plugin.

    Raises:
        PluginMissing: It is not installed, or cannot be imported.
    """
    from ovos_plugin_manager.embeddings import load_text_embeddings_plugin

    return _found(load_text_embeddings_plugin, name, kind="embeddings plugin", plugin=plugin)


def find_embeddings_db(name: str, *, plugin: str) -> type[Any]:
    """Return the class of an ``opm.embeddings`` plugin, a vector store.

    Raises:
        PluginMissing: It is not installed, or cannot be imported.
    """
    from ovos_plugin_manager.embeddings import load_embeddings_db_plugin

    return _found(load_embeddings_db_plugin, name, kind="vector store plugin", plugin=plugin)


def _found(load: Callable[[str], type[Any] | None], name: str, *, kind: str, plugin: str) -> type[Any]:
    found = load(name)
    if found is None:
        remedy = (
            "pip install 'ovos-memory-plugin-local-rag[default-stack]'"
            if name in _DEFAULT_STACK
            else "install the package that provides it"
        )
        raise PluginMissing(f"{plugin}: {kind} '{name}' is not installed; {remedy}")
    return found


def construct(factory: Callable[..., Any], config: Mapping[str, Any]) -> Any:
    """Build a plugin whose constructor takes ``config=`` as its template says, or its keys one by one.

    The plugin gets a copy of the configuration.
    """
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return factory(config=dict(config))
    if "config" in parameters:
        return factory(config=dict(config))
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        takes_keys = [n for n, p in parameters.items() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        return factory(**config) if takes_keys else factory(config=dict(config))
    return factory(**{key: value for key, value in config.items() if key in parameters})
