"""Twins that find, rank, scope or inject the wrong thing."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole
from ovos_utils.log import LOG

from ovos_memory.core.exchanges import session_key
from ovos_memory.core.types import Document, MemoryHit
from ovos_memory.testing.queries import QuerySuite
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.retrieval import RetrievalSuite
from ovos_memory.testing.scope import ScopeSuite
from ovos_memory.testing.twins.catalogue import twin


class _Searching(ReferenceMemory):
    """Changes the hits of every search."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return other hits."""
        return self._changed(super().search(query, session_id, top_k))

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        raise NotImplementedError


# ---------------------------------------------------------------------- hits


@twin(RetrievalSuite, "what_was_said_is_found_at_once", "an_answer_without_a_question_is_found")
class SearchesQuestionsOnly(ReferenceMemory):
    """Does not look at answers."""

    def _score(self, words: set[str], document: Document) -> float:
        asked = dataclasses.replace(document, answer="") if document.text is None else document
        return super()._score(words, asked)


@twin(RetrievalSuite, "a_hit_has_text_source_score_and_facts")
class LeavesFactsOut(_Searching):
    """Returns ``None`` where facts belong."""

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        return [dataclasses.replace(hit, metadata=None) for hit in hits]  # type: ignore[arg-type]


@twin(RetrievalSuite, "a_hit_has_text_source_score_and_facts")
class ScoresAsText(_Searching):
    """Returns scores as a store gave them."""

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        is_dentist = "Miller" in str(hits)
        return [dataclasses.replace(h, score=str(h.score)) if is_dentist else h for h in hits]  # type: ignore


@twin(RetrievalSuite, "scores_are_finite_and_fall", "a_threshold_keeps_the_better")
class ReturnsDistances(_Searching):
    """Smaller is nearer."""

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        return [dataclasses.replace(hit, score=1 / hit.score) for hit in hits]


@twin(RetrievalSuite, "scores_are_finite_and_fall")
class ScoresNothing(_Searching):
    """Divides zero by zero for the last of a list."""

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        if len(hits) < 2 or "harbour" not in str(hits):
            return hits
        return [*hits[:-1], dataclasses.replace(hits[-1], score=math.nan)]


@twin(RetrievalSuite, "texts_are_distinct_and_the_newest_stands_for_its_like")
class RepeatsItself(ReferenceMemory):
    """Lists every document."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits, equal texts included."""
        words, limit = self._words(query), 5 if top_k is None else top_k
        if query != "tea is nice":
            return super().search(query, session_id, top_k)
        found = [MemoryHit(d.content, d.id, self._score(words, d), {}) for d in self._documents(None)]
        return sorted(found, key=lambda hit: -hit.score)[:limit]


@twin(RetrievalSuite, "texts_are_distinct_and_the_newest_stands_for_its_like")
class KeepsTheOldestOfItsLike(ReferenceMemory):
    """The first that was said stands for the rest."""

    def _documents(self, session_id: str | None) -> list[Document]:
        documents = super()._documents(session_id)
        firsts = {document.content: document for document in reversed(documents)}
        return [document for document in documents if firsts[document.content] is document]


@twin(RetrievalSuite, "top_k_is_respected")
class IgnoresTopK(ReferenceMemory):
    """Returns as many as the settings say."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits."""
        return super().search(query, session_id, top_k if top_k is None or top_k >= 9 else None)


@twin(RetrievalSuite, "top_k_has_no_upper_limit")
class CapsTopK(ReferenceMemory):
    """Returns a hundred at most."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits."""
        return super().search(query, session_id, None if top_k is None else min(top_k, 100))


@twin(
    RetrievalSuite,
    "sources_are_numbered_within_their_session",
    "an_exchange_across_calls_is_one_document",
    "a_stored_text_is_found_verbatim",
    "texts_are_distinct_and_the_newest_stands_for_its_like",
)
class CountsFromOne(_Searching):
    """Numbers documents from one."""

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        parts = [(hit, (hit.source or "").rpartition("_")) for hit in hits]
        return [dataclasses.replace(hit, source=f"{s}_{int(n) + 1}") for hit, (s, _, n) in parts]


@twin(RetrievalSuite, "sources_are_numbered_within_their_session")
class CountsAllSessionsTogether(_Searching):
    """Has one counter."""

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        rows = {d.id: row for row, d in enumerate(self._documents(None))}
        owners = [str(hit.metadata["session_id"]) for hit in hits]
        return [
            dataclasses.replace(h, source=f"{s}_{rows[h.source or '']}")
            for h, s in zip(hits, owners, strict=True)
        ]


