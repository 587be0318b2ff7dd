"""Why a memory recalls what it recalls: every hit with its rank and score, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_memory.core.exchanges import conversation, session_key, split_exchanges
from ovos_memory.core.query import search_text
from ovos_memory.core.text import clean, identity
from ovos_memory.core.types import MemoryHit

if TYPE_CHECKING:
    from ovos_plugin_manager.templates.agents import AgentMessage

    from ovos_memory.core.settings import RecallSettings

LOOKED_AT = 20
"""Hits that are looked at, at least: those that are recalled and some that are not."""
Explained = dict[str, Any]
"""``member``, ``error`` and ``hits``: each with ``rank``, ``score``, ``content``, ``source``, ``session_id`` and
``dropped``, the reason why it is not recalled (``None``: it is)."""


class ExplainedMemory:
    """A base class of retrievers that can tell why they recall what they recall."""

    settings: RecallSettings
    plugin_name: ClassVar[str]
    _query: Callable[[str, str | None, int], list[MemoryHit]]
    _window: Callable[[str], list[AgentMessage]]

    def explain(self, query: str, session_id: str | None = None) -> dict[str, Any]:
        """Return what was searched for, what was found, and why some of it is not recalled.

        Args:
            query: What a user might say.
            session_id: The session it would be said in.

        Returns:
            ``query`` (the search text), ``lists`` (one per retriever, see :data:`Explained`) and ``fused`` (what
            is recalled, best first).
        """
        session = session_key(session_id)
        text, recent = asked(self.settings, clean(query).strip(), self._window(session))
        limit = self.settings.retrieval.max_num_results
        scope = session if self.settings.scope == "session" else None
        found = self._query(text, scope, max(LOOKED_AT, 4 * limit)) if text else []
        hits = [hit_facts(rank, hit, "") for rank, hit in enumerate(found, 1)]
        for facts, why in zip(hits, self._reasons(found, recent), strict=True):
            facts["dropped"] = why
        fused = [facts for facts in hits if facts["dropped"] is None]
        return {
            "query": text,
            "lists": [{"member": self.plugin_name, "error": None, "hits": hits}],
            "fused": fused,
        }

    def _reasons(self, found: Sequence[MemoryHit], recent: set[str]) -> list[str | None]:
        """Return for each hit why it is dropped, ``None`` for one that is recalled."""
        retrieval = self.settings.retrieval
        known: dict[str, int] = {}
        reasons: list[str | None] = []
        taken = 0
        for rank, hit in enumerate(found, 1):
            text = identity(hit.content)
            if text in known:
                reasons.append(f"the same text as rank {known[text]}")
                continue
            known[text] = rank
            if retrieval.min_score is not None and hit.score < retrieval.min_score:
                reasons.append(f"below retrieval.min_score ({retrieval.min_score:g})")
            elif text in recent:
                reasons.append("still in the history (retrieval.exclude_recent)")
            elif taken >= retrieval.max_num_results:
                reasons.append(f"beyond retrieval.max_num_results ({retrieval.max_num_results})")
            else:
                taken += 1
                reasons.append(None)
        return reasons


def asked(settings: RecallSettings, spoken: str, said: Sequence[AgentMessage]) -> tuple[str, set[str]]:
    """Return what is searched for, and the texts that are left out because they stand in the history."""
    retrieval = settings.retrieval
    text = search_text(spoken, said, mode=retrieval.query_mode, history_turns=retrieval.query_history_turns)
    if not retrieval.exclude_recent:
        return text, set()
    history = conversation(said, settings.max_history_chars)
    return text, {identity(exchange.content) for exchange in split_exchanges(history)}


def hit_facts(rank: int, hit: MemoryHit, dropped: str | None) -> dict[str, Any]:
    """Return a hit as JSON values."""
    return {
        "rank": rank,
        "score": hit.score,
        "content": hit.content,
        "source": hit.source,
        "session_id": hit.metadata.get("session_id"),
        "created_at": hit.metadata.get("created_at"),
        "dropped": dropped,
    }
