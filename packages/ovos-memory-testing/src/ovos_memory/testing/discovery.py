"""What an installed plugin is: its class, its settings, and what it declares or offers."""

from __future__ import annotations

import functools
import inspect
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ovos_plugin_manager.agents import find_memory_plugins

from ovos_memory.testing.messages import pair
from ovos_memory.testing.suite import Declarations, private_settings

ENVIRONMENT = "OVOS_MEMORY_CHECKED"
"""Variable that tells other processes which plugin is checked, and with which stand-ins."""
DECLARATION = "memory_contract"
"""Attribute of a plugin's class: a mapping with the names of :class:`~ovos_memory.testing.suite.Declarations`."""
_FILE = "memory.db"
_FOLDER = "{folder}"
"""In a text of the settings: the folder that the memory of a test keeps its files in."""
_STAND_INS = ("chat", "embedder", "embeddings_db")


@dataclass(frozen=True)
class Subject:
    """A plugin that is checked.

    Attributes:
        name: Entry-point name.
        plugin: Its class.
        config: The settings that every memory of the check gets.
        is_real: Whether it works with the models and stores that its settings name.
    """

    name: str
    plugin: Any
    config: Mapping[str, Any]
    is_real: bool

    @classmethod
    def chosen(cls, config: pytest.Config) -> Subject:
        """Return the plugin that the command line names.

        Raises:
            pytest.UsageError: None is named, it is not installed, or the file is no configuration.
        """
        name = config.getoption("--memory-plugin")
        if not name:
            raise pytest.UsageError("the self-check needs --memory-plugin NAME")
        plugin = _found(name)
        return cls(
            name, plugin, _read(config.getoption("--memory-config"), name), config.getoption("--memory-real")
        )

    def declared(self) -> dict[str, Any]:
        """Return what the suites have to know: what the class offers, overruled by what it declares.

        Raises:
            pytest.UsageError: The class declares something that does not exist.
        """
        own = dict(getattr(self.plugin, DECLARATION, {}))
        unknown = sorted(set(own) - {name for name in vars(Declarations) if not name.startswith("__")})
        if unknown:
            raise pytest.UsageError(f"{self.name}: {DECLARATION} names no declarations: {', '.join(unknown)}")
        found = {**self._offered(), **own, "config": self.config, "plugin": self._own_name()}
        path_key = found.get("path_key")
        if _FOLDER in json.dumps(self.config) and "configure" not in found:
            found["configure"] = staticmethod(functools.partial(_placed, self.config))
            found["persistent"] = own.get("persistent", True)
        if found.get("persistent") and path_key and "configure" not in found:
            found["configure"] = staticmethod(functools.partial(_configured, path_key))
        if "store_format" not in own and "configure" in found:
            found["store_format"] = self._format(path_key)
        return found

    def make(self, config: Mapping[str, Any] | None = None) -> Any:
        """Return a memory, with stand-ins for models and stores where its constructor takes them."""
        return self.plugin(config, **({} if self.is_real else stand_ins(self.plugin)))

    def lines(self) -> list[str]:
        """Return what is checked and as what, for people."""
        found = self.declared()
        words = sorted(name for name, value in found.items() if value is True)
        keys = [f"{n}: {found[n]}" for n in ("path_key", "window_key", "store_format") if found.get(n)]
        stood_in = [] if self.is_real else list(stand_ins(self.plugin))
        note = [f"memory stand-ins: {', '.join(stood_in)}"] if stood_in else []
        return [f"memory plugin: {self.name}, {', '.join([*words, *keys])}", *note]

    # ------------------------------------------------------------------ inside
    def _offered(self) -> dict[str, Any]:
        plugin, keys = self.plugin, _keys(self.plugin)
        is_retriever = callable(getattr(plugin, "search", None))
        found: dict[str, Any] = {
            "keeps_history": getattr(plugin, "keeps_turns", True) is not False,
            "retrieves": is_retriever,
            "scopes": is_retriever and bool(getattr(plugin, "accepts_scope", False)),
            "thresholds": is_retriever and "retrieval.min_score" in keys,
            "stores_texts": is_retriever and callable(getattr(plugin, "store", None)),
            "reports_health": callable(getattr(plugin, "health", None)),
            "manages": all(callable(getattr(plugin, name, None)) for name in ("records", "forget", "export")),
            "persistent": "db_path" in keys,
            "path_key": "db_path" if "db_path" in keys else None,
            "llm_backed": "api_url" in keys,
        }
        if callable(getattr(plugin, "settings_model", None)):
            found["settings_model"] = staticmethod(plugin.settings_model)
            found["prompts"] = "system_prompt" in keys
            found["window_key"] = "max_history" if "max_history" in keys else None
            found["window_chars_key"] = "max_history_chars" if "max_history_chars" in keys else None
            found["top_k_key"] = next(
                (k for k in ("max_num_results",) if k in keys), "retrieval.max_num_results"
            )
        return found

    def _own_name(self) -> str:
        """Return what the class calls itself, when it is installed under that name too; else the entry point."""
        own = getattr(self.plugin, "plugin_name", None)
        return own if isinstance(own, str) and find_memory_plugins().get(own) is self.plugin else self.name

    def _format(self, path_key: str | None) -> str | None:
        """Return ``sqlite`` when that is what the file of a fresh memory is."""
        if path_key is None:
            return None
        # Work in the background may outlast `close` and write into the folder that is being removed.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            memory = self.make(
                {**private_settings(self.config), **_configured(path_key, Path(folder, "probe"))}
            )
            memory.update_history(pair("hello", "hi"), "s")
            getattr(memory, "close", lambda: None)()
            file = Path(folder, "probe", _FILE)
            is_sqlite = file.is_file() and file.read_bytes()[:15] == b"SQLite format 3"
        return "sqlite" if is_sqlite else None


