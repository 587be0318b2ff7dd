"""The embedder: any text embedder plugin, loaded once, used by one thread at a time, its vectors checked."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ovos_utils.log import LOG

from ovos_memory.core.errors import BadReply, ModelUnavailable, OvosMemoryError
from ovos_memory.core.shared import ProcessLock
from ovos_memory.local_rag.loading import GGUF_LOCK, construct, find_text_embedder
from ovos_memory.local_rag.patience import OwnThread, left_s
from ovos_memory.local_rag.replies import DEFAULT_MAX_TOKENS, tokenizer, unit_vector
from ovos_memory.local_rag.windows import estimate_tokens, split_windows

if TYPE_CHECKING:
    from ovos_memory.local_rag.matrix import Floats

R = TypeVar("R")

PROBE = "Please remember that my sister Anna arrives on Friday at seven."
"""The sentence whose vector tells one model from another."""
LOAD_WAIT_S = 10.0
"""How long one call waits for a model that is being loaded where nothing else bounds it; those after it do not
wait until it is there."""
_LATE_POLL_S = 1.0
"""How soon to look again whether a call that hung has come back."""
_RETRY_FROM_S, _RETRY_TO_S = 5.0, 300.0
_QUERY_CACHE = 32
_QUERY_WINDOWS = 4
_WINDOW_TOKENS = 256
"""Windows of long texts are smaller than what the model holds: a vector over less text is a clearer one."""
_SHORTEST_LIMIT_CHARS = 200


class Embedder:
    """Turns texts into vectors of unit length; safe from any thread.

    The model is used on a thread of its own, which a call waits for as long as
    :func:`~ovos_memory.local_rag.patience.at_most` lets it: a model that hangs holds up nobody for longer.

    Args:
        name: Entry point in ``opm.embeddings.text``.
        config: Handed to the plugin's constructor.
        plugin: Entry-point name of the memory, for messages.
        instance: A ready embedder instead of the plugin.
    """

    def __init__(
        self, name: str, config: Mapping[str, Any], *, plugin: str, instance: Any | None = None
    ) -> None:
        self.name = name
        self._config = dict(config)
        self._plugin = plugin
        self._given = instance
        self.dimension = 0
        self._max_chars: int | None = None
        self._queries: OrderedDict[str, Floats] = OrderedDict()
        self._own = OwnThread(
            "memory-embedding",
            lambda why: ModelUnavailable(f"{plugin}: embeddings plugin '{name}' is held up: {why}"),
        )
        self._renewing = ProcessLock()
        self._reset()

    def _reset(self) -> None:
        self._model: Any = None
        self._probe: Floats | None = None
        self._max_tokens = DEFAULT_MAX_TOKENS
        self._count: Callable[[str], int] = estimate_tokens
        self._state_lock = threading.Lock()
        self._lock = GGUF_LOCK if "gguf" in self.name.lower() else ProcessLock()
        self._loaded = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._retry_at = 0.0
        self._delay_s = _RETRY_FROM_S
        self._has_waited = False
        self._pid = os.getpid()  # last: from here on the child's other threads use what is above

    # ------------------------------------------------------------------ loading
    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded."""
        return self._pid == os.getpid() and self._model is not None

    def preload(self) -> None:
        """Begin to load the model in the background, unless it is there or a try failed just now."""
        if self._pid != os.getpid():
            self._renew()
        with self._state_lock:
            is_busy = self._thread is not None and self._thread.is_alive()
            if self._model is not None or is_busy or time.monotonic() < self._retry_at:
                return
            self._loaded.clear()
            self._thread = threading.Thread(target=self._load, name="memory-embedder", daemon=True)
            self._thread.start()

    def _renew(self) -> None:
        with self._renewing:  # or each of the child's threads would load a model of its own
            if self._pid != os.getpid():
                self._reset()  # the threads inside a model do not survive a fork

    def ready_in_s(self) -> float:
        """Return the seconds until the model may answer, 0: now; begins to load it when due."""
        if self.is_ready:
            return _LATE_POLL_S if self._own.is_late else 0.0
        self.preload()
        return max(0.05, self._retry_at - time.monotonic())

    def ensure(self) -> None:
        """Make sure that the model is loaded.

        Raises:
            PluginMissing: The plugin is not installed.
            ModelUnavailable: It could not be loaded, or is still being loaded.
        """
        if self.is_ready:
            return
        self.preload()
        if self._model is None and not self._loaded.is_set():
            self._loaded.wait(0.0 if self._has_waited else left_s(LOAD_WAIT_S))
            self._has_waited = self._model is None
        if self._model is not None:
            return
        if self._error is not None:
            raise self._error
        raise ModelUnavailable(f"{self._plugin}: embeddings model of '{self.name}' is still being loaded")

    def _load(self) -> None:
        try:
            with self._lock:
                model = self._given
                if model is None:
                    model = construct(find_text_embedder(self.name, plugin=self._plugin), self._config)
                probe = unit_vector(model.get_embeddings(PROBE))
                count, max_tokens = tokenizer(model)
            if probe is None:
                raise BadReply(f"{self._plugin}: embeddings plugin '{self.name}' returns no usable vectors")
        except Exception as error:
            self._load_failed(error)
        else:
            self.dimension, self._probe = len(probe), probe
            self._count, self._max_tokens = count or estimate_tokens, max_tokens
            self._error, self._delay_s, self._has_waited = None, _RETRY_FROM_S, False
            self._model = model
        finally:
            self._loaded.set()

    def _load_failed(self, error: Exception) -> None:
        if not isinstance(error, OvosMemoryError):
            told = ModelUnavailable(
                f"{self._plugin}: embeddings plugin '{self.name}' could not load its model"
                f" ({type(error).__name__}); check embeddings_config, the model file and the network"
            )
            told.__cause__ = error
            error = told
        self._error = error
        self._retry_at = time.monotonic() + self._delay_s
        self._delay_s = min(2 * self._delay_s, _RETRY_TO_S)

    def probe(self) -> Floats:
        """Return the vector of the fixed sentence."""
        self.ensure()
        assert self._probe is not None
        return self._probe

    # ------------------------------------------------------------------ embedding
    def document_vectors(self, text: str) -> list[Floats]:
        """Return the vectors of a text's windows, one for a text that the model can hold.

        Raises:
            BadReply: The model makes no usable vector of it.
            ModelUnavailable: The model cannot be used just now.
        """
        return self.batch([text])[0] or self._refuse(text)

    def batch(self, texts: Sequence[str]) -> list[list[Floats]]:
        """Return the vectors of many texts, in order; an empty list for a text that has no usable vector.

        Raises:
            ModelUnavailable: The model cannot be used just now.
        """
        self.ensure()
        windows = [self._windows(text) for text in texts]
        flat = [window for group in windows for window in group]
        vectors = self._embed(flat)
        found: list[list[Floats]] = []
        at = 0
        for text, group in zip(texts, windows, strict=True):
            part = vectors[at : at + len(group)]
            at += len(group)
            kept = [vector for vector in part if vector is not None]
            found.append(kept if kept else self._shortened(text))
        return found

    def query_vector(self, text: str) -> Floats | None:
        """Return the vector of a query; ``None`` when it has none.  Repeating a query costs nothing."""
        self.ensure()
        with self._state_lock:
            if text in self._queries:
                self._queries.move_to_end(text)
                return self._queries[text]
        windows = self._windows(text)
        if len(windows) > _QUERY_WINDOWS:
            windows = windows[: _QUERY_WINDOWS - 1] + windows[-1:]
        vectors = [v for v in self._embed(windows) if v is not None] or self._shortened(text)
        mean = sum(vectors[1:], vectors[0]) if vectors else None
        vector = None if mean is None else unit_vector(mean)
        if (
            vector is None
        ):  # not kept: a model that answers nonsense may have come to its senses the next time
            return None
        with self._state_lock:
            self._queries[text] = vector
            while len(self._queries) > _QUERY_CACHE:
                self._queries.popitem(last=False)
        return vector

    def _windows(self, text: str) -> list[str]:
        if len(text) <= self._max_tokens // 4 and (self._max_chars is None or len(text) <= self._max_chars):
            return [text]
        return self._alone(lambda: self._split(text))

    def _split(self, text: str) -> list[str]:
        fits = self._max_chars is None or len(text) <= self._max_chars
        if fits and len(text) <= 16 * self._max_tokens and self._count(text) <= self._max_tokens:
            return [text]
        return split_windows(
            text,
            max_tokens=min(_WINDOW_TOKENS, self._max_tokens),
            count_tokens=self._count,
            max_chars=self._max_chars,
        )

    def _alone(self, use: Callable[[], R]) -> R:
        """Use the model, as the only one; :class:`ModelUnavailable` when it does not come back in time."""

        def locked() -> R:
            with self._lock:
                return use()

        return self._own.run(locked)

    def _embed(self, texts: Sequence[str]) -> list[Floats | None]:
        """Return a checked vector for each text, in one call where the plugin can."""
        model = self._model
        together = getattr(model, "get_embeddings_batch", None)
        if len(texts) > 1 and callable(together):
            try:
                replies = self._alone(lambda: list(together(list(texts))))
                vectors = [self._checked(reply) for reply in replies]
                if len(vectors) == len(texts) and all(vector is not None for vector in vectors):
                    return vectors
            except ModelUnavailable:
                raise
            except Exception as error:
                LOG.debug("%s: a batch of %d failed (%s)", self._plugin, len(texts), type(error).__name__)
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> Floats | None:
        try:
            reply = self._alone(lambda: self._model.get_embeddings(text))
        except ModelUnavailable:
            raise
        except Exception as error:
            LOG.debug("%s: %d characters not embedded (%s)", self._plugin, len(text), type(error).__name__)
            self._check_alive(error)
            return None
        return self._checked(reply)

    def _checked(self, reply: Any) -> Floats | None:
        vector = unit_vector(reply)
        return vector if vector is not None and len(vector) == self.dimension else None

    def _check_alive(self, error: Exception) -> None:
        """Tell a text that the model refuses from a model that fails."""
        try:
            is_alive = unit_vector(self._alone(lambda: self._model.get_embeddings(PROBE))) is not None
        except Exception:  # that is the answer; the first failure is the one that is told
            is_alive = False
        if not is_alive:
            raise ModelUnavailable(
                f"{self._plugin}: embeddings plugin '{self.name}' fails ({type(error).__name__})"
            ) from error

    def _shortened(self, text: str) -> list[Floats]:
        """Return the vectors of a text that the model refused in one piece, and remember what it can hold."""
        length = min(len(text), self._max_chars or len(text), 4 * self._max_tokens)
        while length // 2 >= _SHORTEST_LIMIT_CHARS:
            length //= 2
            if self._one(text[:length]) is None:
                continue
            if self._max_chars is None or length < self._max_chars:
                LOG.warning(
                    "%s: '%s' refuses texts of %d characters; long texts are embedded in windows of %d",
                    self._plugin,
                    self.name,
                    min(len(text), self._max_chars or len(text)),
                    length,
                )
                self._max_chars = length
            return [v for v in map(self._one, self._windows(text)) if v is not None]
        return []

    def _refuse(self, text: str) -> list[Floats]:
        raise BadReply(
            f"{self._plugin}: '{self.name}' has no usable vector for {len(text)} characters of text"
        )

    def close(self) -> None:
        """Let the model's thread end; called when the last memory that uses it is gone."""
        self._own.close()
