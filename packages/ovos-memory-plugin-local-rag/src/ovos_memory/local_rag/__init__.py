"""Semantic recall on this machine: any text embedder, any vector store, and a ledger that loses nothing."""

from ovos_memory.local_rag.memory import LocalRAGMemory

__all__ = ["LocalRAGMemory"]
