"""Durable facts about the user, drawn from what they say by a language model, and kept true."""

from ovos_memory.entity.memory import EntityMemory

__all__ = ["EntityMemory"]
