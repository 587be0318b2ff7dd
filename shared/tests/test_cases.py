"""Every case that real users' reports taught has tests, and they exist."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHARED = Path(__file__).resolve().parents[1]
PACKAGES = SHARED.parent / "packages"
CASES: dict[str, Any] = tomllib.loads((Path(__file__).with_name("cases.toml")).read_text(encoding="utf-8"))
NUMBERS = [
    *(1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 25, 26, 27, 28, 30, 31, 33, 34)
]
NUMBERS += [35, 36, 37, 39, 40, 43, 45, 46]
OVOS = [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14]


def sources(place: str) -> list[Path]:
    """Return the files that a place in the table means."""
    if place == "contract":
        return sorted((PACKAGES / "ovos-memory-testing/src/ovos_memory/testing").glob("*.py"))
    folder, _, name = place.rpartition("/")
    if folder.startswith("shared/"):
        return [SHARED.parent / f"{place}.py"]
    if folder == "faults":
        return [SHARED / "faults" / f"{name}.py"]
    package = (
        f"ovos-memory-{folder}" if folder in ("core", "cli", "testing") else f"ovos-memory-plugin-{folder}"
    )
    return [PACKAGES / package / "tests" / f"{name}.py"]


def test_no_case_is_missing() -> None:
    assert sorted(CASES) == sorted([*(f"C{n:02}" for n in NUMBERS), *(f"O{n}" for n in OVOS)])


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_tests_of_a_case_exist(case: str) -> None:
    assert CASES[case]["tests"], f"{case} has no test"
    for named in CASES[case]["tests"]:
        place, _, test = named.partition("::")
        text = "\n".join(path.read_text(encoding="utf-8") for path in sources(place))
        assert re.search(rf"\bdef {test or 'test_'}", text), f"{case}: {named} does not exist"
