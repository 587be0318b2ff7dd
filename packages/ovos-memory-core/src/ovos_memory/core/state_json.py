"""Records in one JSON file, replaced as a whole: readable with any editor, meant for few sessions.

Cost: a read that finds the file unchanged parses one record; an update writes the whole file, of which only
the changed record is serialised anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ovos_utils.log import LOG

from ovos_memory.core.errors import StoreLocked, StoreUnavailable
from ovos_memory.core.file_lock import file_lock
from ovos_memory.core.files import backup_1x, make_private_folder, remove_copies, replace_file, set_aside
from ovos_memory.core.shared import ProcessLock
from ovos_memory.core.state_json_format import NotOurs, dump_entry, file_parts, load_entry, parse_file
from ovos_memory.core.state_types import WAIT_S, Change, Convert1x, Record

MANY_SESSIONS = 2_000
"""Beyond it the log says once that the ``sqlite`` backend is meant for so many."""


class _Seen:
    """A file as it was read.  It is held open: its inode number cannot be given to another file meanwhile."""

    descriptor = -1

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDONLY)
        status = os.fstat(self.descriptor)
        self.identity = (status.st_dev, status.st_ino)
        self._mark = _mark(status)

    def is_still(self, path: Path) -> bool:
        try:
            return _mark(os.stat(path)) == self._mark
        except FileNotFoundError:
            return False

    def read(self) -> bytes:
        with open(self.descriptor, "rb", closefd=False) as file:
            return file.read()

    def let_go(self) -> None:
        """Close the file."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor != -1:
            os.close(descriptor)

    def __del__(self) -> None:
        self.let_go()


