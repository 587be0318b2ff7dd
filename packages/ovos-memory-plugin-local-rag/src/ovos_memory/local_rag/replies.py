"""What embedder plugins return, checked; what llama.cpp models can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ovos_memory.local_rag.matrix import Floats

DEFAULT_MAX_TOKENS = 512
"""What a model is taken to hold that does not say so."""
_SAMPLE = b"one short sentence"


def unit_vector(reply: Any) -> Floats | None:
    """Return a plugin's reply as float32 of unit length, ``None`` when it is no vector, zero or infinite."""
    import numpy as np

    if isinstance(reply, (str, bytes)) or reply is None:
        return None
    try:
        vector = np.asarray(reply, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if vector.ndim == 2 and vector.shape[0] == 1:
        vector = vector[0]
    if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all():
        return None
    norm = float(np.linalg.norm(vector))
    if not np.isfinite(norm) or norm < 1e-12:
        return None
    return np.ascontiguousarray(vector / norm, dtype=np.float32)


def tokenizer(model: Any) -> tuple[Callable[[str], int] | None, int]:
    """Return the token counter and the capacity of a model on llama.cpp; of others a guess."""
    engine = getattr(model, "model", None)
    tokenize, context = getattr(engine, "tokenize", None), getattr(engine, "n_ctx", None)
    if not callable(tokenize) or not callable(context):
        return None, DEFAULT_MAX_TOKENS
    try:
        limits = [int(context()), int(engine.n_batch)]  # type: ignore[union-attr]
        trained = getattr(getattr(engine, "_model", None), "n_ctx_train", None)
        if callable(trained):
            limits.append(int(trained()))
        len(tokenize(_SAMPLE))
    except Exception:  # an engine of another make; its texts are measured by a guess, as any other model's
        return None, DEFAULT_MAX_TOKENS
    return (lambda text: len(tokenize(text.encode("utf-8", "replace")))), max(16, min(limits))
