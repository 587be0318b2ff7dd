"""The base of all contract suites: what a backend declares, and what keeps the rules binding.

A backend subclasses suites with one factory and its capabilities.  Rules that need a capability it does not
declare are not collected; no rule can be overridden; one that fails for a known reason is listed in
``expected_failures`` and reported as such, until it passes.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.testing.checks import check_context
from ovos_memory.testing.messages import pair, private_copy
from ovos_memory.testing.processes import Child, Location
from ovos_memory.testing.surroundings import Home, Logs, captured_logs, private_home

Test = TypeVar("Test", bound=Callable[..., None])


def needs(*capabilities: str) -> Callable[[Test], Test]:
    """Mark a rule as one for backends that declare these capabilities, or ``"capability=value"``."""

    def mark(test: Test) -> Test:
        test.__dict__["needs"] = capabilities
        return test

    return mark


class Declarations:
    """What a backend says about itself; everything else in a suite is binding."""

    factory: ClassVar[Callable[..., Any]]
    """Makes a memory from a configuration: the plugin's class, or a module-level function."""
    plugin: ClassVar[str] = ""
    """Entry-point name; log lines and errors have to name it."""
    module: ClassVar[str] = ""
    """Module that the entry point names; the factory's own by default."""
    config: ClassVar[Mapping[str, Any]] = {}
    """Settings that every memory of the suite gets."""
    expected_failures: ClassVar[Mapping[str, str]] = {}
    """Rules that are known to fail: name to reason."""

    keeps_history: ClassVar[bool] = True
    """``get_history`` returns what was said."""
    retrieves: ClassVar[bool] = False
    """Has ``search``, puts hits into contexts and knows ``retrieval``, ``context`` and ``inject_mode``."""
    scopes: ClassVar[bool] = False
    """Knows ``scope``."""
    thresholds: ClassVar[bool] = False
    """Knows ``retrieval.min_score``."""
    stores_texts: ClassVar[bool] = False
    """Has ``store(text, session_id)``."""
    persistent: ClassVar[bool] = False
    """What it accepted survives the process, under the folder given to :meth:`configure`."""
    manages: ClassVar[bool] = False
    """Keeps the management contract: records, edit, forget, export, import."""
    llm_backed: ClassVar[bool] = False
    """Asks a language model."""
    prompts: ClassVar[bool] = True
    """Knows ``system_prompt``."""
    reports_health: ClassVar[bool] = False
    """Has ``health()`` with counters of what failed."""
    takes_over_damage: ClassVar[bool] = True
    """Sets a damaged file aside and begins a new one."""
    window_key: ClassVar[str | None] = "max_history"
    """Setting that bounds the history in messages; ``None``: there is none."""
    window_chars_key: ClassVar[str | None] = None
    """Setting that bounds the history of a context in characters."""
    top_k_key: ClassVar[str] = "retrieval.max_num_results"
    """Setting that bounds the hits."""
    path_key: ClassVar[str | None] = None
    """Setting that names the file."""
    store_format: ClassVar[str | None] = None
    """``sqlite`` or ``json`` when the file is one."""
    ram_sessions: ClassVar[int | None] = None
    """How many sessions a memory without a file holds at most."""
    settings_model: ClassVar[Any] = None
    """A function that returns the pydantic model of the settings."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Take functions as they were declared, never as methods; in a class that only declares, too."""
        super().__init_subclass__(**kwargs)
        for name in ("factory", "settings_model", "configure"):
            if isinstance(vars(cls).get(name), types.FunctionType):
                setattr(cls, name, staticmethod(vars(cls)[name]))

    @staticmethod
    def configure(folder: Path) -> dict[str, Any]:
        """Return the settings that make a memory keep its files in a folder; ``{}``: it keeps none."""
        return {}


_DECLARED = frozenset(name for name in vars(Declarations) if not name.startswith("__")) | {"factory"}


