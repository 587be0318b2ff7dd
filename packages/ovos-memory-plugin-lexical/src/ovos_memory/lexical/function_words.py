"""Words that bind a sentence together and say nothing about its subject, by language.

The lists are short on purpose: what they miss is caught by the store's own word statistics, and what they hold wrongly
could never be searched for.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable

from ovos_memory.lexical.folding import fold
from ovos_memory.lexical.word_lists import SPACED, UNSPACED


@functools.cache
def function_words(language: str) -> frozenset[str]:
    """Return the folded function words of a language that writes with blanks; empty when there is no list."""
    return frozenset(_folded(SPACED.get(language, "")))


@functools.cache
def unspaced_function_words() -> tuple[str, ...]:
    """Return the folded function words of the languages that write without blanks, the longest first."""
    words = {word for listed in UNSPACED.values() for word in _folded(listed)}
    return tuple(sorted(words, key=lambda word: (-len(word), word)))


@functools.cache
def _languages_of_words() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language in SPACED:
        for word in function_words(language):
            found.setdefault(word, []).append(language)
    return found


def is_function_word_of_any(word: str) -> bool:
    """Tell whether a folded word binds sentences together in any language that writes with blanks."""
    return word in _languages_of_words()


def spoken_languages(words: Iterable[str]) -> tuple[list[str], int]:
    """Return the languages that these (folded) words of one sentence may be of, and how many words say so.

    Those with the most function words, all of them when several have as many; none when no word stands in any list.
    """
    known = _languages_of_words()
    counts = Counter(language for word in words for language in known.get(word, ()))
    most = max(counts.values(), default=0)
    return [language for language, count in counts.items() if count == most], most


def _folded(listed: str) -> set[str]:
    return {part for word in listed.split() for part in fold(word).replace("'", " ").split()}
