"""The part of chromadb's index files that holds no vector yet."""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER = struct.Struct("=iQQQQ")
"""hnswlib's ``header.bin``: version, offset, room for so many vectors, vectors, bytes of each."""
_VERSION = 1
_CHUNK = bytes(1 << 20)


def index_bytes(folder: Path) -> int:
    """Return the size of all index files below a folder; it changes when one is made or grows."""
    return sum(path.stat().st_size for path in folder.glob("*/data_level0.bin"))


def blank_unused(folder: Path) -> None:
    """Overwrite with zeros what no vector uses, in each index below a folder.

    hnswlib makes room for many vectors at once and writes that memory to disk as it got it. What the process had
    freed before, such as a text that somebody wants forgotten, would stand there for good.  A file of another form is
    left alone.  Call it while nothing is written to the index.
    """
    for header in folder.glob("*/header.bin"):
        data = header.with_name("data_level0.bin")
        raw = header.read_bytes()
        if len(raw) < _HEADER.size or not data.is_file():
            continue
        version, _, room, used, size = _HEADER.unpack_from(raw)
        if version != _VERSION or used > room or data.stat().st_size != room * size:
            continue
        with data.open("r+b") as file:
            file.seek(used * size)
            left = (room - used) * size
            while left > 0:
                left -= file.write(_CHUNK[:left])
