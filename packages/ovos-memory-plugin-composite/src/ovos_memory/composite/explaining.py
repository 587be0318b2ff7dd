"""Why the ensemble recalls what it recalls: each member's hits, and what fusing made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ovos_memory.composite.named_time import with_named_time
from ovos_memory.core.errors import OvosMemoryError
from ovos_memory.core.exchanges import session_key
from ovos_memory.core.explaining import asked, hit_facts
from ovos_memory.core.text import clean, identity
from ovos_memory.core.types import MemoryHit

if TYPE_CHECKING:
    from ovos_plugin_manager.templates.agents import AgentMessage

    from ovos_memory.composite.members import Member
    from ovos_memory.composite.settings import CompositeSettings

_ALL = 10_000
_REPEAT = "the same text stands above it"


class ExplainedMembers:
    """See :class:`ovos_memory.core.explaining.ExplainedMemory`."""

    settings: CompositeSettings
    members: list[Member]
    _missing: dict[str, str]
    _window: Callable[[str], list[AgentMessage]]
    _fetch_k: Callable[[int], int]
    _in_scope: Callable[[Member, list[MemoryHit], str | None], list[MemoryHit]]

    def explain(self, query: str, session_id: str | None = None) -> dict[str, Any]:
        """Return what was searched for, what each member found, and the fused order.

        Members are asked one after the other, without their deadline.
        """
        from ovos_memory.core.fusion import fuse

        session, settings = session_key(session_id), self.settings
        text, recent = asked(settings, clean(query).strip(), self._window(session))
        limit = settings.max_num_results
        found = [self._found(member, text, session, self._fetch_k(limit)) for member in self.members if text]
        lists = with_named_time(
            [
                member.ranked(self._in_scope(member, hits, session))
                for member, hits, error in found
                if error is None
            ],
            text,
            members=self.members,
            settings=settings,
            session_id=session,
        )
        ranked = fuse(settings.fusion, lists, rrf_k=settings.rrf_k, dedup=settings.dedup, limit=_ALL)
        fused = [self._fused_facts(rank, hit, recent) for rank, hit in enumerate(ranked, 1)]
        reasons: dict[str, str | None] = {}
        for hit, facts in zip(ranked, fused, strict=True):
            reasons.setdefault(identity(hit.content), facts["dropped"])
        told = [self._member_facts(*each, session, reasons) for each in found]
        missing = [{"member": name, "error": why, "hits": []} for name, why in self._missing.items()]
        return {"query": text, "lists": [*told, *missing], "fused": fused}

    def _found(
        self, member: Member, text: str, session: str, wanted: int
    ) -> tuple[Member, list[MemoryHit], str | None]:
        if not member.is_retriever:
            return member, [], "recalls nothing by query; its blocks stand in every context"
        try:
            return member, member.search(text, session, wanted), None
        except OvosMemoryError as error:
            return member, [], str(error)
        except Exception as error:
            return member, [], type(error).__name__

    def _fused_facts(self, rank: int, hit: MemoryHit, recent: set[str]) -> dict[str, Any]:
        retrieval, limit = self.settings.retrieval, self.settings.max_num_results
        dropped = None
        if retrieval.min_score is not None and not hit.score >= retrieval.min_score:
            dropped = f"below retrieval.min_score ({retrieval.min_score:g})"
        elif identity(hit.content) in recent:
            dropped = "still in the history (retrieval.exclude_recent)"
        elif rank > limit:
            dropped = f"fused rank {rank} is beyond max_num_results ({limit})"
        retrievers = {k: dict(v) for k, v in hit.metadata.get("retrievers", {}).items()}
        return {**hit_facts(rank, hit, dropped), "retrievers": retrievers}

    def _member_facts(
        self,
        member: Member,
        hits: list[MemoryHit],
        error: str | None,
        session: str,
        reasons: dict[str, str | None],
    ) -> dict[str, Any]:
        allowed = {id(hit) for hit in self._in_scope(member, hits, session)}
        known: set[str] = set()
        told = []
        for rank, hit in enumerate(hits, 1):
            text = identity(hit.content)
            dropped = _REPEAT if text in known else reasons.get(text)
            if id(hit) not in allowed:
                dropped = "of another session (scope: session)"
            known.add(text)
            told.append(hit_facts(rank, hit, dropped))
        return {"member": member.name, "error": error, "hits": told}
