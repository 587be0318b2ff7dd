"""Every twin of the management suite breaks the rules that it names, and no others."""

from __future__ import annotations

import pytest

from ovos_memory.testing.twins import forgettings, managements
from ovos_memory.testing.twins.catalogue import TWINS, Twin
from ovos_memory.testing.twins.runner import broken_rules

MINE = [twin for twin in TWINS if twin.factory.__module__ in (forgettings.__name__, managements.__name__)]


@pytest.fixture(scope="module")
def broken() -> dict[str, set[str]]:
    return broken_rules(MINE)


@pytest.mark.slow
@pytest.mark.parametrize("twin", MINE, ids=lambda twin: twin.name)
def test_a_twin_breaks_its_rules_and_no_others(twin: Twin, broken: dict[str, set[str]]) -> None:
    assert broken[twin.name] == twin.rules
