"""Ranked lists of several retrievers to one: pure functions that leave their inputs unchanged.

What the strategies share:

* The identity of a hit across lists is its text (:func:`ovos_memory.core.text.identity`), never its id: ids
are a
  retriever's own.
* Within one list a text counts once, at its best rank. Ranks start at 1 and count distinct texts, so a text
that a
  list repeats does not push the others down.
* Ties keep the order of the lists, then the rank.
* A fused hit is a new :class:`~ovos_memory.core.types.MemoryHit` with the content, source and metadata of the
  best-ranked hit that contributed (of equal ranks the earlier list's), and two entries more:
  ``metadata["fusion_score"]`` and ``metadata["retrievers"]``, ``{member: {"rank": …, "score": …}}`` with
  the score that the retriever gave.
* A score that is no finite number counts as the lowest of its list and can poison nothing.
* Hits without a visible character are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ovos_memory.core.text import clean, identity
from ovos_memory.core.types import MemoryHit

FusionMode = Literal["rrf", "weighted", "merge", "priority", "interleave", "convex"]


@dataclass(frozen=True, slots=True)
class RankedList:
    """What one retriever found.

    Attributes:
        member: Its name, unique among the lists that are fused.
        hits: Best first; not copied.
        weight: How much it counts in :func:`rrf`, :func:`weighted` and :func:`convex`, >= 0; with 0 it contributes
            nothing there.
            The other strategies do not look at it.
        floor: The score that a text has of which the retriever finds nothing, for :func:`convex`; ``None``: unknown.
        exponent: Above 1 its best hits stand out more in :func:`convex`, below 1 less; > 0.

    Raises:
        ValueError: The weight is negative or not finite, the floor not finite, or the exponent not above 0 or finite.
    """

    member: str
    hits: Sequence[MemoryHit]
    weight: float = 1.0
    floor: float | None = None
    exponent: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"weight of '{self.member}' must be a finite number >= 0, got {self.weight!r}")
        if self.floor is not None and not math.isfinite(self.floor):
            raise ValueError(f"floor of '{self.member}' must be a finite number or None, got {self.floor!r}")
        if not (math.isfinite(self.exponent) and self.exponent > 0):
            raise ValueError(
                f"exponent of '{self.member}' must be a finite number > 0, got {self.exponent!r}"
            )


@dataclass(frozen=True, slots=True)
class _Entry:
    """A hit in its list: ``score`` is finite, the retriever's own stays in the hit."""

    key: str
    list_index: int
    member: str
    rank: int
    hit: MemoryHit
    score: float


def fuse(
    mode: FusionMode,
    lists: Sequence[RankedList],
    *,
    rrf_k: float = 60,
    dedup: bool = True,
    limit: int | None = None,
) -> list[MemoryHit]:
    """Fuse with the strategy that the settings name.

    Args:
        mode: Name of the strategy.
        lists: One per retriever, in the order of the members.
        rrf_k: For ``rrf``.
        dedup: For ``merge`` and ``interleave``; in the other modes a text always counts once.
        limit: How many hits at most; ``None``: all.

    Raises:
        ValueError: There is no such strategy, or ``rrf_k`` is negative.
    """
    strategies: dict[str, Callable[[], list[MemoryHit]]] = {
        "rrf": lambda: rrf(lists, k=rrf_k),
        "weighted": lambda: weighted(lists),
        "merge": lambda: merge(lists, dedup=dedup),
        "priority": lambda: priority(lists),
        "interleave": lambda: interleave(lists, dedup=dedup),
        "convex": lambda: convex(lists),
    }
    if mode not in strategies:
        raise ValueError(f"fusion must be one of {', '.join(strategies)}, got {mode!r}")
    return strategies[mode]()[:limit]


