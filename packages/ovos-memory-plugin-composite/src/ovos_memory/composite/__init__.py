"""Ensemble memory: several memory plugins as one, hits fused, blocks folded, messages written through."""

from ovos_memory.composite.memory import CompositeMemory

__all__ = ["CompositeMemory"]