class MemorySuite(Declarations):
    """Base of the suites: makes memories, gives each test a world of its own, keeps the rules binding."""

    home: Home
    logs: Logs
    folder: Path

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "factory"):
            return
        _refuse_overrides(cls)
        rules = cls.rules()
        unknown = sorted(set(cls.expected_failures) - set(rules))
        if unknown:
            raise TypeError(
                f"{cls.__name__}.expected_failures names no rules of its suites: {', '.join(unknown)}"
            )
        for name, rule in rules.items():
            is_due = all(_has(cls, capability) for capability in getattr(rule, "needs", ()))
            if (getattr(cls, name) is None) == is_due:
                setattr(cls, name, rule if is_due else None)

    @classmethod
    def rules(cls) -> dict[str, Callable[..., None]]:
        """Return the rules of the suites that this class is made of, those that do not apply included."""
        suites = [
            base for base in cls.__mro__ if issubclass(base, MemorySuite) and not hasattr(base, "factory")
        ]
        return {
            n: rule for suite in reversed(suites) for n, rule in vars(suite).items() if n.startswith("test_")
        }

    # ------------------------------------------------------------------ the world of one test
    @pytest.fixture(autouse=True)
    def _world(
        self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[None]:
        reason = self.expected_failures.get(getattr(request.node, "originalname", request.node.name))
        if reason is not None:
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
        self.home = private_home(tmp_path, monkeypatch)
        self.folder = tmp_path / "store"
        self._memories: list[Any] = []
        self._children: list[Child] = []
        with captured_logs() as self.logs:
            try:
                yield
            finally:
                for child in self._children:
                    child.kill()
                for memory in self._memories:
                    getattr(memory, "close", lambda: None)()

    # ------------------------------------------------------------------ words of the rules
    def new(self, settings: Mapping[str, Any] | None = None, *, folder: Path | None = None) -> Any:
        """Return a new memory on the test's folder; a second one sees what the first has written."""
        memory = type(self).factory(self.settings(settings, folder=folder))
        self._memories.append(memory)
        return memory

    def settings(
        self, changes: Mapping[str, Any] | None = None, *, folder: Path | None = None
    ) -> dict[str, Any]:
        """Return a configuration: the backend's own, its files in the folder, some changes (dotted keys)."""
        settings: dict[str, Any] = private_settings({**self.config, **self.configure(folder or self.folder)})
        for key, value in (changes or {}).items():
            put(settings, key, value)
        return settings

    def context(
        self, memory: Any, utterance: str | None, session_id: str | None = "s", *, prompt: str | None = None
    ) -> list[AgentMessage]:
        """Return a context after the one contract check that every context has to pass.

        It is built twice, for equal state must give equal contexts.
        """
        first = memory.build_conversation_context(utterance, session_id)
        kept = private_copy(first)
        check_context(first, utterance, prompt=prompt)
        second: list[AgentMessage] = memory.build_conversation_context(utterance, session_id)
        assert second == kept, "the same state and utterance gave another context"
        return second

    @staticmethod
    def tell(memory: Any, question: Any, answer: Any = "noted", session_id: str | None = "s") -> None:
        """Record one exchange."""
        memory.update_history(pair(question, answer), session_id)

    def child(self, settings: Mapping[str, Any] | None = None, *, folder: Path | None = None) -> Child:
        """Return another process that holds a memory of the same configuration."""
        child = Child(Location.of(type(self).factory), self.settings(settings, folder=folder))
        self._children.append(child)
        return child


def put(settings: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key."""
    *parents, leaf = key.split(".")
    for parent in parents:
        settings = settings.setdefault(parent, {})
    settings[leaf] = value


def private_settings(value: Any) -> Any:
    """Return a deep copy of a configuration whose mappings are plain dicts."""
    if isinstance(value, Mapping):
        return {key: private_settings(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [private_settings(part) for part in value]
    return str(value) if isinstance(value, Path) else value


def _has(cls: type[MemorySuite], capability: str) -> bool:
    name, is_exact, value = capability.partition("=")
    declared = getattr(cls, name)
    return declared == value if is_exact else bool(declared)


def _refuse_overrides(cls: type[MemorySuite]) -> None:
    own = [name for name in vars(cls) if not (name.startswith("__") and name.endswith("__"))]
    inherited = [
        base for base in cls.__mro__ if issubclass(base, MemorySuite) and not hasattr(base, "factory")
    ]
    binding = {name for base in inherited for name in vars(base)} - _DECLARED
    taken = sorted(binding.intersection(own))
    if taken:
        raise TypeError(
            f"{cls.__name__} overrides {', '.join(taken)}: rules are binding; list one that cannot hold in "
            f"expected_failures, with the reason"
        )