def rrf(lists: Sequence[RankedList], *, k: float = 60) -> list[MemoryHit]:
    """Merge by position (reciprocal rank fusion), best first: ``score(d) = Σ weight / (k + rank)``.

    Raw scores are never compared: retrievers do not share a scale. Cormack, Clarke and Büttcher, "Reciprocal
    Rank Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009; 60 is their ``k``.

    Args:
        lists: One per retriever; may be empty.
        k: Rank offset, no unit, >= 0; the larger, the less the first ranks stand out.

    Raises:
        ValueError: ``k`` is negative or not finite.
    """
    if not (math.isfinite(k) and k >= 0):
        raise ValueError(f"rrf_k must be a finite number >= 0, got {k!r}")
    return _summed(lists, lambda _, entries: [1 / (k + entry.rank) for entry in entries])


def weighted(lists: Sequence[RankedList]) -> list[MemoryHit]:
    """Merge by weighted sum of scores, best first, each list's scores spread over 0 to 1.

    ``score(d) = Σ weight · (s - min) / (max - min)`` over the lists that hold it: CombSUM (Fox and Shaw,
    "Combination of Multiple Searches", TREC-2, 1994) on min-max-normalised scores. Where all scores of a list
    are equal, each counts 1.0. It takes the distances between scores seriously; where they mean nothing, use
    :func:`rrf`.
    """
    return _summed(lists, lambda _, entries: _spread(entries, None))


def convex(lists: Sequence[RankedList]) -> list[MemoryHit]:
    """Merge by weighted mean of scores, best first: ``score(d) = Σ weight · φ(s)^exponent / Σ weight``, 0 to 1.

    ``φ(s) = (s - floor) / (best - floor)`` spreads a list's scores from what a text is worth that it does not hold
    (0) to its best hit (1).  That is the convex combination of Bruch, Gai and Ingber, "An Analysis of Fusion
    Functions for Hybrid Retrieval", ACM TOIS 42(1), 2023, with their theoretical min-max normalisation where the
    retriever knows its least score.  Of one that does not, the floor is the worst hit of the list: the texts behind
    it are worth no more.  So the list should be long, several times what is wanted in the end; then the end of a list
    makes no step, and a retriever's middling scores weigh what they say.

    The ``exponent`` is for scores that are sums, one term for each word found, as those of BM25: a text with half of
    what was asked for has half of the best score, and is far less than half as likely to be meant.  With 2 it
    counts a quarter.  It keeps each list's order, both ends of the scale, and independence of its unit.

    Where all scores of a list are equal and no floor is below them, each counts 1.0.  A list without hits keeps its
    share of the weight.

    Args:
        lists: One per retriever; may be empty.
    """
    largest = max((ranked.weight for ranked in lists), default=0.0) or 1.0
    total = math.fsum(ranked.weight / largest for ranked in lists) or 1.0
    shared = [replace(ranked, weight=ranked.weight / largest / total) for ranked in lists]
    return _summed(shared, _sharpened)


def merge(lists: Sequence[RankedList], *, dedup: bool = True) -> list[MemoryHit]:
    """Put all hits in one list by their own scores, best first; a text keeps its highest score.

    Scores of different retrievers are compared as they are, comparable or not.

    Args:
        lists: One per retriever.
        dedup: ``False`` keeps every hit, repeats within a list included; ranks then count them too.
    """
    groups = _groups(_entries(lists, distinct=dedup), dedup=dedup)
    return _ordered((max(entry.score for entry in group), group) for group in groups)


def priority(lists: Sequence[RankedList]) -> list[MemoryHit]:
    """Return the first list that has any hits, in its own order, with its own scores, each text once."""
    for entries in _entries(lists):
        if entries:
            return [_fused(entry.score, [entry]) for entry in entries]
    return []


def interleave(lists: Sequence[RankedList], *, dedup: bool = True) -> list[MemoryHit]:
    """Deal out the lists in turn: the first of each, the second of each, and so on; ``score = 1 / rank``.

    Args:
        lists: One per retriever.
        dedup: ``True``: a text stands where it comes first. ``False`` keeps every hit, repeats within a list
            included; ranks then count them too.
    """
    groups = _groups(_entries(lists, distinct=dedup), dedup=dedup)
    return _ordered((1 / min(entry.rank for entry in group), group) for group in groups)


