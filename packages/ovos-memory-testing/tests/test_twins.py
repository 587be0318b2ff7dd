from __future__ import annotations

from functools import cache

import pytest

from ovos_memory.testing.load import LoadSuite
from ovos_memory.testing.twins import all_twins
from ovos_memory.testing.twins.catalogue import TWINS, Twin, twin
from ovos_memory.testing.twins.runner import broken_rules

IN_MEMORY = ("contexts", "histories", "recalls", "injections", "settings")
ON_DISK = ("stores", "crowds", "failures", "talkers", "imports")


def _module(found: Twin) -> str:
    return str(found.factory.__module__).rpartition(".")[2]


def _of(*modules: str) -> list[Twin]:
    return [found for found in all_twins() if _module(found) in modules]


@cache
def _broken(module: str) -> dict[str, set[str]]:
    return broken_rules(_of(module))


@pytest.mark.parametrize("found", _of(*IN_MEMORY), ids=lambda found: found.name)
def test_a_twin_breaks_the_rules_it_names_and_no_others(found: Twin) -> None:
    assert _broken(_module(found))[found.name] == found.rules


@pytest.mark.slow
@pytest.mark.parametrize("found", _of(*ON_DISK), ids=lambda found: found.name)
def test_a_twin_with_files_or_processes_breaks_the_rules_it_names_and_no_others(found: Twin) -> None:
    assert _broken(_module(found))[found.name] == found.rules


def test_a_twin_names_rules_of_its_suite() -> None:
    before = list(TWINS)

    with pytest.raises(TypeError, match="test_there_is_no_such_rule"):
        twin(LoadSuite, "there_is_no_such_rule")(type("Odd", (), {}))
    assert before == TWINS


def test_a_twin_that_cannot_be_made_breaks_its_whole_suite() -> None:
    class Unrunnable:
        def __init__(self, config: object) -> None:
            raise RuntimeError

    broken = broken_rules([Twin("Unrunnable", Unrunnable, LoadSuite, frozenset())])

    assert broken == {"Unrunnable": {"test_looking_at_unknown_sessions_allocates_nothing"}}
