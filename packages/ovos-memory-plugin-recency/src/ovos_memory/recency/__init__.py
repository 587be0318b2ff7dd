"""Recency memory: the last messages of each session, by count and by age, across restarts where so set."""

from ovos_memory.recency.memory import RecencyMemory

__all__ = ["RecencyMemory"]
