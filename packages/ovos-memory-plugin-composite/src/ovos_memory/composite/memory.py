"""The ensemble: it stores nothing itself, every contribution comes from a member."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.composite.explaining import ExplainedMembers
from ovos_memory.composite.managing import ManagedMembers
from ovos_memory.composite.members import Member, load_members
from ovos_memory.composite.named_time import with_named_time
from ovos_memory.composite.primary import choose_primary, primary_names, warn_of_no_turns
from ovos_memory.composite.rounds import Round
from ovos_memory.core.errors import ConfigError
from ovos_memory.core.exchanges import copy_message, is_answered, session_key, window
from ovos_memory.core.retrieval import RecallingMemory
from ovos_memory.core.said import really_said
from ovos_memory.core.shared import SessionLocks
from ovos_memory.core.text import clean
from ovos_memory.core.types import MemoryHit

if TYPE_CHECKING:
    from ovos_memory.composite.settings import CompositeSettings

_CLOSE_S = 5.0
_building = threading.local()


class CompositeMemory(ManagedMembers, ExplainedMembers, RecallingMemory):
    """Several memories as one: fused hits, folded blocks, one member's history; all record every message.

    A member that is missing, fails, answers with the wrong type or too late is left out for the turn; the
    others go on.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.

    Raises:
        ConfigError: A setting of the composite is wrong; a wrong setting of a member only loses that member.
    """

    plugin_name: ClassVar[str] = "ovos-memory-plugin-composite"
    settings: CompositeSettings

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        if getattr(_building, "is_active", False):
            raise ConfigError(f"{self.plugin_name}: a composite cannot be a member of a composite")
        super().__init__(config, clock=clock)
        self.settings = self.settings.with_one_top_k()
        self._turn = threading.local()
        self._writing = SessionLocks(1024)
        candidates = primary_names(self.settings, plugin=self.plugin_name)
        _building.is_active = True
        try:
            self.members, self._missing = load_members(
                self.settings, plugin=self.plugin_name, refused=CompositeMemory, clock=clock
            )
        finally:
            _building.is_active = False
        self._primary = choose_primary(
            self.members, candidates, wanted=self.settings.primary, plugin=self.plugin_name
        )
        self._is_primary_proven = self.settings.primary is not None or self._primary is None

    @classmethod
    def settings_model(cls) -> type[CompositeSettings]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""
        from ovos_memory.composite.settings import CompositeSettings

        return CompositeSettings

    # ------------------------------------------------------------------ contract
    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the primary member's history of a session, oldest first, as copies."""
        session = session_key(session_id)
        return self.boundary.call("history", lambda: self._window(session), list, session_id=session)

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Write messages through to every member.

        Each member gets deep copies of its own, without what a context injected.  It never raises for a
        member: one that fails does not stop the others, and for one that hangs the messages wait.
        """
        session = session_key(session_id)
        said: list[AgentMessage] = self.boundary.call(
            "update_history", lambda: really_said(new_messages), list
        )
        if not said:
            return
        writable = [member for member in self.members if member.is_writable]
        copies = {member.name: [copy_message(message) for message in said] for member in writable}
        with self._writing.of(session):  # one after the other, or the members would number them differently
            done = Round(
                writable,
                "update_history",
                lambda member: member.record(copies[member.name], session),
                timeout_s=self.settings.member_timeout_s,
                session_id=session,
                is_write=True,
            ).answers()
        if not self._is_primary_proven and any(member is self._primary for member, _ in done):
            self._prove_primary(said, session)

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return the messages for the chat engine: prompt, blocks, recall, history, the utterance last.

        It never raises for a member.  List and messages are the caller's to change.
        """
        session, spoken = session_key(session_id), clean(utterance).strip()
        # The search takes longest, so it begins first; blocks are fetched beside it, and the history.
        self._turn.search = self._search_ahead(spoken, session)
        self._turn.blocks = Round(
            [member for member in self.members if member.adds_blocks],
            "build_conversation_context",
            lambda member: member.blocks(spoken, session),
            timeout_s=self.settings.member_timeout_s,
            session_id=session,
        )
        try:
            return super().build_conversation_context(utterance, session_id)
        finally:
            del self._turn.blocks, self._turn.search

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return the members' hits, fused, best first.

        Args:
            query: Text to search for; a blank one finds nothing.
            session_id: The caller's session.  Under ``scope: session`` only hits of it are returned (without
                one nothing is found).
            top_k: How many at most, without an upper limit; ``None``: ``max_num_results``.

        Returns:
            Hits whose metadata tell where they came from: ``fusion_score``, and ``retrievers`` with rank and
            score per member.
        """
        text = clean(query).strip()
        limit = self.settings.max_num_results if top_k is None else top_k
        if not text or limit <= 0 or (self._is_scoped and session_id is None):
            return []
        return self.boundary.call(
            "search", lambda: self._fused(text, session_id, limit), list, session_id=session_id
        )

    def close(self) -> None:
        """Wait for overdue members and let all write what they hold, 5 s at most; it may be used again."""
        deadline = time.monotonic() + _CLOSE_S
        for member in self.members:
            member.gate.drain(max(0.0, deadline - time.monotonic()))
        Round(self.members, "close", Member.close, timeout_s=max(0.1, deadline - time.monotonic())).answers()

    def health(self) -> dict[str, Any]:
        """Return what went wrong since the process began, of the composite and of each member by its name."""
        told = {
            member.name: account
            for member, account in Round(
                self.members, "health", Member.health, timeout_s=self.settings.member_timeout_s
            ).answers()
        }
        members: dict[str, Any] = {
            member.name: {
                "module": member.module,
                "state": "ready" if member.gate.is_open else "overdue",
                "held_writes": member.gate.held,
                "lost_writes": member.gate.lost,
                "operations": member.boundary.counts(),
                "health": told.get(member.name, {}),
            }
            for member in self.members
        }
        missing = {name: {"state": "missing", "reason": reason} for name, reason in self._missing.items()}
        return {**super().health(), "members": {**members, **missing}}

    # ------------------------------------------------------------------ what the base asks for
    def _window(self, session_id: str, enough_chars: int | None = None) -> list[AgentMessage]:
        if self._primary is None:
            return []
        answers = Round(
            [self._primary],
            "get_history",
            lambda member: member.history(session_id),
            timeout_s=self.settings.member_timeout_s,
            session_id=session_id,
        ).answers()
        return window(answers[0][1], self.settings.max_history) if answers else []

    def _member_blocks(self, session_id: str, utterance: str) -> Sequence[AgentMessage]:
        return [block for _, blocks in self._turn.blocks.answers() for block in blocks]

    def _newest_number(self, session_id: str) -> int:
        answers = Round(
            self.members,
            "number",
            lambda member: member.newest_number(session_id),
            timeout_s=self.settings.member_timeout_s,
            session_id=session_id,
        ).answers()
        known = [number for _, number in answers if number is not None]
        if known:
            return max(known)
        turns = sum(message.role is MessageRole.USER for message in self._window(session_id))
        return max(turns - 1, 0)

    # ------------------------------------------------------------------ inside
    @property
    def _is_scoped(self) -> bool:
        return self.settings.scope == "session"

    def _fused(self, text: str, session_id: str | None, limit: int) -> list[MemoryHit]:
        from ovos_memory.core.fusion import fuse  # here, for OPM imports every plugin to load one

        ahead, self._turn.search = getattr(self._turn, "search", None), None
        if ahead is not None and ahead[0] == (text, session_id, limit):
            asked = ahead[1]
        else:
            asked = self._ask_retrievers(text, session_id, limit)
        lists = with_named_time(
            [member.ranked(self._in_scope(member, hits, session_id)) for member, hits in asked.answers()],
            text,
            members=self.members,
            settings=self.settings,
            session_id=session_id,
        )
        settings, least = self.settings, self.settings.retrieval.min_score
        hits = fuse(settings.fusion, lists, rrf_k=settings.rrf_k, dedup=settings.dedup, limit=limit)
        return hits if least is None else [hit for hit in hits if hit.score >= least]

    def _search_ahead(
        self, spoken: str, session_id: str
    ) -> tuple[tuple[str, str, int], Round[list[MemoryHit]]] | None:
        """Begin the search of a context beside the history, where what to search for does not depend on that.

        Returns:
            What is searched for (text, session, limit), and the search; ``None``: it has to wait for the history.
        """
        retrieval = self.settings.retrieval
        if not spoken or retrieval.query_mode == "history" or retrieval.exclude_recent:
            return None
        asked = (spoken, session_id, retrieval.max_num_results)
        return asked, self._ask_retrievers(*asked)

    def _ask_retrievers(self, text: str, session_id: str | None, limit: int) -> Round[list[MemoryHit]]:
        fetched = self._fetch_k(limit)
        return Round(
            [member for member in self.members if member.is_retriever],
            "search",
            lambda member: member.search(text, session_id, fetched),
            timeout_s=self.settings.member_timeout_s,
            session_id=session_id,
        )

    def _fetch_k(self, limit: int) -> int:
        """Return how many hits to ask of each member: as configured, more only when a caller wants more."""
        configured = self.settings.member_fetch_k
        if configured is None:
            return 2 * limit
        return configured if limit <= self.settings.max_num_results else max(configured, limit)

    def _in_scope(self, member: Member, hits: list[MemoryHit], session_id: str | None) -> list[MemoryHit]:
        """Return the hits that this session may see.

        A member that was told the session is trusted with hits that name none (a knowledge base has no
        sessions); of one that cannot be told, they may be anybody's.
        """
        if not self._is_scoped:
            return hits
        owners = [hit.metadata.get("session_id") for hit in hits]
        return [
            hit
            for hit, owner in zip(hits, owners, strict=True)
            if (member.is_told_session if owner is None else owner == session_id)
        ]

    def _prove_primary(self, messages: Sequence[AgentMessage], session_id: str) -> None:
        """Look once whether the default primary keeps turns at all; nothing else would tell."""
        if self._primary is None or not is_answered(messages):
            return
        self._is_primary_proven = True
        if self._primary.keeps_turns and not self._window(session_id):
            warn_of_no_turns(self._primary, plugin=self.plugin_name)