def _mark(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class JsonState:
    """See :class:`~ovos_memory.core.state_types.DurableState`; safe from any thread and any process.

    The file is opened at the first use.  One that 1.x left is copied and converted then, a damaged one set
    aside.

    Args:
        path: The file; folder and file are created for their owner only.
        kind: What the records are; a file of another kind is refused.
        plugin: Who asks, for messages.
        convert_1x: Converts what 1.x left.
    """

    def __init__(
        self, path: Path | str, *, kind: str, plugin: str, convert_1x: Convert1x | None = None
    ) -> None:
        self.path = Path(os.path.realpath(path))
        self._kind = kind
        self._where = f"{plugin}: {self.path}"
        self._convert_1x = convert_1x
        self._lock_path = self.path.with_name(self.path.name + ".lock")
        self._turn = ProcessLock()
        """Held by the thread that writes, for as long as it waits for other processes."""
        self._cache_lock = ProcessLock()
        self._entries: dict[str, bytes] = {}
        self._seen: _Seen | None = None
        self._is_told = False

    # ------------------------------------------------------------------ the store
    def load(self, session_id: str, *, wait_s: float = WAIT_S) -> Record | None:
        """Return a private copy of a session's record.  Cost: one look at the file, and the record."""
        entry = self._current(wait_s).get(_key(session_id))
        return None if entry is None else load_entry(entry)

    def update(self, session_id: str, change: Change) -> Record | None:
        """Replace a session's record by what ``change`` makes of it; durable when the call returns."""
        return self.apply([(session_id, change)])[0]

    def apply(self, changes: Sequence[tuple[str, Change]], *, wait_s: float = WAIT_S) -> list[Record | None]:
        """Make many changes, in order, in one write of the file: all or none.

        Raises:
            StoreLocked: Others were writing all the time.
            StoreError: The file cannot be written; it is as it was, and no temporary file stays.
        """
        deadline = time.monotonic() + wait_s
        if not self._turn.acquire(max(0.0, wait_s)):
            raise StoreLocked(f"{self._where} is being written by other threads; it is tried again later")
        try:
            with self._file_lock(deadline):
                before = self._current_locked()
                entries = dict(before)
                results = [self._change(entries, _key(session_id), change) for session_id, change in changes]
                if entries != before:  # not the cache: that of a store that is just being closed is empty
                    self._write(entries)
            return results
        except OSError as error:
            raise self._unavailable("written", error) from error
        finally:
            self._turn.release()

    def sessions(self) -> list[str]:
        """Return the sessions that have a record."""
        return list(self._current(WAIT_S))

    def items(self) -> Iterator[tuple[str, Record]]:
        """Yield every session with a private copy of its record, as they were at the beginning."""
        for session_id, entry in list(self._current(WAIT_S).items()):
            yield session_id, load_entry(entry)

    def scrub(self) -> list[Path]:
        """Remove set-aside files, copies, and what a crash left half written: the file itself is rewritten whole.

        Raises:
            StoreError: Others were writing all the time, or a file cannot be removed.
        """
        if not self.path.parent.is_dir():
            return []
        self._current(WAIT_S)  # a file of 1.x is taken over first, or its copy would be made later
        try:
            with self._file_lock(time.monotonic() + WAIT_S):
                return remove_copies(self.path)
        except OSError as error:
            raise self._unavailable("cleaned", error) from error

    def close(self) -> None:
        """Let go of the file; the next use reads it again."""
        with self._cache_lock:
            self._entries, self._seen = {}, None

    # ------------------------------------------------------------------ the file
    def _current(self, wait_s: float) -> dict[str, bytes]:
        """Return what the file holds now, without waiting for a writer; not to be changed."""
        deadline = time.monotonic() + wait_s
        try:
            with self._cache_lock:
                return self._refresh()
        except OSError as error:
            raise self._unavailable("read", error) from error
        except _Foreign as foreign:
            return self._taken_over(foreign, deadline)

    def _refresh(self) -> dict[str, bytes]:
        # Looked at once: the collector may close the store from within, and nothing cached is not an empty file.
        known, entries = self._seen, self._entries
        if known is not None and known.is_still(self.path):
            return entries
        try:
            seen = _Seen(self.path)
        except FileNotFoundError:
            self._entries, self._seen = {}, None
            return {}
        try:
            entries = parse_file(seen.read(), self._kind, self._where)
        except NotOurs as error:
            raise _Foreign(seen, error.raw) from error
        except ValueError as error:
            raise _Foreign(seen, None) from error
        self._remember(entries, seen)
        return entries

    def _remember(self, entries: dict[str, bytes], seen: _Seen) -> None:
        if os.name == "nt":  # an open file cannot be replaced there
            seen.let_go()
        self._entries, self._seen = entries, seen

    def _taken_over(self, foreign: _Foreign, deadline: float) -> dict[str, bytes]:
        """Convert or set aside a file that is not ours; where it cannot be written, convert what is read."""
        if not self._turn.acquire(max(0.0, deadline - time.monotonic())):
            raise StoreLocked(f"{self._where} is being written by other threads; it is tried again later")
        try:
            with self._file_lock(deadline):
                return self._current_locked()
        except OSError as error:
            converted = self._converted(foreign.raw)
            if converted is None:
                raise self._unavailable("set aside", error) from error
            return converted
        finally:
            self._turn.release()

    def _current_locked(self) -> dict[str, bytes]:
        """Return what the file holds; the caller has the file lock, so that it may be taken over."""
        with self._cache_lock:
            try:
                return self._refresh()
            except _Foreign as foreign:
                converted = self._converted(foreign.raw)
                if converted is None:
                    target = set_aside(self.path, foreign.seen.identity)
                    LOG.error(
                        "%s is damaged or unknown; it was set aside as %s and a new one begins",
                        self._where,
                        target,
                    )
                    return self._refresh()
            copy = backup_1x(self.path)
            LOG.info("%s is taken over from version 1; a copy is %s", self._where, copy)
            self._write(converted)
            return converted

    def _converted(self, raw: object) -> dict[str, bytes] | None:
        if raw is None or self._convert_1x is None:
            return None
        try:
            records = self._convert_1x(raw)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):  # no shape that 1.x wrote
            return None
        if records is None:
            return None
        return {
            _key(session_id): dump_entry(_key(session_id), record) for session_id, record in records.items()
        }

    def _write(self, entries: dict[str, bytes]) -> None:
        make_private_folder(self.path.parent)
        replace_file(self.path, file_parts(self._kind, entries.values()))
        with self._cache_lock:
            try:
                self._remember(entries, _Seen(self.path))
            except OSError:  # it is written all the same; the next call reads it
                self._entries, self._seen = {}, None
        if len(entries) > MANY_SESSIONS and not self._is_told:
            self._is_told = True
            LOG.warning(
                "%s holds %d sessions and is written as a whole each time; set backend to 'sqlite'",
                self._where,
                len(entries),
            )

    def _change(self, entries: dict[str, bytes], key: str, change: Change) -> Record | None:
        old = entries.get(key)
        record = change(None if old is None else load_entry(old))
        if record is None:
            entries.pop(key, None)
        else:
            entries[key] = dump_entry(key, record)
        return record

    def _file_lock(self, deadline: float) -> AbstractContextManager[None]:
        return file_lock(self._lock_path, name=self._where, wait_s=deadline - time.monotonic())

    def _unavailable(self, verb: str, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._where} cannot be {verb} ({type(error).__name__}: {error.strerror});"
            " check folder, permissions and room, or name another path"
        )


class _Foreign(Exception):
    """The file is none of ours; ``raw`` is what it says where it is JSON."""

    def __init__(self, seen: _Seen, raw: object) -> None:
        super().__init__("not of our shape")
        self.seen = seen
        self.raw = raw


def _key(session_id: str) -> str:
    """Return a session id as JSON can hold it: a surrogate pair is the character that it spells."""
    if session_id.isascii():
        return session_id
    return session_id.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
