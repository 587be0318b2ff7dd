from __future__ import annotations

from ovos_memory.short_term import BasicShortTermMemory
from ovos_memory.short_term.memory import MAX_SESSIONS
from ovos_memory.testing.contract import MemoryContract


class TestContract(MemoryContract):
    factory = BasicShortTermMemory
    plugin = "ovos-memory-plugin-short-term"
    module = "ovos_memory.short_term"
    settings_model = BasicShortTermMemory.settings_model
    reports_health = manages = True
    window_chars_key = "max_history_chars"
    ram_sessions = MAX_SESSIONS
