"""Members: found by entry-point name, built with their own block, called with a deadline."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ovos_plugin_manager.agents import load_memory_plugin
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole
from ovos_utils.log import LOG

from ovos_memory.composite.adapt import (
    bind_search,
    read_blocks,
    read_floor,
    read_history,
    read_hits,
    read_shares,
    takes_keyword,
)
from ovos_memory.composite.gate import Gate
from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import ConfigError, MemberError, OvosMemoryError, PluginMissing
from ovos_memory.core.retrieval import RecallingMemory
from ovos_memory.core.types import MemoryHit

if TYPE_CHECKING:
    from ovos_memory.composite.settings import CompositeSettings, MemberSettings
    from ovos_memory.core.fusion import RankedList

R = TypeVar("R")


class Member:
    """A loaded member and the way to call it; its methods raise what goes wrong.

    Args:
        name: Its unique name in logs, counts and hits.
        memory: The memory object, ours or a stranger's.
        settings: Its entry in the configuration.
        plugin: The composite's entry-point name, for messages.
        clock: Returns epoch seconds.

    Raises:
        MemberError: The object is no memory.
    """

    def __init__(
        self, name: str, memory: Any, *, settings: MemberSettings, plugin: str, clock: Callable[[], float]
    ) -> None:
        self.name = name
        self.module = settings.module
        self.weight, self.exponent = settings.weight, settings.exponent
        self.memory = memory
        self.boundary = Boundary(f"{plugin}: member '{name}'", clock=clock)
        self.gate = Gate(on_late_failure=lambda error: self.boundary.failed("late_call", error))
        self.usual_wait_s: dict[str, float] = {}
        """By operation, how long it has waited lately, for a model, a disk or a server, without computing itself."""
        self.is_retriever = self._has("search")
        self.is_writable = self._has("update_history")
        self.keeps_turns = self._has("get_history") and getattr(memory, "keeps_turns", True) is not False
        self.is_told_session = True
        self.reads_times = self._has("time_fit")
        self.score_floor = read_floor(getattr(memory, "score_floor", None))
        if self.is_retriever:
            self._search, self.is_told_session = bind_search(memory.search)
        elif not self._has("build_conversation_context"):
            raise MemberError(f"{type(memory).__name__} has neither search nor build_conversation_context")

    def _has(self, method: str) -> bool:
        return callable(getattr(self.memory, method, None))

    @property
    def adds_blocks(self) -> bool:
        """Whether a context needs to ask it: a retriever of our own has its prompt or nothing."""
        memory = self.memory
        return not (self.is_retriever and isinstance(memory, RecallingMemory) and not memory.system_prompt)

    def timed(self, operation: str, question: Callable[[Member], R]) -> R:
        """Return the answer to a question, and note how long it waited for it."""
        start, computed_s = time.monotonic(), time.thread_time()
        try:
            return question(self)
        finally:
            waited_s = max(0.0, time.monotonic() - start - (time.thread_time() - computed_s))
            usual_s = self.usual_wait_s.get(operation, waited_s)
            self.usual_wait_s[operation] = usual_s + 0.25 * (waited_s - usual_s)

    def search(self, query: str, session_id: str | None, top_k: int) -> list[MemoryHit]:
        """Return its hits, best first."""
        return read_hits(self._search(query, session_id, top_k), limit=top_k)

    def time_fit(self, query: str, moments: Sequence[float]) -> list[float]:
        """Return how well each moment (epoch seconds) fits a time that a query names: 0 not at all, 1 fully."""
        return read_shares(self.memory.time_fit(query, list(moments)), count=len(moments))

    def ranked(self, hits: Sequence[MemoryHit]) -> RankedList:
        """Return hits of its own as fusion takes them."""
        from ovos_memory.core.fusion import RankedList  # here, for OPM imports every plugin to load one

        return RankedList(self.name, hits, self.weight, self.score_floor, self.exponent)

    def blocks(self, utterance: str, session_id: str) -> list[AgentMessage]:
        """Return the blocks that it adds to a context: of a retriever, whose hits are fused, its prompt."""
        if not self.is_retriever:
            return read_blocks(self.memory.build_conversation_context(utterance, session_id))
        prompt = getattr(self.memory, "system_prompt", "")
        return (
            read_blocks([AgentMessage(role=MessageRole.SYSTEM, content=prompt)])
            if isinstance(prompt, str)
            else []
        )

    def history(self, session_id: str) -> list[AgentMessage]:
        """Return its history of a session; ``[]`` when it keeps none."""
        return read_history(self.memory.get_history(session_id)) if self._has("get_history") else []

    def record(self, messages: Sequence[AgentMessage], session_id: str) -> None:
        """Hand it messages, which are its own to keep."""
        self.memory.update_history(messages, session_id)

    def newest_number(self, session_id: str) -> int | None:
        """Return the number of the session's newest document; ``None`` where that is not known."""
        return self.memory._newest_number(session_id) if isinstance(self.memory, RecallingMemory) else None

    def close(self) -> None:
        """Let it write and release what it holds, where it knows how."""
        if self._has("close"):
            self.memory.close()

    def health(self) -> dict[str, Any]:
        """Return its own account of itself, ``{}`` where it gives none."""
        found = self.memory.health() if self._has("health") else {}
        return dict(found) if isinstance(found, dict) else {}


