"""The world a test runs in: a home and working directory of its own, captured logs, a clock that steps."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ovos_utils.log import LOG

_XDG = {
    "XDG_DATA_HOME": ".local/share",
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}


@dataclass(frozen=True)
class Home:
    """Folders of a made-up user.

    Attributes:
        path: ``$HOME``.
        data: ``$XDG_DATA_HOME``.
        working: The working directory, empty at first.
    """

    path: Path
    data: Path
    working: Path


def private_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Point ``HOME`` and ``XDG_*`` into ``folder`` and change into an empty working directory."""
    home, working = folder / "home", folder / "working"
    for path in (home, working):
        path.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    for name, below in _XDG.items():
        monkeypatch.setenv(name, str(home / below))
    monkeypatch.chdir(working)
    return Home(home, home / _XDG["XDG_DATA_HOME"], working)


class SteppingClock:
    """A clock for the ``clock`` seam: stands still until told to move.

    Args:
        now: Epoch seconds it shows first.
        step_s: Seconds it moves on by itself with every look.
    """

    def __init__(self, now: float = 1_700_000_000.0, step_s: float = 0.0) -> None:
        self.now = now
        self.step_s = step_s
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """Return epoch seconds."""
        with self._lock:
            self.now += self.step_s
            return self.now

    def advance(self, seconds: float) -> None:
        """Move on (or back)."""
        with self._lock:
            self.now += seconds


@dataclass
class Logs:
    """Everything that was logged, at any level, through OVOS' ``LOG`` or :mod:`logging`.

    Attributes:
        records: In order; the texts of exceptions are part of :meth:`text`.
    """

    records: list[logging.LogRecord] = field(default_factory=list)

    def text(self, level: int = logging.NOTSET) -> str:
        """Return all lines of at least that level, tracebacks included."""
        return "\n".join(self.lines(level))

    def lines(self, level: int = logging.NOTSET) -> list[str]:
        """Return one text per record."""
        formatter = logging.Formatter("%(message)s")
        return [formatter.format(record) for record in list(self.records) if record.levelno >= level]

    def clear(self) -> None:
        """Forget what was logged so far."""
        self.records.clear()


@contextmanager
def captured_logs() -> Iterator[Logs]:
    """Record all logging, debug lines included, and restore the levels afterwards.

    OVOS' ``LOG`` makes loggers that do not propagate, so the capture sits where every record passes.
    """
    logs = Logs()
    original = logging.Logger.callHandlers
    root_level, ovos_level = logging.root.level, LOG.level

    def recording(self: logging.Logger, record: logging.LogRecord) -> None:
        logs.records.append(record)
        if self.propagate:
            original(self, record)

    logging.Logger.callHandlers = recording  # type: ignore[method-assign]
    logging.root.setLevel(logging.DEBUG)
    LOG.set_level("DEBUG")
    try:
        yield logs
    finally:
        logging.Logger.callHandlers = original  # type: ignore[method-assign]
        logging.root.setLevel(root_level)
        LOG.set_level(ovos_level)