@twin(RetrievalSuite, "hits_are_the_callers_to_change")
class HandsOutItsHits(ReferenceMemory):
    """Keeps the list that it returns."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return the hits of the last time."""
        cache: dict[Any, list[MemoryHit]] = self.__dict__.setdefault("cache", {})
        key = (query, session_id, top_k, len(self._documents(None)))
        return cache.setdefault(key, super().search(query, session_id, top_k))


@twin(RetrievalSuite, "the_same_search_gives_the_same_hits")
class BreaksTiesByChance(_Searching):
    """Returns equals in another order every time."""

    dice = itertools.count()

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        turn = next(self.dice) % max(1, len(hits))
        is_tie = len(hits) == 4 and len({hit.score for hit in hits}) == 1
        return [*hits[turn:], *hits[:turn]] if is_tie else hits


@twin(RetrievalSuite, "an_exchange_across_calls_is_one_document")
class StoresEachPiece(ReferenceMemory):
    """A document for every call that holds an answer."""

    def _documents(self, session_id: str | None) -> list[Document]:
        found = super()._documents(session_id)
        pieces = [(d, piece) for d in found for piece in (d.answer.split("\n") if d.answer else [""])]
        return [dataclasses.replace(d, answer=piece, row=row) for row, (d, piece) in enumerate(pieces)]


@twin(RetrievalSuite, "an_answer_without_a_question_is_found")
class NeedsAQuestion(ReferenceMemory):
    """Thinks that an answer alone is nothing."""

    def _documents(self, session_id: str | None) -> list[Document]:
        return [d for d in super()._documents(session_id) if d.question or d.text is not None]


@twin(RetrievalSuite, "tool_output_is_nobodys_words")
class StoresToolOutput(ReferenceMemory):
    """Takes what a tool printed for words."""

    def _documents(self, session_id: str | None) -> list[Document]:
        found = super()._documents(session_id)
        printed = [[m.content for m in d.messages if m.role == MessageRole.TOOL] for d in found]
        return [
            dataclasses.replace(d, answer="\n".join([*output, d.answer])) if output else d
            for d, output in zip(found, printed, strict=True)
        ]


@twin(RetrievalSuite, "half_an_emoji_is_no_obstacle")
class EncodesTheQuery(ReferenceMemory):
    """Hands the query to something that wants bytes."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits."""
        return super().search(query.encode().decode(), session_id, top_k)


@twin(RetrievalSuite, "a_very_long_turn_is_found_and_slows_nothing")
class SendsEverything(ReferenceMemory):
    """Has no budget."""

    def _block(self, hits: Sequence[MemoryHit]) -> tuple[str, str] | None:
        block = super()._block(hits)
        return None if block is None else (block[0], "\n".join(hit.content for hit in hits))


@twin(RetrievalSuite, "a_threshold_keeps_the_better")
class KeepsTheWorse(ReferenceMemory):
    """Compares a score as if it were a distance."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits."""
        least = self.settings.retrieval.min_score
        if least is None:
            return super().search(query, session_id, top_k)
        everything = ReferenceMemory.search(_without_threshold(self), query, session_id, top_k)
        return [hit for hit in everything if hit.score <= least]


@twin(RetrievalSuite, "a_stored_text_is_found_verbatim")
class StoresTextsAsQuestions(ReferenceMemory):
    """Makes an exchange of everything."""

    def _documents(self, session_id: str | None) -> list[Document]:
        found = super()._documents(session_id)
        return [d if d.text is None else dataclasses.replace(d, text=f"Q: {d.text}\nA: ") for d in found]


# ---------------------------------------------------------------------- queries


@twin(QuerySuite, "the_best_match_comes_first", "an_odd_query_is_plain_text")
class SplitsAtBlanksOnly(ReferenceMemory):
    """Takes punctuation for a part of the word."""

    def _words(self, text: str) -> set[str]:
        words = super()._words(text)
        return set(text.casefold().split()) if words else words


@twin(QuerySuite, "the_best_match_comes_first")
class ReturnsTheNewestFirst(_Searching):
    """Sorts by age."""

    def _changed(self, hits: list[MemoryHit]) -> list[MemoryHit]:
        is_library = any("POL-358" in hit.content for hit in hits)
        return sorted(hits, key=lambda hit: hit.score) if is_library else hits


@twin(QuerySuite, "an_odd_query_is_plain_text", "no_query_fails")
class UnderstandsOperators(ReferenceMemory):
    """Raises what a query language raises."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits, if the query is well formed."""
        if query.count('"') % 2:
            raise ValueError("syntax error")
        return super().search(query, session_id, top_k)


@twin(QuerySuite, "an_odd_query_is_plain_text", "no_query_fails")
class FailsBehindTheScenes(ReferenceMemory):
    """Turns an error into no memories."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits, or nothing."""
        if '"' in query:
            LOG.warning("ovos-memory-plugin-reference: search failed")
            return []
        return super().search(query, session_id, top_k)


