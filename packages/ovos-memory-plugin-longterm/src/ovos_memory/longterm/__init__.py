"""A rolling summary of long conversations, written by a language model, in front of the recent turns."""

from ovos_memory.longterm.memory import LongTermMemory

__all__ = ["LongTermMemory"]