def _summed(
    lists: Sequence[RankedList], values: Callable[[RankedList, Sequence[_Entry]], Sequence[float]]
) -> list[MemoryHit]:
    """Fuse by the weighted sum of what ``values`` gives each entry of a list."""
    counted = [ranked for ranked in lists if ranked.weight > 0]
    entries_of = _entries(counted)
    parts: dict[str, list[float]] = {}
    for ranked, entries in zip(counted, entries_of, strict=True):
        for entry, value in zip(entries, values(ranked, entries), strict=True):
            parts.setdefault(entry.key, []).append(ranked.weight * value)
    # fsum rounds once, so the sum does not depend on the order of the lists; a plain sum breaks ties by
    # noise.
    return _ordered((math.fsum(parts[group[0].key]), group) for group in _groups(entries_of, dedup=True))


def _sharpened(ranked: RankedList, entries: Sequence[_Entry]) -> list[float]:
    return [value**ranked.exponent for value in _spread(entries, ranked.floor)]


def _spread(entries: Sequence[_Entry], floor: float | None) -> list[float]:
    """Spread scores over 0 to 1, from the floor or the worst of them to the best; equal ones are 1.0 each."""
    halves = [entry.score / 2 for entry in entries]  # the span of two huge scores would overflow
    ends = halves if floor is None else [*halves, floor / 2]
    low, high = min(ends, default=0.0), max(halves, default=0.0)
    return [(half - low) / (high - low) if high > low else 1.0 for half in halves]


def _entries(lists: Sequence[RankedList], *, distinct: bool = True) -> list[list[_Entry]]:
    """Return each list's hits with rank and finite score; of repeats the first, with their highest score."""
    visible = [[hit for hit in ranked.hits if clean(hit.content).strip()] for ranked in lists]
    scores = [[_number(hit.score) for hit in hits] for hits in visible]
    lowest = min((score for row in scores for score in row if math.isfinite(score)), default=0.0)
    result: list[list[_Entry]] = []
    for index, (ranked, hits, row) in enumerate(zip(lists, visible, scores, strict=True)):
        floor = min((score for score in row if math.isfinite(score)), default=lowest)
        entries: list[_Entry] = []
        place: dict[str, int] = {}
        for hit, number in zip(hits, row, strict=True):
            key, score = identity(clean(hit.content)), number if math.isfinite(number) else floor
            if distinct and key in place:
                first = entries[place[key]]
                entries[place[key]] = replace(first, score=max(first.score, score))
                continue
            place[key] = len(entries)
            entries.append(_Entry(key, index, ranked.member, len(entries) + 1, hit, score))
        result.append(entries)
    return result


def _groups(lists: Iterable[Sequence[_Entry]], *, dedup: bool) -> list[list[_Entry]]:
    """Return the entries that make one fused hit each."""
    if not dedup:
        return [[entry] for entries in lists for entry in entries]
    groups: dict[str, list[_Entry]] = {}
    for entries in lists:
        for entry in entries:
            groups.setdefault(entry.key, []).append(entry)
    return list(groups.values())


def _ordered(scored: Iterable[tuple[float, Sequence[_Entry]]]) -> list[MemoryHit]:
    """Sort by score; ties keep the order of the lists, then the rank."""
    # A group is in list order, so its first entry names the earliest list that holds the text.
    ranked = sorted(scored, key=lambda item: (-item[0], item[1][0].list_index, item[1][0].rank))
    return [_fused(score, group) for score, group in ranked]


def _fused(score: float, entries: Sequence[_Entry]) -> MemoryHit:
    best = min(entries, key=lambda entry: (entry.rank, entry.list_index)).hit
    retrievers = {entry.member: {"rank": entry.rank, "score": entry.hit.score} for entry in entries}
    metadata = {**(best.metadata or {}), "fusion_score": score, "retrievers": retrievers}
    return MemoryHit(best.content, best.source, score, metadata)


def _number(score: object) -> float:
    """Return a retriever's score as a float; NaN for what is none."""
    try:
        return float(score)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan
