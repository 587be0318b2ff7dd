"""What a twin is, and where the twins are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ovos_memory.testing.suite import MemorySuite

Store = Literal["ram", "lines", "sqlite"]
Memory = TypeVar("Memory", bound=Callable[..., Any])

TWINS: list[Twin] = []
"""All twins, in the order in which they were defined."""


@dataclass(frozen=True)
class Twin:
    """A broken memory.

    Attributes:
        name: What is wrong with it.
        factory: Makes it.
        suite: The suite that it is run against.
        rules: The rules of that suite which it breaks; it keeps all others.
        store: What it keeps its events in.
        declared: What it says about itself beyond the reference memory.
    """

    name: str
    factory: Callable[..., Any]
    suite: type[MemorySuite]
    rules: frozenset[str]
    store: Store = "ram"
    declared: Mapping[str, Any] = field(default_factory=dict)


def twin(
    suite: type[MemorySuite], *rules: str, store: Store = "ram", **declared: Any
) -> Callable[[Memory], Memory]:
    """List the decorated class as a twin that breaks these rules (names without ``test_``) of a suite."""

    def enlist(memory: Memory) -> Memory:
        named = frozenset(f"test_{rule}" for rule in rules)
        unknown = sorted(rule for rule in named if rule not in vars(suite))
        if unknown:
            raise TypeError(f"{memory.__name__}: {suite.__name__} has no {', '.join(unknown)}")
        TWINS.append(Twin(memory.__name__, memory, suite, named, store, declared))
        return memory

    return enlist


def rules_without_twin(contract: type[MemorySuite], twins: Iterable[Twin]) -> list[str]:
    """Return the rules of a contract that none of these twins breaks, sorted."""
    broken = {rule for twin in twins for rule in twin.rules}
    return sorted(set(contract.rules()) - broken)
