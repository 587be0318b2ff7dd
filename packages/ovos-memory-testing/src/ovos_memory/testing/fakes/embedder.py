"""A text embedder without a model: a bag of words, or whatever a broken one returns."""

from __future__ import annotations

import importlib
import math
import re
import threading
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

Mode = Literal[
    "good",
    "wrong_dimension",
    "zeros",
    "nan",
    "inf",
    "empty",
    "raises",
    "tuple",
    "float32",
    "array",
    "echo",
    "hangs",
]
Beyond = Literal["raises", "empty", "echo"]


class FakeEmbedder:
    """Shaped like OPM's ``TextEmbedder``: texts that share words are near each other; vectors of length 1.

    Args:
        config: Keys are the attributes below.

    Attributes:
        dimension: Numbers per vector.
        mode: What comes back; may be changed at any time.  ``float32`` is a list of numpy scalars, ``array``
            a numpy array, ``echo`` the request itself, ``hangs`` waits for :attr:`release`.
        salt: Another one makes another model of the same dimension.
        max_chars: Longer texts are answered as :attr:`beyond` says; ``None``: no limit.
        beyond: What happens to longer texts.
        fails_on: Texts that contain one of these get the mode; ``()``: all texts do.
        texts: What was embedded, in order.
        most_at_once: The most threads that were inside together; two kill llama.cpp.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        self.config = given
        self.dimension: int = given.get("dimension", 256)
        self.mode: Mode = given.get("mode", "good")
        self.salt: str = given.get("salt", "")
        self.max_chars: int | None = given.get("max_chars")
        self.beyond: Beyond = given.get("beyond", "raises")
        self.fails_on: Sequence[str] = given.get("fails_on", ())
        self.texts: list[str] = []
        self.release = threading.Event()
        self.most_at_once = 0
        self._inside = 0
        self._lock = threading.Lock()

    def get_embeddings(self, text: str) -> Any:
        """Return the vector of a text."""
        with self._lock:
            self._inside += 1
            self.most_at_once = max(self.most_at_once, self._inside)
            self.texts.append(text)
        try:
            if self.max_chars is not None and len(text) > self.max_chars:
                return self._broken(self.beyond, text)
            is_meant = not self.fails_on or any(part in text for part in self.fails_on)
            return self._broken(self.mode, text) if is_meant else self._vector(text)
        finally:
            with self._lock:
                self._inside -= 1

    def _broken(self, mode: str, text: str) -> Any:
        if mode == "raises":
            raise RuntimeError(f"cannot embed: {text[:80]}")
        if mode == "hangs":
            self.release.wait()
        if mode in ("tuple", "float32", "array"):
            return _typed(self._vector(text), mode)
        constants = {"zeros": 0.0, "nan": math.nan, "inf": math.inf}
        if mode in constants:
            return [constants[mode]] * self.dimension
        if mode == "wrong_dimension":
            return self._vector(text)[:-1]
        if mode in ("empty", "echo"):
            return [] if mode == "empty" else {"input": text}
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimension
        for word in _words(text):
            vector[zlib.crc32(f"{self.salt}{word}".encode()) % self.dimension] += 1.0
        length = math.hypot(*vector)
        return [number / length for number in vector] if length else vector


class BatchEmbedder(FakeEmbedder):
    """One that also takes many texts at once, as newer embedder plugins do.

    Attributes:
        batches: How many texts each batch had.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__(config)
        self.batches: list[int] = []

    def get_embeddings_batch(self, texts: Sequence[str]) -> list[Any]:
        """Return one vector per text."""
        self.batches.append(len(texts))
        return [self.get_embeddings(text) for text in texts]


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.findall(r"\w+", plain)


def _typed(vector: list[float], mode: str) -> Any:
    if mode == "tuple":
        return tuple(vector)
    numpy = importlib.import_module("numpy")
    array = numpy.asarray(vector, dtype=numpy.float32)
    return array if mode == "array" else list(array)
