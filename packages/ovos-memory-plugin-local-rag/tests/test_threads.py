"""What may happen between two steps: another thread's call, a fork."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ovos_memory.core.errors import StoreLocked
from ovos_memory.local_rag import background as background_module
from ovos_memory.local_rag import embedder as embedder_module
from ovos_memory.local_rag import patience as patience_module
from ovos_memory.local_rag.background import Background
from ovos_memory.local_rag.current_model import CurrentModel
from ovos_memory.local_rag.embedder import Embedder
from ovos_memory.local_rag.exact import ExactSearch
from ovos_memory.local_rag.mirror import StoreMirror
from ovos_memory.local_rag.patience import OwnThread
from ovos_memory.local_rag.records import Changes, Model, StoredVector


class OtherThreadFirst:
    """Stands for ``os``: at the first look at the process id another thread does something, as far as it gets."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.other: threading.Thread | None = None

    def getpid(self) -> int:
        if self.other is None:
            self.other = threading.current_thread()
            self.other = threading.Thread(target=self._work, daemon=True)
            self.other.start()
            self.other.join(0.2)
        return os.getpid()


class Overlap:
    """Notes how many are inside at once; the first one stays until it may go."""

    def __init__(self) -> None:
        self.inside = 0
        self.seen: list[int] = []
        self.go_on = threading.Event()

    def enter(self) -> None:
        self.inside += 1
        self.seen.append(self.inside)
        if len(self.seen) == 1:
            self.go_on.wait(1.0)
        self.inside -= 1


def test_threads_of_a_child_make_calls_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    own, overlap = OwnThread("memory-test", RuntimeError), Overlap()
    own._pid = -1  # as in a child that has not used it yet
    first = OtherThreadFirst(lambda: own.run(overlap.enter))
    monkeypatch.setattr(patience_module, "os", first)

    own.run(overlap.enter)

    assert first.other is not None
    first.other.join(10)
    assert overlap.seen == [1, 1]


def test_threads_of_a_child_begin_background_work_once(monkeypatch: pytest.MonkeyPatch) -> None:
    background, overlap = Background("memory-test"), Overlap()
    background._pid = -1  # as in a child that has not used it yet
    first = OtherThreadFirst(lambda: background.start(overlap.enter))
    monkeypatch.setattr(background_module, "os", first)

    background.start(overlap.enter)

    assert first.other is not None
    first.other.join(10)
    overlap.go_on.set()
    background.join(10)
    assert overlap.seen == [1]


def test_threads_of_a_child_load_a_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    overlap = Overlap()

    def vector(text: str) -> list[float]:
        overlap.enter()
        return [1.0, 0.0]

    embedder = Embedder("fake", {}, plugin="test", instance=SimpleNamespace(get_embeddings=vector))
    embedder._pid = -1  # as in a child that has not used it yet
    first = OtherThreadFirst(embedder.preload)
    monkeypatch.setattr(embedder_module, "os", first)

    embedder.preload()

    assert first.other is not None
    first.other.join(10)
    overlap.go_on.set()
    assert embedder._loaded.wait(10)
    assert overlap.seen == [1]


def test_a_child_searches_although_a_thread_was_searching_when_it_was_forked() -> None:
    model = Model(1, 2, "f", "")
    vector = np.array([1.0, 0.0], dtype=np.float32)
    added = [StoredVector(1, "s", 0, 0, vector.tobytes())]

    def changes(connection: Any, model: Model, *, after: int, removed_after: int) -> Changes:
        return Changes("i", 0, [], added if after == 0 else [])

    database: Any = SimpleNamespace(read=contextlib.nullcontext)
    search = ExactSearch(database, SimpleNamespace(changes=changes))  # type: ignore[arg-type]
    found = search.search(model, vector, 1)
    assert search._matrix is not None
    held, done = threading.Event(), threading.Event()

    def hold(lock: Any) -> None:
        with lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold, args=(search._matrix._lock,))
    thread.start()
    assert held.wait(10)

    if (child := os.fork()) == 0:
        signal.alarm(10)
        os._exit(0 if search.search(model, vector, 1) == found else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    done.set()
    thread.join(10)

    assert status == 0


def test_a_store_that_another_thread_wants_looked_at_again_is_still_the_one_that_was_asked_for() -> None:
    class LookedAtAgain(StoreMirror):
        _kept: Any = None

        @property
        def _opened(self) -> Any:
            kept, self._kept = self._kept, None  # another thread says so as soon as it was looked at
            return kept

        @_opened.setter
        def _opened(self, opened: Any) -> None:
            self._kept = opened

    store, model = object(), Model(1, 2, "f", "c")
    handle: Any = SimpleNamespace(store=lambda collection, dimension: store)
    mirror = LookedAtAgain(handle, None, None, collection="c", identity="i")  # type: ignore[arg-type]
    mirror._opened = (store, model, "c")

    assert mirror.open(model) == (store, "c")


def test_a_model_that_could_not_be_noted_while_others_wrote_begins_with_the_next_call() -> None:
    facts: dict[str, str] = {}
    others = [StoreLocked("others are writing")]
    begun: list[int] = []

    def write(wait_s: float) -> Any:
        if others:
            raise others.pop()
        return contextlib.nullcontext()

    model = Model(1, 2, "f", "")
    ledger: Any = SimpleNamespace(
        database=SimpleNamespace(read=contextlib.nullcontext, write=write),
        pending_count=lambda consumer, fingerprint: 7,
    )
    table: Any = SimpleNamespace(
        find_model=lambda connection, probe: model,
        meta=lambda connection, name: facts.get(name),
        set_meta=lambda connection, name, value: facts.update({name: value}),
    )
    embedder: Any = SimpleNamespace(probe=lambda: None)
    current = CurrentModel(ledger, table, embedder, begin=lambda model, left: begun.append(left))
    with pytest.raises(StoreLocked):
        current.loaded()

    assert current.loaded() is model
    assert current.loaded() is model

    assert (begun, facts) == ([7], {"fingerprint": "f"})
