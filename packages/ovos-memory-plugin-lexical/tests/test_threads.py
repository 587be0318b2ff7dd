"""What several threads of a process may do to a store at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ovos_memory.lexical import handle as handle_module
from ovos_memory.lexical import rebuild as rebuild_module
from ovos_memory.lexical.handle import StoreHandle
from ovos_memory.lexical.rebuild import Rebuild
from ovos_memory.lexical.store import LexicalStore


def in_another_thread(work: Callable[[], object]) -> threading.Thread:
    """Let another thread do something, as far as it gets: it may have to wait for the caller."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(0.2)
    return thread


def test_threads_that_open_a_store_in_memory_at_once_share_it(monkeypatch: pytest.MonkeyPatch):
    handle = StoreHandle(":memory:", plugin="test", table="t", language="en", clock=time.time)
    found: list[LexicalStore] = []
    threads: list[threading.Thread] = []

    def opened(*values: Any, **named: Any) -> LexicalStore:
        if not threads:
            threads.append(threading.current_thread())
            threads.append(in_another_thread(lambda: found.append(handle.store())))
        return LexicalStore(*values, **named)

    monkeypatch.setattr(handle_module, "LexicalStore", opened)

    found.append(handle.store())
    threads[1].join(10)

    assert len(found) == 2
    assert found[0] is found[1] is handle.store()


class _Endless:
    """A store whose index is never complete."""

    def index_missing(self) -> bool:
        return True


def test_threads_that_begin_a_rebuild_at_once_begin_one_that_can_be_stopped(monkeypatch: pytest.MonkeyPatch):
    store = _Endless()
    rebuild = Rebuild(store)  # type: ignore[arg-type]
    begun: list[threading.Thread] = []
    others: list[threading.Thread] = []

    class Noted(threading.Thread):
        def start(self) -> None:
            begun.append(self)
            if not others:
                others.append(threading.current_thread())
                others.append(in_another_thread(rebuild.start))
            super().start()

    seen = SimpleNamespace(Thread=Noted, Event=threading.Event, current_thread=threading.current_thread)
    monkeypatch.setattr(rebuild_module, "threading", seen)
    monkeypatch.setattr(rebuild_module, "_EXIT_S", 10)

    rebuild.start()
    others[1].join(10)
    rebuild.stop()

    assert [thread.is_alive() for thread in begun] == [False]
