"""Twins that break on a bad day, or hide it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ovos_utils.log import LOG

from ovos_memory.testing.degrade import DegradeSuite
from ovos_memory.testing.eventlog import Event, EventLog, SqliteLog
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.twins.catalogue import twin
from ovos_memory.testing.twins.stores import opened

BLOCKED = (
    "a_path_that_cannot_be_used_does_not_stop_a_persona",
    "without_a_store_the_conversation_is_kept_in_memory",
    "what_was_kept_in_memory_is_written_when_the_path_recovers",
    "trouble_is_logged_once_with_plugin_and_path",
    "health_counts_what_failed",
)


@twin(DegradeSuite, *BLOCKED, store="lines")
class OpensItsFileAtOnce(ReferenceMemory):
    """Raises in the constructor when the folder cannot be made."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__(config)
        Path(str(self.settings.db_path)).parent.mkdir(0o700, parents=True, exist_ok=True)


class _ForgetfulLog(EventLog):
    def _failed(self, operation: str, error: Exception) -> None:
        super()._failed(operation, error)
        self._held = []


@twin(
    DegradeSuite,
    "without_a_store_the_conversation_is_kept_in_memory",
    "what_was_kept_in_memory_is_written_when_the_path_recovers",
    "a_folder_in_place_of_the_file_does_not_stop_a_persona",
    "a_damaged_file_does_not_stop_a_persona",
    "a_full_disk_loses_nothing",
    store="lines",
)
class DropsWhatItCannotWrite(ReferenceMemory):
    """Counts the failure and forgets the turn."""

    def _open_log(self) -> EventLog:
        return opened(self, _ForgetfulLog)


class _HesitantLog(EventLog):
    def _write(self, events: Sequence[Event]) -> None:
        held, self._held = self._held, []
        super()._write(events)
        self._held = [*held, *self._held]


@twin(
    DegradeSuite,
    "what_was_kept_in_memory_is_written_when_the_path_recovers",
    "a_full_disk_loses_nothing",
    "a_damaged_file_does_not_stop_a_persona",
    store="lines",
)
class NeverTriesAgain(ReferenceMemory):
    """Keeps in memory what it could not write, for good."""

    def _open_log(self) -> EventLog:
        return opened(self, _HesitantLog)


class _ChattyLog(EventLog):
    def _failed(self, operation: str, error: Exception) -> None:
        self._warned.clear()
        super()._failed(operation, error)


@twin(DegradeSuite, "trouble_is_logged_once_with_plugin_and_path", store="lines")
class ComplainsEveryTime(ReferenceMemory):
    """Logs the same line on every turn."""

    def _open_log(self) -> EventLog:
        return opened(self, _ChattyLog)


@twin(
    DegradeSuite,
    "trouble_is_logged_once_with_plugin_and_path",
    "a_damaged_file_does_not_stop_a_persona",
    store="lines",
)
class SuffersInSilence(ReferenceMemory):
    """Tells nobody."""

    def _warn(self, text: str, *values: object) -> None:
        return None


@twin(DegradeSuite, "trouble_is_logged_once_with_plugin_and_path", store="lines")
class ComplainsVaguely(ReferenceMemory):
    """Says that something went wrong, not where."""

    def _warn(self, text: str, *values: object) -> None:
        if not self.__dict__.get("has_complained"):
            self.__dict__["has_complained"] = True
            LOG.error("ovos-memory-plugin-reference: storage failed")


@twin(DegradeSuite, "health_counts_what_failed", store="lines")
class AlwaysFeelsFine(ReferenceMemory):
    """Counts nothing."""

    def health(self) -> dict[str, Any]:
        """Return good news."""
        return {**super().health(), "operations": {}}


class _StubbornLog(EventLog):
    def _set_aside(self, path: Path) -> None:
        raise ValueError("the file is damaged")


@twin(DegradeSuite, "a_damaged_file_does_not_stop_a_persona", store="lines")
class RaisesForDamage(ReferenceMemory):
    """Leaves it to the persona."""

    def _open_log(self) -> EventLog:
        return opened(self, _StubbornLog)


class _TidyLog(EventLog):
    def _set_aside(self, path: Path) -> None:
        super()._set_aside(path)
        for aside in path.parent.glob("*.corrupt-*"):
            aside.unlink()


@twin(DegradeSuite, "a_damaged_file_does_not_stop_a_persona", store="lines")
class ThrowsDamageAway(ReferenceMemory):
    """Deletes what it cannot read."""

    def _open_log(self) -> EventLog:
        return opened(self, _TidyLog)


class _PlainLog(EventLog):
    def _stored(self) -> list[Event]:
        if self._path is not None and self._path.is_dir():
            raise ValueError("is a folder")
        return super()._stored()


@twin(DegradeSuite, "a_folder_in_place_of_the_file_does_not_stop_a_persona", store="lines")
class RaisesForFolders(ReferenceMemory):
    """Expects a file."""

    def _open_log(self) -> EventLog:
        return opened(self, _PlainLog)


class _RememberingLog(EventLog):
    has_written = False

    def _store(self, events: Sequence[Event]) -> None:
        if self.has_written and self._path is not None and not self._path.exists():
            raise ValueError("the file is gone")
        super()._store(events)
        self.has_written = True


@twin(DegradeSuite, "a_store_that_vanishes_while_in_use_does_not_stop_a_persona", store="lines")
class RaisesForAMissingFile(ReferenceMemory):
    """Expects its file to stay."""

    def _open_log(self) -> EventLog:
        return opened(self, _RememberingLog)


class _FragileLog(EventLog):
    @contextlib.contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        with super()._locked() as file:
            size = os.fstat(file.fileno()).st_size
            try:
                yield file
            except OSError as error:
                if size:
                    raise ValueError("no space left") from error
                raise


@twin(DegradeSuite, "a_full_disk_loses_nothing", store="lines")
class RaisesForAFullDisk(ReferenceMemory):
    """Leaves it to the persona."""

    def _open_log(self) -> EventLog:
        return opened(self, _FragileLog)


class _LitteringLog(EventLog):
    def _store(self, events: Sequence[Event]) -> None:
        assert self._path is not None
        try:
            super()._store(events)
        except OSError:
            if self._path.exists():
                self._path.with_suffix(".tmp").write_text("half of it")
            raise


@twin(DegradeSuite, "a_full_disk_loses_nothing", store="lines")
class LeavesLitter(ReferenceMemory):
    """Does not tidy up when a write has failed."""

    def _open_log(self) -> EventLog:
        return opened(self, _LitteringLog)


# ---------------------------------------------------------------------- locks

LOCKS = (
    "a_lock_of_another_process_delays_a_turn_little_and_loses_nothing",
    "a_lock_at_the_start_does_not_stop_a_persona",
)


class _PatientLog(SqliteLog):
    lock_wait_s = 3.0


@twin(DegradeSuite, LOCKS[0], store="sqlite")
class WaitsForever(ReferenceMemory):
    """Lets the persona wait for somebody else's lock."""

    def _open_log(self) -> EventLog:
        return opened(self, _PatientLog)


class _NervousLog(SqliteLog):
    def _failed(self, operation: str, error: Exception) -> None:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            self._held = []
        super()._failed(operation, error)


@twin(DegradeSuite, *LOCKS, store="sqlite")
class DropsWhatIsLockedOut(ReferenceMemory):
    """Does not come back to it."""

    def _open_log(self) -> EventLog:
        return opened(self, _NervousLog)
