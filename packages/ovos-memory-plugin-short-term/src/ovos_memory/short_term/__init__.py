"""Short-term memory: the last messages of each session, in RAM."""

from ovos_memory.short_term.memory import BasicShortTermMemory

__all__ = ["BasicShortTermMemory"]
