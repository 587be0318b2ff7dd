"""Ensemble memory: several memory plugins behind one, their hits fused, their blocks folded, written through to all."""

from ovos_memory.composite.memory import CompositeMemory

__all__ = ["CompositeMemory"]
