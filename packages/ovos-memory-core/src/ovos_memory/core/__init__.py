"""Contracts and shared mechanics of the OVOS memory plugins.

Import the module you need (``from ovos_memory.core.types import MemoryHit``): this package imports nothing by
itself, so loading one plugin never pays for the parts of another.
"""
