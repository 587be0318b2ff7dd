"""Imports every memory plugin when it is imported: for a server that forks commands (:mod:`~.commands`)."""

from __future__ import annotations

from ovos_plugin_manager.agents import find_memory_plugins

PLUGINS = find_memory_plugins()
