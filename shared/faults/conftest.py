"""The account, the seed and the options of the fault tests; see :mod:`faultlib.account`."""

from __future__ import annotations

import os
import platform
import random
import secrets
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from faultlib.account import Account, write

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
ACCOUNT = pytest.StashKey[Account]()
BEGAN = pytest.StashKey[float]()

SEED = 3_584_110_650
"""A change is judged by the same decisions as the one before it; every night draws new ones."""


def _seed(text: str) -> int:
    return secrets.randbelow(2**32) if text == "random" else int(text)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("faults")
    group.addoption("--seed", type=_seed, default=SEED, help="What random decisions begin with, or `random`.")
    group.addoption("--write", action="store_true", help=f"Write the table into {PAGE.name}.")
    group.addoption("--minutes", type=float, default=30.0, help="How long the soak runs.")


def pytest_configure(config: pytest.Config) -> None:
    config.option.seed = getattr(config, "workerinput", {}).get("faults_seed", config.option.seed)
    config.stash[ACCOUNT] = Account()
    config.stash[BEGAN] = time.monotonic()
    config.pluginmanager.register(_Together(config), "faults-together")


def pytest_report_header(config: pytest.Config) -> str:
    return f"faults: --seed {config.option.seed}"


@pytest.fixture(autouse=True)
def private_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the user's is read or written."""
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "xdg" / name.lower()))


@pytest.fixture
def account(request: pytest.FixtureRequest) -> Account:
    return request.config.stash[ACCOUNT]


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Random decisions of one test, the same ones for the same seed."""
    return random.Random(f"{request.config.option.seed} {request.node.name}")


class _Together:
    """Gathers the accounts of all worker processes, shows the sum, and writes it when asked."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["faults_seed"] = self._config.option.seed

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self._config.stash[ACCOUNT].add(getattr(node, "workeroutput", {}).get("faults", {}))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["faults"] = self._config.stash[ACCOUNT].as_dict()

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        account = self._config.stash[ACCOUNT]
        if not account.lines:
            return
        terminalreporter.section(f"faults (seed {self._config.option.seed})")
        terminalreporter.write_line(account.as_markdown())
        if self._config.option.write and exitstatus == 0:
            write(account, PAGE, self._facts())
        elif self._config.option.write:
            terminalreporter.write_line("not written: a run that failed proves nothing")

    def _facts(self) -> dict[str, Any]:
        minutes = (time.monotonic() - self._config.stash[BEGAN]) / 60
        return {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "Python": platform.python_version(),
            "SQLite": sqlite3.sqlite_version,
            "processors": os.cpu_count(),
            "seed": self._config.option.seed,
            "minutes": round(minutes, 1),
        }
