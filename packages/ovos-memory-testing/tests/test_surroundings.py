from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from ovos_utils.log import LOG

from ovos_memory.testing.surroundings import SteppingClock, captured_logs, private_home


def test_a_private_home_is_everything_a_program_looks_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = private_home(tmp_path, monkeypatch)

    assert Path.home() == home.path and Path.cwd() == home.working
    assert Path(os.environ["XDG_DATA_HOME"]) == home.data
    assert all(os.environ[f"XDG_{n}_HOME"].startswith(str(home.path)) for n in ("CONFIG", "STATE", "CACHE"))


def test_all_logging_is_captured_and_levels_are_restored() -> None:
    before = LOG.level, logging.root.level
    with captured_logs() as logs:
        LOG.debug("one %s", 1)
        logging.getLogger("other").warning("two")
        try:
            raise ValueError("three")
        except ValueError:
            LOG.exception("failed")

    assert logs.lines(logging.WARNING)[0] == "two"
    assert "one 1" in logs.text() and "ValueError: three" in logs.text()
    assert (LOG.level, logging.root.level) == before
    logs.clear()
    LOG.info("later")
    assert logs.text() == ""


def test_a_clock_moves_when_told() -> None:
    clock = SteppingClock(100.0, step_s=1.0)

    assert [clock(), clock()] == [101.0, 102.0]
    clock.advance(-50)
    assert clock() == 53.0