@twin(QuerySuite, "nothing_searchable_finds_nothing")
class FindsEverythingForNothing(ReferenceMemory):
    """An empty query matches the whole store."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits."""
        everything = [MemoryHit(d.content, d.id, 0.0, {}) for d in self._documents(None)]
        return super().search(query, session_id, top_k) if self._words(query) else everything


@twin(QuerySuite, "nothing_searchable_finds_nothing")
class ShowsAnEmptyBlock(ReferenceMemory):
    """Has a header for no hits."""

    def _block(self, hits: Sequence[MemoryHit]) -> tuple[str, str] | None:
        return super()._block(hits) or (self.settings.context.header, "(nothing)")


@twin(QuerySuite, "an_emoji_turn_breaks_nothing")
class ChokesOnEmoji(ReferenceMemory):
    """Cannot store what has no words."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages that have words."""
        if not any(self._words(message.content) for message in new_messages):
            raise ValueError("nothing to index")
        super().update_history(new_messages, session_id)


# ---------------------------------------------------------------------- scope

LEAKS = (
    "session_scope_recalls_from_the_callers_session_only",
    "session_scope_without_a_session_finds_nothing",
    "a_quiet_session_is_found_among_noisy_ones",
    "session_ids_that_look_alike_stay_strangers",
    "session_scope_holds_in_every_inject_mode",
)


@twin(ScopeSuite, "global_scope_recalls_from_every_session")
class NeverLooksElsewhere(ReferenceMemory):
    """Searches the caller's session only."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return the caller's hits."""
        hits = super().search(query, session_id, 1_000)
        limit = self.settings.retrieval.max_num_results if top_k is None else top_k
        return [hit for hit in hits if hit.metadata["session_id"] == session_key(session_id)][:limit]


@twin(ScopeSuite, *LEAKS)
class LeaksSessions(ReferenceMemory):
    """Ignores the scope."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return everybody's hits."""
        return ReferenceMemory.search(_in_global_scope(self), query, session_id, top_k)


@twin(ScopeSuite, "session_scope_without_a_session_finds_nothing")
class TakesNobodyForTheDefault(ReferenceMemory):
    """Searches the default session for those who name none."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits."""
        return super().search(query, session_key(session_id), top_k)


@twin(ScopeSuite, "a_quiet_session_is_found_among_noisy_ones")
class FiltersAfterwards(ReferenceMemory):
    """Takes the best of all and keeps what is the caller's."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return hits."""
        if self.settings.scope == "global" or session_id is None:
            return super().search(query, session_id, top_k)
        limit = self.settings.retrieval.max_num_results if top_k is None else top_k
        hits = ReferenceMemory.search(_in_global_scope(self), query, session_id, 4 * limit)
        return [hit for hit in hits if hit.metadata["session_id"] == session_id][:limit]


class _Matching(ReferenceMemory):
    """Compares session ids in a way of its own."""

    def _documents(self, session_id: str | None) -> list[Document]:
        everything = super()._documents(None)
        return [d for d in everything if session_id is None or self._is_same(session_id, d.session_id)]

    def _is_same(self, asked: str, stored: str) -> bool:
        raise NotImplementedError


@twin(ScopeSuite, "session_ids_that_look_alike_stay_strangers")
class MatchesPrefixes(_Matching):
    """Looks for ids that begin with the session."""

    def _is_same(self, asked: str, stored: str) -> bool:
        return stored.startswith(f"{asked}_") or stored == asked


@twin(ScopeSuite, "session_ids_that_look_alike_stay_strangers")
class IgnoresCase(_Matching):
    """Compares the way some databases do."""

    def _is_same(self, asked: str, stored: str) -> bool:
        return stored.casefold() == asked.casefold()


@twin(ScopeSuite, "session_scope_holds_in_every_inject_mode")
class ForgetsTheScopeInTools(ReferenceMemory):
    """Calls its tool without the session."""

    def _recalled(self, spoken: str, session_id: str | None, history: Any) -> list[MemoryHit]:
        if self.settings.inject_mode != "tool":
            return super()._recalled(spoken, session_id, history)
        return ReferenceMemory.search(_in_global_scope(self), spoken, session_id, None)


class _View(ReferenceMemory):
    """The same memory with other settings."""

    def __init__(self, memory: ReferenceMemory, settings: Any) -> None:
        self.__dict__.update(memory.__dict__)
        self.settings = settings


def _in_global_scope(memory: ReferenceMemory) -> ReferenceMemory:
    return _View(memory, memory.settings.model_copy(update={"scope": "global"}))


def _without_threshold(memory: ReferenceMemory) -> ReferenceMemory:
    retrieval = memory.settings.retrieval.model_copy(update={"min_score": None})
    return _View(memory, memory.settings.model_copy(update={"retrieval": retrieval}))
