"""Private folders and files, whole-file replacement, names for what is set aside, copies of what 1.x left.

Memories are personal: what we create is readable by its owner only, whatever the umask; what existed keeps
its mode.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDER_MODE = 0o700
FILE_MODE = 0o600

FileId = tuple[int, int]
"""Device and inode: tells a file from another one that took its name."""


def file_id(path: str | Path) -> FileId | None:
    """Return what identifies the file at ``path``, ``None`` when there is none."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def make_private_folder(folder: Path) -> None:
    """Create ``folder`` and its missing parents, each for its owner only; existing ones stay as they are.

    Raises:
        OSError: It cannot be created.
    """
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        try:
            os.mkdir(each, FOLDER_MODE)
        except FileExistsError:
            continue
        os.chmod(each, FOLDER_MODE)


def create_private_file(path: Path) -> bool:
    """Create an empty file for its owner only; ``False`` when the path exists already.

    Raises:
        OSError: It cannot be created.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        return False
    try:
        os.chmod(path, FILE_MODE)
    finally:
        os.close(descriptor)
    return True


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` survive a power cut, where the system can."""
    with contextlib.suppress(OSError):  # Windows opens no folders, some network file systems sync none
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Replace a file as a whole: after a crash it holds the old bytes or the new ones, never a mixture.

    The new file keeps mode and owner of the old one.  Two writers at once need a lock (:func:`file_lock` of
    :mod:`ovos_memory.core.file_lock`): the temporary file ``<name>.tmp`` has one name, so that none is left
    behind.

    Raises:
        OSError: Nothing has changed then, and no temporary file stays.
    """
    temporary = path.with_name(path.name + ".tmp")
    temporary.unlink(missing_ok=True)
    create_private_file(temporary)
    try:
        with open(temporary, "r+b") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        _adopt_mode(temporary, path)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _adopt_mode(temporary: Path, path: Path) -> None:
    """Give the new file the mode and owner of the old: root must not take a file away from its user."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return
    os.chmod(temporary, stat.S_IMODE(old.st_mode))
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):
            os.chown(temporary, old.st_uid, old.st_gid)


# ---------------------------------------------------------------------- what is set aside or kept
@contextlib.contextmanager
def folder_lock(folder: Path, *, is_shared: bool = False) -> Iterator[None]:
    """Keep other threads and processes from setting files of the folder aside; leaves no lock file.

    Those who open a file share the lock among them, until all that belongs to the file is open: SQLite finds
    a log by its name, and would take that of another file.  Where folders cannot be locked it does nothing.
    """
    descriptor = -1
    if fcntl is not None:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor != -1:
            # Said aloud: a forked child may hold a copy of the descriptor, which would keep the lock.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def set_aside(path: Path, expected: FileId | None, *, companions: Sequence[str] = ()) -> Path | None:
    """Rename a damaged file to ``<name>.corrupt-<n>``, with its companions (``"-wal"``, ``"-shm"``).

    Args:
        path: The file.
        expected: What :func:`file_id` said when it was found damaged.  When another file has taken the name
            meanwhile (another process was faster) nothing happens.
        companions: Endings of files that belong to it.

    Returns:
        The new path, or ``None`` when nothing was renamed.

    Raises:
        OSError: It cannot be renamed.
    """
    with folder_lock(path.parent):
        if expected is None or file_id(path) != expected:
            return None
        target = _free_path(path, ".corrupt-", companions)
        # The companions go first: a write-ahead log left beside a new database would be replayed into it.
        for ending in companions:
            companion = path.with_name(path.name + ending)
            with contextlib.suppress(FileNotFoundError):
                if companion.stat().st_size == 0:
                    companion.unlink()
                else:
                    os.rename(companion, target.with_name(target.name + ending))
        os.rename(path, target)
    sync_folder(path.parent)
    return target


def _free_path(path: Path, infix: str, companions: Sequence[str] = ()) -> Path:
    n = 1
    while True:
        target = path.with_name(f"{path.name}{infix}{n}")
        if not any(os.path.lexists(target.with_name(target.name + ending)) for ending in ("", *companions)):
            return target
        n += 1


def backup_path_1x(path: Path) -> Path:
    """Return a free name for a copy of what 1.x left: ``<name>.1x.bak``, or ``<name>.1x.bak-<n>``."""
    target = path.with_name(path.name + ".1x.bak")
    return _free_path(path, ".1x.bak-") if os.path.lexists(target) else target


def backup_1x(path: Path) -> Path:
    """Copy a file that 1.x left to ``<name>.1x.bak`` (mode 0600), durably, before it is converted.

    Databases that may be open need :func:`ovos_memory.core.sqlite_open.backup_database_1x`.  An equal copy
    that is there already (a conversion that was cut short) is kept.

    Raises:
        OSError: The copy cannot be written.
    """
    earlier = path.with_name(path.name + ".1x.bak")
    if earlier.is_file() and earlier.read_bytes() == path.read_bytes():
        return earlier
    target = backup_path_1x(path)
    temporary = target.with_name(target.name + ".tmp")
    temporary.unlink(missing_ok=True)
    create_private_file(temporary)
    try:
        with open(path, "rb") as source, open(temporary, "r+b") as copy:
            shutil.copyfileobj(source, copy)
            copy.flush()
            os.fsync(copy.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return target


def kept_copies(path: Path) -> list[Path]:
    """Return the set-aside files and 1.x copies beside ``path``: forgetting must reach them too."""
    beginnings = (f"{path.name}.corrupt-", f"{path.name}.1x.bak")
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return []
    return [path.with_name(name) for name in names if name.startswith(beginnings)]


def remove_copies(path: Path) -> list[Path]:
    """Delete the set-aside files and 1.x copies beside ``path``, and what a crash left half written.

    Raises:
        OSError: One cannot be deleted; the others may be gone.
    """
    unfinished = path.with_name(path.name + ".tmp")
    removed = [*kept_copies(path), *([unfinished] if unfinished.exists() else [])]
    for each in removed:
        each.unlink(missing_ok=True)
    if removed:
        sync_folder(path.parent)
    return removed


def bytes_of(path: Path) -> int:
    """Return the bytes of a store's file, a database's log included; 0 where there is none."""
    total = 0
    for ending in ("", "-wal"):
        with contextlib.suppress(OSError):
            total += os.stat(f"{path}{ending}").st_size
    return total
