"""The failure boundary: the turn goes on, the failure is counted, the log says it once and never what was said."""

from __future__ import annotations

import pytest
from ovos_utils.log import LOG

from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import StoreUnavailable


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(LOG, "warning", lambda text, *values: lines.append(text % values))
    return lines


def failing(error: BaseException) -> object:
    def function() -> str:
        raise error

    return function


def test_a_result_passes_through() -> None:
    assert Boundary("p").call("search", lambda: "found", lambda: "nothing") == "found"


def test_a_failure_gives_the_fallback_and_is_counted(warnings: list[str]) -> None:
    boundary = Boundary("p", clock=lambda: 12.5)

    assert boundary.call("search", failing(KeyError("x")), lambda: "nothing") == "nothing"
    assert boundary.counts() == {"search": {"failures": 1, "last_error": "KeyError", "last_at": 12.5}}


def test_each_kind_of_failure_is_logged_once(warnings: list[str]) -> None:
    boundary = Boundary("p")

    for _ in range(5):
        boundary.call("search", failing(KeyError("x")), list)
        boundary.call("search", failing(OSError("x")), list)
        boundary.call("write", failing(OSError("x")), list)

    assert len(warnings) == 3
    assert boundary.counts()["search"]["failures"] == 10


def test_a_foreign_exception_is_never_quoted(warnings: list[str]) -> None:
    Boundary("p").call("search", failing(ValueError("my pin is 4512")), list, session_id="Ann@home")

    assert "4512" not in warnings[0]
    assert "Ann" not in warnings[0]
    assert warnings[0].startswith("p: search failed for session ")
    assert "(ValueError)" in warnings[0]


def test_our_own_error_is_quoted_with_its_remedy(warnings: list[str]) -> None:
    Boundary("p").call("write", failing(StoreUnavailable("cannot write /x/y; make it writable")), list)

    assert "StoreUnavailable: cannot write /x/y; make it writable" in warnings[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_passes_through(error: BaseException) -> None:
    with pytest.raises(type(error)):
        Boundary("p").call("search", failing(error), list)


def test_failures_reach_the_sink_and_a_failing_sink_does_no_harm(warnings: list[str]) -> None:
    seen: list[tuple[str, str, float]] = []
    Boundary("p", clock=lambda: 1.0, sink=lambda *values: seen.append(values)).call(
        "a", failing(OSError()), list
    )

    def broken(*values: object) -> None:
        raise OSError("no space")

    assert Boundary("p", sink=broken).call("a", failing(OSError()), list) == []
    assert seen == [("a", "OSError", 1.0)]
