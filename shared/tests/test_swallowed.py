"""No failure is swallowed in silence: whoever catches everything counts it, hands it on, or says why not."""

from __future__ import annotations

import ast
import logging
from pathlib import Path

import pytest

from ovos_memory.core.boundary import Boundary
from ovos_memory.testing.surroundings import captured_logs

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path for path in ROOT.glob("packages/*/src/**/*.py") if "testing" not in path.relative_to(ROOT).parts[1]
)
BROAD = ("Exception", "BaseException")
NARROW_ENOUGH = {
    "settings_model": "the command line lists a stranger's plugin that does not load without its settings",
    "_tried": "the failure becomes a sentence of what `forget` returns",
    "_is_sound": "the failure is the answer",
    "state": "the failure is what the command shows",
    "_bound": "a stranger's plugin that cannot be looked at has a finding of its own",
}
"""Functions that catch everything and neither raise, count nor log, with the reason."""
AT_THE_END = ("stores/chroma.py", "stores/qdrant.py")
"""Where a stranger's library is closed: nothing is lost by it, and there is nobody left who could act on it."""


def broad_handlers() -> list[tuple[str, str, ast.ExceptHandler]]:
    """Return (place, function, handler) of every handler that catches everything."""
    found = []
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for node in ast.walk(function):
                    if isinstance(node, ast.ExceptHandler) and _is_broad(node):
                        found.append((f"{path.relative_to(ROOT)}:{node.lineno}", function.name, node))
    return found


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(each, ast.Name) and each.id in BROAD for each in caught)


def _is_nothing(step: ast.stmt) -> bool:
    return isinstance(step, (ast.Pass, ast.Continue)) or (
        isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)
    )


def _does_something(handler: ast.ExceptHandler) -> bool:
    """Tell whether the failure goes on, is kept, or is told to somebody."""
    for node in ast.walk(handler):
        if isinstance(node, ast.Raise):
            return True
        if handler.name and isinstance(node, ast.Name) and node.id == handler.name:
            return True  # it is handed on, kept, or told by its type
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and "fail" in node.func.attr:
            return True
    return False


def test_the_sources_are_there() -> None:
    assert len(SOURCES) > 100 and broad_handlers()


def test_nobody_passes_over_every_failure() -> None:
    """No bare ``except``, no ``except Exception: pass``, nor anything that does the same."""
    silent = [
        f"{place} in {function}()"
        for place, function, handler in broad_handlers()
        if function not in NARROW_ENOUGH and all(_is_nothing(step) for step in handler.body)
    ]
    assert not silent, silent


def test_who_catches_everything_hands_the_failure_on_or_says_why_not() -> None:
    lines = {path: path.read_text(encoding="utf-8").splitlines() for path in SOURCES}
    wrong = []
    for place, function, handler in broad_handlers():
        path, _, line = place.partition(":")
        has_reason = any("#" in text for text in lines[ROOT / path][int(line) - 1 : handler.end_lineno])
        if not _does_something(handler) and not has_reason and function not in NARROW_ENOUGH:
            wrong.append(f"{place} in {function}()")
    assert not wrong, f"a failure is dropped without a word why: {wrong}"


def test_suppressing_names_what_it_suppresses() -> None:
    """``contextlib.suppress(Exception)`` is the same sin by another name."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("suppress")
        and any(isinstance(each, ast.Name) and each.id in BROAD for each in node.args)
        and not str(path).endswith(AT_THE_END)
    ]
    assert not wrong, wrong


@pytest.mark.parametrize(
    "error", [ValueError("Anna's secret"), OSError(5, "Anna's secret"), RecursionError(), MemoryError()]
)
def test_what_the_boundary_swallows_is_counted_each_time_and_logged_once(error: Exception) -> None:
    boundary = Boundary("ovos-memory-plugin-test")

    def fail() -> str:
        raise error

    with captured_logs() as logs:
        assert [boundary.call("search", fail, lambda: "fallback") for _ in range(5)] == ["fallback"] * 5

    assert boundary.counts()["search"]["failures"] == 5
    assert boundary.counts()["search"]["last_error"] == type(error).__name__
    lines = logs.lines(logging.WARNING)
    assert len(lines) == 1 and "ovos-memory-plugin-test" in lines[0] and "Anna" not in lines[0]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_stops_a_program_passes(stop: type[BaseException]) -> None:
    def fail() -> None:
        raise stop

    with pytest.raises(stop):
        Boundary("ovos-memory-plugin-test").call("search", fail, lambda: None)
