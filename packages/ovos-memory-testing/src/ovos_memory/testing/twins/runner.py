"""Runs twins against their suites and tells which rules they broke."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.testing.suite import MemorySuite
from ovos_memory.testing.twins.catalogue import Store, Twin

_HOST = "from ovos_memory.testing.twins.runner import waiting\nglobals().update(waiting())\n"
_FILES: Mapping[Store, str] = {"ram": "", "lines": "events.jsonl", "sqlite": "events.db"}
_waiting: dict[str, type[MemorySuite]] = {}


def broken_rules(twins: Iterable[Twin]) -> dict[str, set[str]]:
    """Run twins in one pytest session of their own and return the rules that each broke."""
    chosen = {f"Test{twin.name}": twin for twin in twins}
    _waiting.update({name: _subject(name, twin) for name, twin in chosen.items()})
    broken = _Broken()
    with tempfile.TemporaryDirectory() as folder, _silence() as output:
        # Named after its folder: pytest takes a module of the same name for the one that it imported before.
        host = Path(folder, f"test_{Path(folder).name}.py")
        host.write_text(_HOST)
        options = [
            "-p",
            "no:cacheprovider",
            "--import-mode=importlib",
            "-c",
            "/dev/null",
            "--rootdir",
            folder,
        ]
        status = pytest.main([*options, "--rootdir", folder, str(host)], plugins=[broken])
    _waiting.clear()
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"the session of the twins ended with {status!r}:\n{output.getvalue()}")
    return {twin.name: broken.rules[name] for name, twin in chosen.items()}


def waiting() -> dict[str, type[MemorySuite]]:
    """Return the classes that the session collects."""
    return dict(_waiting)


class _Broken:
    """A pytest plugin that notes what failed."""

    def __init__(self) -> None:
        self.rules: dict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            name, rule = _rule(report.nodeid)
            self.rules[name].add(rule)


def _rule(node: str) -> tuple[str, str]:
    _, name, rule = node.partition("[")[0].split("::")
    return name, rule


def _subject(name: str, twin: Twin) -> type[MemorySuite]:
    from ovos_memory.testing.reference_settings import ReferenceSettings

    file = _FILES[twin.store]
    declared: dict[str, Any] = {
        "factory": staticmethod(twin.factory),
        "plugin": "ovos-memory-plugin-reference",
        "retrieves": True,
        "scopes": True,
        "thresholds": True,
        "stores_texts": True,
        "reports_health": True,
        "window_chars_key": "max_history_chars",
        "settings_model": lambda: ReferenceSettings,
    }
    if file:
        declared |= {
            "persistent": True,
            "path_key": "db_path",
            "configure": lambda folder: {"db_path": folder / file},
        }
        declared["store_format"] = "sqlite" if twin.store == "sqlite" else None
    return type(name, (twin.suite,), {**declared, **twin.declared, "__module__": __name__})


@contextlib.contextmanager
def _silence() -> Iterator[io.StringIO]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        yield output
