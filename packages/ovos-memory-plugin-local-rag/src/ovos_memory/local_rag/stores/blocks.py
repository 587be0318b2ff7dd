"""Fresh memory for a store that writes what it was given, used or not."""

from __future__ import annotations

import ctypes

_M_MMAP_THRESHOLD = -3
_THRESHOLD_BYTES = 32 * 1024
"""Below the smallest index: chromadb makes room for 100 vectors at once, of 128 numbers and more each."""


def give_fresh_blocks() -> bool:
    """Have the C library take large blocks from the system, zeroed, from now on; return whether it does.

    chromadb's index (hnswlib) writes its whole block of memory to disk, the part included that holds no vector yet.
    What another thread has freed, such as a text that somebody wants forgotten, would be in there: forgotten and all
    the same on disk.  glibc alone can be told (``mallopt(3)``); it hands out recycled blocks only below the threshold.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES))
    except (AttributeError, OSError, TypeError):  # musl, macOS; Windows
        return False