def load_members(
    settings: CompositeSettings, *, plugin: str, refused: type, clock: Callable[[], float]
) -> tuple[list[Member], dict[str, str]]:
    """Build the members.

    Args:
        settings: The composite's settings.
        plugin: The composite's entry-point name, for messages.
        refused: A class that is no member, nor its subclasses: the composite itself.
        clock: Returns epoch seconds; another one than the system's is handed to every member that takes one.

    Returns:
        The members that loaded, in order, and the reason by name for each that did not (logged already).

    Raises:
        ConfigError: Two members have one name.
    """
    loaded, missing = [], {}
    for entry, name in zip(settings.members, member_names(settings.members, plugin=plugin), strict=True):
        try:
            memory = _build(entry, settings, refused=refused, clock=clock)
            member = Member(name, memory, settings=entry, plugin=plugin, clock=clock)
        except Exception as error:
            own = isinstance(error, OvosMemoryError)
            missing[name] = f"{type(error).__name__}: {error}" if own else type(error).__name__
            LOG.error("%s: member '%s' is left out, the others go on (%s)", plugin, name, missing[name])
            LOG.debug("%s: why member '%s' did not load", plugin, name, exc_info=not own)
            continue
        loaded.append(member)
        if settings.scope == "session" and not member.is_told_session:
            LOG.warning(
                "%s: the search of member '%s' takes no session_id; under scope 'session' only hits with a "
                "session_id in their metadata count",
                plugin,
                name,
            )
    return loaded, missing


def member_names(members: Sequence[MemberSettings], *, plugin: str) -> list[str]:
    """Return each member's name, the given one or the module; the second of a kind is ``module#2``.

    Raises:
        ConfigError: Two members were given the same name.
    """
    given = Counter(entry.name for entry in members if entry.name is not None)
    names: list[str] = []
    for position, entry in enumerate(members):
        if entry.name is None:
            names.append(_free_name(entry.module, taken={*names, *given}))
        elif entry.name in names:
            raise ConfigError(
                f"{plugin}: members[{position}].name must be no other member's name, got {entry.name!r}"
            )
        else:
            names.append(entry.name)
    return names


def _free_name(module: str, *, taken: set[str]) -> str:
    name, number = module, 2
    while name in taken:
        name, number = f"{module}#{number}", number + 1
    return name


def _build(
    entry: MemberSettings, settings: CompositeSettings, *, refused: type, clock: Callable[[], float]
) -> Any:
    found = load_memory_plugin(entry.module)
    if found is None:
        raise PluginMissing(
            f"no memory plugin '{entry.module}' is installed; pip install {entry.module}, or correct `module`"
        )
    if isinstance(found, type) and issubclass(found, refused):
        raise MemberError(
            f"'{entry.module}' is a composite, which cannot be a member; list its members instead"
        )
    block = _own_block(entry, settings, found)
    make: Callable[..., Any] = found
    if clock is not time.time and takes_keyword(
        found, "clock"
    ):  # a member lives in the time of its composite
        return make(config=block, clock=clock)
    return make(config=block)


def _own_block(entry: MemberSettings, settings: CompositeSettings, found: Any) -> dict[str, Any]:
    """Return a private copy of the member's block, the composite's scope in it where the class takes one.

    The stricter scope holds: a member set to ``global`` below a composite set to ``session`` would only be
    asked for hits that are dropped again.
    """
    block = copy.deepcopy(entry.config)
    is_passed = "scope" in settings.model_fields_set and getattr(found, "accepts_scope", False) is True
    if is_passed and (settings.scope == "session" or block.get("scope") is None):
        block["scope"] = settings.scope
    return block
