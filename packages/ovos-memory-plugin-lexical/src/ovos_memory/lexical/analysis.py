"""From text to terms: one analyzer for what is indexed and for what is asked.

A term is a folded, stemmed word, a compound without its joints, or one or two characters of a script that writes
without blanks.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ovos_memory.lexical.folding import fold
from ovos_memory.lexical.function_words import (
    function_words,
    is_function_word_of_any,
    spoken_languages,
    unspaced_function_words,
)
from ovos_memory.lexical.languages import Languages, stemmer, stemmers_release
from ovos_memory.lexical.tokens import Token, is_plain, tokens

REVISION = 1
"""Raised whenever the same text would come out as other terms; indexes are rebuilt then."""
_CACHED_RUNS = 60_000
_SHORTEST_QUESTION = 3
_TELLING = 2
"""Function words of one language that it takes to believe that a query is in it."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query that says something about its subject.

    Attributes:
        term: What is looked up.
        is_gram: A piece of an unspaced run, not a word of its own.
        group: Number of the word or unspaced piece it belongs to.
    """

    term: str
    is_gram: bool
    group: int


class Analyzer:
    """Turns texts into terms; safe from any thread.

    Args:
        language: Code of the store's language; scripts that it is not written in have defaults of their own.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self.fingerprint = f"{REVISION}:{language}:{stemmers_release()}"
        self._languages = Languages(language)
        self._run_terms: dict[str, tuple[str, ...]] = {}

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text to be indexed, in order, repeats included; function words are left out.

        Cost: 30 microseconds for an exchange of 60 words once its words are known.
        """
        return self._folded_terms(fold(text))

    def _folded_terms(self, folded: str) -> list[str]:
        known = self._run_terms
        found: list[str] = []
        for run in _runs(folded):
            terms = known.get(run)
            if terms is None:
                terms = tuple(self._terms_of_run(run))
                if len(known) >= _CACHED_RUNS:
                    known.clear()
                if len(run) <= 32:
                    known[run] = terms
            found += terms
        return found

    def _terms_of_run(self, run: str) -> Iterator[str]:
        for token in _without_function_words(tokens(run), self._is_function_word):
            yield token.text if token.is_gram else self._stem(token.text)

    def _is_function_word(self, word: str) -> bool:
        return word in function_words(self._languages.of(word))

    def _stem(self, word: str) -> str:
        stem = stemmer(self._languages.of(word))
        return word if stem is None or not is_plain(word) else stem(word)

    def query(self, text: str) -> list[Word]:
        """Return the words of a query that carry its meaning, each once; empty when there are none.

        Function words are those of the store's language and of the language that the query itself seems to be in.
        """
        pieces = [list(_telling(tokens(piece))) for piece in _without_unspaced_function_words(fold(text))]
        spelt = {token.text for piece in pieces for token in piece if not token.is_gram}
        foreign = self._foreign_function_words(spelt)
        words = self._content_words(pieces, foreign)
        # Two short words of one language may look like function words of another (cá voi, a whale in Vietnamese).
        return words if words or len(spelt) > 2 else self._content_words(pieces, frozenset())

    def _content_words(self, pieces: list[list[Token]], foreign: frozenset[str]) -> list[Word]:
        words: dict[str, Word] = {}
        group = 0
        for piece in pieces:
            run = -1
            for token in _without_function_words(
                piece, lambda word: word in foreign or self._is_function_word(word)
            ):
                group, run = group + (not token.is_gram or token.run != run), token.run
                term = token.text if token.is_gram else self._stem(token.text)
                words.setdefault(term, Word(term, token.is_gram, group))
        return list(words.values())

    def _foreign_function_words(self, words: Iterable[str]) -> frozenset[str]:
        languages, evidence = spoken_languages(words)
        return frozenset().union(*map(function_words, languages)) if evidence >= _TELLING else frozenset()

    def is_elliptic(self, question: str) -> bool:
        """Tell whether a question cannot be understood without what was said before it (*where did I put it?*).

        It is one of at least three words of which at most one carries meaning.
        """
        folded = fold(question)
        if folded.isascii() and self._says_enough(tokens(folded)):
            return False
        spelt = [token for token in tokens(folded) if token.kind == "word"]
        return len(spelt) >= _SHORTEST_QUESTION and len(self.query(question)) <= 1

    def _says_enough(self, found: Iterable[Token]) -> bool:
        """Tell whether two words carry meaning whatever language this is; most questions show it early."""
        first = None
        for token in found:
            if token.kind == "word" and not is_function_word_of_any(token.text):
                term = self._stem(token.text)
                if first not in (None, term):
                    return True
                first = term
        return False

    def is_exact(self, term: str) -> bool:
        """Tell whether the stemmer can be trusted to bring all forms of the term's word together."""
        return self._languages.of(term) == "en"

    def has_function_words(self, text: str) -> bool:
        """Tell whether a query is in a language whose function words are known."""
        return spoken_languages({token.text for token in tokens(fold(text))})[1] >= _TELLING


def _without_function_words(found: Iterable[Token], is_function: Callable[[str], bool]) -> Iterator[Token]:
    """Leave function words out, and compounds of nothing else (``est-ce``)."""
    telling_run = -1
    for token in found:
        if token.kind == "whole":
            if token.run == telling_run:
                yield token
        elif token.is_gram or not is_function(token.text):
            telling_run = token.run
            yield token


_RUN = re.compile(r"[^\s,;!?()\[\]{}<>\"“”„«»…。、！？，]+")


def _runs(folded: str) -> Iterator[str]:
    """Yield pieces between blanks and clear separators; no token ever reaches across one."""
    return (found[0] for found in _RUN.finditer(folded))


@functools.cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, unspaced_function_words())))


def _without_unspaced_function_words(folded: str) -> list[str]:
    return [folded] if folded.isascii() else _unspaced_pattern().split(folded)


def _telling(found: Iterable[Token]) -> Iterator[Token]:
    """Leave single characters out where a pair of the same run says more."""
    for _, of_run in itertools.groupby(found, key=lambda token: token.run):
        together = list(of_run)
        pairs = [token for token in together if token.kind == "pair"]
        yield from pairs or together
