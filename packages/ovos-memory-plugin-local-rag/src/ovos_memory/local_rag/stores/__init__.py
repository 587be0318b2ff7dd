"""Adapters to the vector stores: one small class per store that is known, one for all others."""
