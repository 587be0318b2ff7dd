"""How well a document answers a query: BM25 over its own words and over those around it.

BM25 is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with the +1 in the logarithm that
keeps it above zero however common a word is.  It is taken twice: over the exchange alone, and over the exchange together
with the one before and the one after, for people rarely repeat in an answer what was asked a moment ago.  The score is
the mean of both, so it keeps the scale of one BM25.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import NamedTuple

from ovos_memory.lexical.index_tables import Entry, count_of

K1 = 1.2
B = 0.5
"""Half of the usual length normalisation: an exchange is long because two people spoke, not because it rambles."""


@dataclass(frozen=True, slots=True)
class Option:
    """One term that counts as an occurrence of a query's word.

    Attributes:
        term: As the analyzer writes it.
        number: In the dictionary; ``None`` when only documents that wait for the index have it.
        weight: 1 for the word itself, less for one that only begins like it.
    """

    term: str
    number: int | None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Concept:
    """A word of the query, with the terms that stand for it in the store.

    Attributes:
        options: At least one.
        documents: In how many documents one of them occurs, about.
        is_gram: One of the pieces of an unspaced run; they count only together.
        group: Number of the word or run it belongs to.
    """

    options: tuple[Option, ...]
    documents: int
    is_gram: bool
    group: int

    def numbers(self) -> list[int]:
        """Return the numbers of the terms that the dictionary has."""
        return [option.number for option in self.options if option.number is not None]


class Profile(NamedTuple):  # hundreds are made per search, and tuples are made fastest
    """What of a query a document holds.

    Attributes:
        words: The document's length in terms.
        counts: For each concept how often it occurs, by weight.
    """

    words: int
    counts: Sequence[float]


class Matcher:
    """Finds the words of one query in documents.

    Args:
        concepts: The words.
    """

    def __init__(self, concepts: Sequence[Concept]) -> None:
        self.concepts = concepts
        self._keys = [
            (position, option.number.to_bytes(4, "little"), option.weight)
            for position, concept in enumerate(concepts)
            for option in concept.options
            if option.number
        ]
        grams: dict[int, list[int]] = {}
        for position, concept in enumerate(concepts):
            if concept.is_gram:
                grams.setdefault(concept.group, []).append(position)
        self._runs = [
            (positions, _least(len(positions))) for positions in grams.values() if len(positions) > 2
        ]

    def of_entry(self, entry: Entry) -> Profile:
        """Return the profile of an indexed document."""
        terms = entry.terms
        counts = [0.0] * len(self.concepts)
        for position, key, weight in self._keys:
            if key in terms:  # most are not; the exact look costs five times as much
                counts[position] += weight * count_of(terms, key)
        return Profile(entry.words, counts)

    def of_counts(self, counts: Mapping[str, int], words: int) -> Profile:
        """Return the profile of a document that is not indexed yet."""
        return Profile(
            words,
            [sum([o.weight * counts.get(o.term, 0) for o in concept.options]) for concept in self.concepts],
        )

    def is_match(self, profile: Profile) -> bool:
        """Tell whether the document itself shares a word of the query.

        Of an unspaced run a pair of characters is no word yet: a third of a long run must be there.
        """
        counts = profile.counts
        if not self._runs:
            return any(counts)
        weak: set[int] = set()
        for positions, least in self._runs:
            if sum(counts[position] > 0 for position in positions) < least:
                weak.update(positions)
        return any(count for position, count in enumerate(counts) if position not in weak)


class Scorer:
    """Scores profiles.

    Args:
        containing: For each concept the number of documents that hold it.
        documents: How many documents there are.
        words: Their length altogether, in terms.
    """

    def __init__(self, containing: Sequence[int], *, documents: int, words: int) -> None:
        self.weights = [rarity(documents, count) for count in containing]
        self._average = max(1.0, words / max(1, documents))
        self._average_around = self._average * min(3, max(1, documents))

    def score(self, own: Profile, neighbours: Sequence[Profile]) -> float:
        """Return the score of a document with its neighbours (at most two); positive when it holds any word."""
        words, counts = own.words, own.counts
        for neighbour in neighbours:
            words += neighbour.words
            counts = list(map(add, counts, neighbour.counts))
        length = K1 * (1 - B + B * own.words / self._average)
        length_around = K1 * (1 - B + B * words / self._average_around)
        total = 0.0
        for weight, count, around in zip(self.weights, own.counts, counts, strict=True):
            if around:
                total += weight * (count / (count + length) + around / (around + length_around))
        return total * (K1 + 1) / 2


def rarity(documents: int, containing: int) -> float:
    """Return the weight of a word: the rarer, the more (inverse document frequency); always above zero."""
    containing = min(containing, documents)
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def _least(grams: int) -> int:
    return max(2, -(-grams // 3))