def stand_ins(plugin: Any) -> dict[str, Any]:
    """Return fakes for the seams that a constructor has."""
    from ovos_memory.testing.fakes.chat import RestingChat
    from ovos_memory.testing.fakes.embedder import FakeEmbedder
    from ovos_memory.testing.fakes.store import FakeStore

    made = {"chat": RestingChat, "embedder": FakeEmbedder, "embeddings_db": FakeStore}
    try:
        parameters = inspect.signature(plugin).parameters
    except (TypeError, ValueError):
        return {}
    return {seam: made[seam]() for seam in _STAND_INS if seam in parameters}


def make_checked(config: Mapping[str, Any] | None = None) -> Any:
    """Return a memory of the plugin that is checked, in whichever process this is."""
    name, is_real = json.loads(os.environ[ENVIRONMENT])
    return Subject(name, _found(name), {}, is_real).make(config)


@functools.cache
def _found(name: str) -> Any:
    plugins = find_memory_plugins()
    if name not in plugins:
        known = ", ".join(sorted(plugins)) or "none"
        raise pytest.UsageError(f"no memory plugin '{name}' is installed; installed: {known}")
    return plugins[name]


def _read(file: str | None, name: str) -> dict[str, Any]:
    """Return the plugin's block of a JSON file, or the file itself when it has no such block."""
    if file is None:
        return {}
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"--memory-config {file}: {error}") from error
    block = found.get(name, found) if isinstance(found, dict) else None
    if not isinstance(block, dict):
        raise pytest.UsageError(f"--memory-config {file}: expected an object with settings")
    return block


def _keys(plugin: Any) -> set[str]:
    """Return the key paths of a plugin's settings; none when it does not tell."""
    from ovos_memory.testing.settings import key_paths

    model = getattr(plugin, "settings_model", None)
    return {key for key, _ in key_paths(model())} if callable(model) else set()


def _placed(value: Any, folder: Path) -> Any:
    """Return settings with the folder in the place of its name."""
    if isinstance(value, Mapping):
        return {key: _placed(part, folder) for key, part in value.items()}
    if isinstance(value, list):
        return [_placed(part, folder) for part in value]
    return value.replace(_FOLDER, str(folder)) if isinstance(value, str) else value


def _configured(path_key: str, folder: Path) -> dict[str, Any]:
    return {path_key: str(folder / _FILE)}
