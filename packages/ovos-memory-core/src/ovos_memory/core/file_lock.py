"""A lock between processes, on a file beside the one that it guards."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ovos_memory.core.errors import StoreLocked
from ovos_memory.core.files import create_private_file, make_private_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

_STEP_S = 0.005


@contextlib.contextmanager
def file_lock(path: Path, *, name: str, wait_s: float) -> Iterator[None]:
    """Hold the lock file at ``path``, which is created and stays; threads exclude each other as well.

    The system lets go of the lock when the process dies.

    Args:
        path: The lock file.
        name: Of what it guards, for messages.
        wait_s: Seconds to wait at most.

    Raises:
        StoreLocked: Another one held it all the time.
        OSError: The file cannot be created.
    """
    if not path.exists():
        make_private_folder(path.parent)
        create_private_file(path)
    descriptor = os.open(path, os.O_RDWR)
    try:
        deadline = time.monotonic() + wait_s
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise StoreLocked(f"{name} is locked by another process; it is tried again later")
            time.sleep(_STEP_S)
        try:
            yield
        finally:
            # Said aloud: a forked child may hold a copy of the descriptor, which would keep the lock.
            _unlock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        if fcntl is None:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(descriptor: int) -> None:
    if fcntl is None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
