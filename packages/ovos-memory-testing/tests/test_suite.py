from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ovos_memory.testing.context import ContextSuite
from ovos_memory.testing.contract import SUITES, MemoryContract
from ovos_memory.testing.history import HistorySuite
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.suite import Declarations, MemorySuite, needs

RULE = "test_an_exchange_is_kept_as_it_was_said"


def make(config: dict[str, Any]) -> ReferenceMemory:
    return ReferenceMemory(config)


def test_a_rule_cannot_be_overridden() -> None:
    with pytest.raises(TypeError, match=f"overrides {RULE}.*expected_failures"):
        type("Bent", (HistorySuite,), {"factory": ReferenceMemory, RULE: lambda self: None})


def test_a_rule_cannot_be_overridden_through_a_class_between() -> None:
    class Base(HistorySuite):
        factory = ReferenceMemory

    with pytest.raises(TypeError, match=f"overrides {RULE}"):
        type("Bent", (Base,), {RULE: None})


@pytest.mark.parametrize("word", ["new", "context", "tell", "_world", "rules"])
def test_the_words_of_the_rules_cannot_be_overridden(word: str) -> None:
    with pytest.raises(TypeError, match=f"overrides {word}"):
        type("Bent", (HistorySuite,), {"factory": ReferenceMemory, word: lambda self: None})


def test_a_backend_may_add_tests_of_its_own() -> None:
    class Own(HistorySuite):
        factory = ReferenceMemory

        def test_something_of_its_own(self) -> None:
            """It is collected beside the rules."""

    assert "test_something_of_its_own" in vars(Own) and "test_something_of_its_own" not in Own.rules()


def test_an_expected_failure_must_be_a_rule() -> None:
    with pytest.raises(TypeError, match="names no rules of its suites: test_gone"):
        type("Old", (HistorySuite,), {"factory": ReferenceMemory, "expected_failures": {"test_gone": "?"}})


def test_rules_that_need_an_undeclared_capability_are_not_collected() -> None:
    class Forgetful(HistorySuite):
        factory = ReferenceMemory
        keeps_history = False

    assert getattr(Forgetful, RULE) is None
    assert Forgetful.test_an_empty_update_changes_nothing is not None


def test_a_capability_of_a_subclass_counts() -> None:
    class Plain(HistorySuite):
        factory = ReferenceMemory
        keeps_history = False

    class Keeping(Plain):
        keeps_history = True

    assert getattr(Plain, RULE) is None
    assert getattr(Keeping, RULE) is HistorySuite.rules()[RULE]


def test_a_rule_may_need_a_certain_value() -> None:
    class Suite(MemorySuite):
        @needs("store_format=sqlite")
        def test_locks(self) -> None:
            """Needs SQLite."""

    for store_format, is_due in (("sqlite", True), ("json", False), (None, False)):
        subject = type("Subject", (Suite,), {"factory": ReferenceMemory, "store_format": store_format})
        assert (subject.test_locks is not None) == is_due  # type: ignore[attr-defined]


def test_every_declaration_is_described() -> None:
    source = Path(str(__import__("inspect").getsourcefile(Declarations))).read_text()
    block = source[source.index("class Declarations") : source.index("def __init_subclass__")]

    assert block.count("ClassVar[") == block.count('"""') // 2 - 1


def test_a_factory_may_be_a_function() -> None:
    class Made(ContextSuite):
        factory = make

    assert Made.factory is make and isinstance(Made.factory({}), ReferenceMemory)


def test_the_contract_is_made_of_all_suites() -> None:
    assert set(MemoryContract.rules()) == {rule for suite in SUITES for rule in suite.rules()}


def test_every_rule_has_a_docstring_that_says_why() -> None:
    assert [name for name, rule in MemoryContract.rules().items() if not rule.__doc__] == []


def test_names_of_rules_are_unique() -> None:
    names = [name for suite in SUITES for name in vars(suite) if name.startswith("test_")]

    assert len(names) == len(set(names))
