"""What to look for: the words of a query, each with the terms of the store that stand for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ovos_memory.lexical.analysis import Analyzer, Word
from ovos_memory.lexical.index_tables import IndexTables
from ovos_memory.lexical.scoring import Concept, Option
from ovos_memory.lexical.tokens import is_plain

_ALIKE_FROM = 4
"""Letters that two words must share at their beginning to be taken for forms of one; one less where a light stemmer
has cut them already."""
_ALIKE_SHARE = 0.6
_MAX_ALIKE = 8
_SCANNED = 256
_COMMON_SHARE = 0.5
_COMMON_FROM = 20
"""In a store of at least so many documents a word in more than that share of them binds sentences together."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Where a planner looks words up.

    Attributes:
        tables: Of the index.
        connection: A snapshot; ``None`` while the store cannot be read.
        waiting: The terms of each document that is not indexed yet.
        own: Term numbers and document counts of the one session that is searched, in place of the whole store's: a
            word that only others use is as unknown as one that nobody does.  ``None``: the store's count.
    """

    tables: IndexTables
    connection: sqlite3.Connection | None
    waiting: Sequence[Collection[str]]
    own: Mapping[int, int] | None = None

    def known(self, terms: Sequence[str]) -> dict[str, tuple[int | None, int]]:
        """Return number (``None``: not in the dictionary) and document count of those terms that the store has."""
        found: dict[str, tuple[int | None, int]] = {}
        if self.connection is not None:
            stored = self.tables.known_terms(self.connection, terms)
            if self.own is not None:
                own = self.own
                stored = {t: (number, own[number]) for t, (number, _) in stored.items() if number in own}
            found.update(stored)
        for term in terms:
            more = sum(term in held for held in self.waiting)
            if more:
                number, documents = found.get(term, (None, 0))
                found[term] = number, documents + more
        return found

    def beginning_with(self, prefix: str) -> set[str]:
        """Return terms of the store that begin so, a bounded number of them."""
        found: set[str] = set()
        if self.connection is not None:
            behind = prefix[:-1] + chr(min(ord(prefix[-1]) + 1, 0x10FFFF))
            stored = self.tables.terms_between(self.connection, prefix, behind, _SCANNED)
            found.update(term for term, number, _ in stored if self.own is None or number in self.own)
        found.update(term for held in self.waiting for term in held if term.startswith(prefix))
        return found


def plan(analyzer: Analyzer, query: str, vocabulary: Vocabulary, documents: int) -> list[Concept]:
    """Return what to look for, the rarest first; empty when the store has none of the query's words.

    A word that the store does not have is looked for in those that begin alike, so that an inflected form finds the
    others where no stemmer knows it.

    Args:
        analyzer: The index's.
        query: As it was asked.
        vocabulary: Of the store.
        documents: How many the store holds.
    """
    words = analyzer.query(query)
    known = vocabulary.known([word.term for word in words])
    concepts: list[Concept] = []
    missing = 0
    for word in words:
        options = _options(word, known, vocabulary, is_exact=analyzer.is_exact(word.term))
        if options:
            share = sum(count for _, count in options)
            concepts.append(
                Concept(
                    tuple(option for option, _ in options), min(share, documents), word.is_gram, word.group
                )
            )
        else:
            missing += 1
    if not analyzer.has_function_words(query):
        concepts = _without_common(concepts, documents, is_more_asked=missing > 0, asked=len(words))
    return sorted(concepts, key=lambda concept: concept.documents)


def _options(
    word: Word, known: dict[str, tuple[int | None, int]], vocabulary: Vocabulary, *, is_exact: bool
) -> list[tuple[Option, int]]:
    options: list[tuple[Option, int]] = []
    if word.term in known:
        number, documents = known[word.term]
        options.append((Option(word.term, number), documents))
        if is_exact:
            return options
    if word.is_gram or not is_plain(word.term):
        return options
    alike = sorted(_alike(word.term, vocabulary, _ALIKE_FROM if is_exact else _ALIKE_FROM - 1))[:_MAX_ALIKE]
    found = vocabulary.known([term for _, term in alike])
    for distance, term in alike:
        if term in found and term != word.term:
            number, documents = found[term]
            options.append((Option(term, number, (1 - distance) * 0.8), documents))
    return options


def _alike(term: str, vocabulary: Vocabulary, least: int) -> Iterable[tuple[float, str]]:
    """Yield (distance, term) for terms that begin like one: 0 for the same, 1 for nothing in common."""
    start = max(least, int(len(term) * _ALIKE_SHARE))
    if len(term) < start:
        return
    for other in vocabulary.beginning_with(term[:start]):
        if not is_plain(other):
            continue
        longest = max(len(term), len(other))
        common = next(
            (i for i, (a, b) in enumerate(zip(term, other, strict=False)) if a != b),
            min(len(term), len(other)),
        )
        if common >= least and common / longest >= _ALIKE_SHARE:
            yield 1 - common / longest, other


def _without_common(
    concepts: list[Concept], documents: int, *, is_more_asked: bool, asked: int
) -> list[Concept]:
    """Drop what the store's own statistics show to be function words, of a query in a language without a list.

    A single word is always looked for, and so is the rarest of several when all of them are known.
    """
    if documents < _COMMON_FROM or asked < 3:
        return concepts
    telling = [concept for concept in concepts if concept.documents <= _COMMON_SHARE * documents]
    if telling or is_more_asked:
        return telling
    return concepts and [min(concepts, key=lambda concept: concept.documents)]
