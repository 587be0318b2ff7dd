"""Which language a word is treated as: its script decides, and within a script the configured language."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import re
from collections.abc import Callable
from typing import Any

from ovos_memory.core.shared import ProcessLock
from ovos_memory.lexical import endings, english
from ovos_memory.lexical.folding import fold

AUTO = "auto"
_FALLBACK = "en"
_TAG = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{2,8})*", re.IGNORECASE)
_SAME = {"no": "nb", "nn": "nb", "iw": "he"}

# Last code point of a script (or group of scripts), its default language, and the languages that are written in it.
_SCRIPTS: tuple[tuple[int, str, frozenset[str]], ...] = (
    (0x036F, "en", frozenset()),  # Latin: every language that no other line names
    (0x03FF, "el", frozenset({"el"})),
    (0x052F, "ru", frozenset({"ru", "uk", "be", "bg", "sr", "mk", "kk", "ky", "mn", "tg"})),
    (0x05FF, "he", frozenset({"he", "yi"})),
    (0x077F, "ar", frozenset({"ar", "fa", "ur", "ps", "ckb"})),
    (0x08FF, "", frozenset()),
    (0x097F, "hi", frozenset({"hi", "mr", "ne"})),
    (0x1DFF, "", frozenset()),
    (0x1EFF, "en", frozenset()),  # Latin with marks
    (0x1FFF, "el", frozenset({"el"})),
)
_LATIN = _SCRIPTS[0]
_UKRAINIAN = frozenset("іїєґ")


def language_code(tag: str) -> str | None:
    """Return the lower-case primary code of a language tag (``pt-BR``: ``pt``); ``None`` when it is no tag."""
    found = _TAG.fullmatch(tag.strip())
    if found is None:
        return None
    code = found[1].lower()
    return _SAME.get(code, code)


def configured_language() -> str:
    """Return the language that OVOS is set to, ``en`` when that cannot be told.

    ``ovos_config`` is imported only here: it reads files and is not needed to load the plugin.
    """
    try:
        from ovos_config import Configuration

        return language_code(str(Configuration().get("lang", ""))) or _FALLBACK
    except Exception:  # somebody else's configuration; a wrong guess costs some recall, never a persona
        return _FALLBACK


class Languages:
    """Says for each word which language it is treated as.

    Args:
        language: The language of the store: a code such as ``de``.
    """

    def __init__(self, language: str) -> None:
        self.main = language
        self._by_script = {script: _chosen(script, language) for script in _SCRIPTS}

    def of(self, word: str) -> str:
        """Return the code for a folded word, ``""`` when nothing is known about its script."""
        first = ord(word[0])
        for script in _SCRIPTS:
            if first <= script[0]:
                chosen = self._by_script[script]
                return "uk" if chosen == "ru" and not _UKRAINIAN.isdisjoint(word) else chosen
        return ""


def _chosen(script: tuple[int, str, frozenset[str]], language: str) -> str:
    _, default, written = script
    if default == "en":
        is_latin = not any(language in others for _, _, others in _SCRIPTS)
        return (
            language if is_latin and language not in ("zh", "ja", "ko", "th", "lo", "km", "my") else default
        )
    return language if language in written else default


# Of the languages that Snowball knows, those in which its stemmers find no less than the tables here.
_SNOWBALL = {
    "ca": "catalan", "eo": "esperanto", "es": "spanish", "et": "estonian", "fr": "french", "ga": "irish",
    "hi": "hindi", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "nl": "dutch", "pt": "portuguese", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
}  # fmt: skip


@functools.cache
def stemmers_release() -> str:
    """Return the release of the optional package ``snowballstemmer``, ``""`` when it is not installed."""
    try:
        return importlib.metadata.version("snowballstemmer")
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.cache
def stemmer(language: str) -> Callable[[str], str] | None:
    """Return a function that stems folded words of a language; ``None`` when there is none.

    English has its own; other languages have Snowball's where the extra ``stemmers`` is installed and good for them, or
    a table of endings.
    """
    if language == "en":
        return english.stem
    if language in _SNOWBALL and stemmers_release():
        found = _snowball_stemmer(_SNOWBALL[language])
        if found is not None:
            return found
    return endings.light_stemmer(language)


def _snowball_stemmer(name: str) -> Callable[[str], str] | None:
    snowballstemmer: Any = importlib.import_module("snowballstemmer")
    if name not in snowballstemmer.algorithms():
        return None
    algorithm = snowballstemmer.stemmer(name)
    lock = ProcessLock()

    def stem(word: str) -> str:
        with lock:  # it keeps the word that it works on in itself
            return fold(str(algorithm.stemWord(word)))

    return stem
