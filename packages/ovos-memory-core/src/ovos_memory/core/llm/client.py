"""From settings to the client that asks the model; memories with the same settings share one."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ovos_memory.core.errors import ModelUnavailable
from ovos_memory.core.llm.engine import Engine, EngineChat
from ovos_memory.core.llm.reply import Reply
from ovos_memory.core.llm.server import ServerChat

if TYPE_CHECKING:
    from ovos_memory.core.llm.settings import ChatSettings

_LOADING = threading.Lock()
"""Two llama.cpp models that load at once leave stdout on /dev/null."""
_shared: weakref.WeakValueDictionary[tuple[int, str], Any] = weakref.WeakValueDictionary()
_shared_lock = threading.Lock()


class Chat(Protocol):
    """Something that answers questions; what the memories know of a language model."""

    def ask(
        self,
        prompt: str,
        *,
        max_tokens: int,
        timeout_s: float,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
    ) -> Reply:
        """Answer one question, or raise ModelError."""

    def ready_in_s(self) -> float:
        """Return the seconds until a question may be asked; 0: now."""

    def health(self) -> dict[str, Any]:
        """Return how the model is doing."""


def open_chat(settings: ChatSettings) -> Chat:
    """Return the client for these settings; nothing is loaded or asked yet.

    Equal settings share one client, and with it the pause after failures, what was learnt about the server,
    and the model itself when it runs in this process.
    """
    key = (os.getpid(), _key(settings))
    with _shared_lock:
        chat: Chat | None = _shared.get(key)
        if chat is None:
            chat = _make(settings)
            _shared[key] = chat
        return chat


def as_chat(given: Any) -> Chat:
    """Return a chat for what an embedding program hands in: a chat, or an instance of a chat plugin."""
    if hasattr(given, "ask"):
        chat: Chat = given
        return chat
    return EngineChat(lambda: given, label=type(given).__name__)


def _make(settings: ChatSettings) -> Chat:
    if settings.chat_engine is None or not settings.chat_engine.module:
        return ServerChat(
            settings.api_url,
            api_key=settings.api_key,
            model=settings.model,
            options=settings.request_options,
        )
    module, config = settings.chat_engine.module, dict(settings.chat_engine.config)
    return EngineChat(lambda: load_engine(module, config), label=f"chat engine '{module}'")


def load_engine(module: str, config: Mapping[str, Any]) -> Engine:
    """Load and construct a chat plugin.

    Raises:
        ModelUnavailable: It is not installed.
    """
    from ovos_plugin_manager.agents import load_chat_plugin

    with _LOADING:
        plugin = load_chat_plugin(module)
        if plugin is None:
            raise ModelUnavailable(
                f"chat_engine.module '{module}' is not an installed opm.agents.chat plugin;"
                " install the package that brings it"
            )
        engine: Engine = plugin(config=dict(config))
        return engine


def _key(settings: ChatSettings) -> str:
    engine = settings.chat_engine
    where: Any = (
        [engine.module, engine.config]
        if engine is not None and engine.module
        else [settings.api_url, settings.api_key, settings.model, settings.request_options]
    )
    return json.dumps(where, sort_keys=True, default=str)


def _renew_locks() -> None:
    global _LOADING, _shared_lock
    _LOADING, _shared_lock = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
