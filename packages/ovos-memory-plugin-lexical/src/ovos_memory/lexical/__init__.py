"""Lexical memory: recalls exchanges by the words they share with what was said."""

from ovos_memory.lexical.memory import LexicalMemory

__all__ = ["LexicalMemory"]
