"""What may happen between two steps: another thread's call, a fork, the garbage collector."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core import backlog as backlog_module
from ovos_memory.core import sqlite_open
from ovos_memory.core.backlog import Backlog, let_go
from ovos_memory.core.boundary import Boundary
from ovos_memory.core.errors import StoreError, StoreUnavailable
from ovos_memory.core.exchanges import make_exchange
from ovos_memory.core.files import folder_lock
from ovos_memory.core.journal import Journal
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.llm import deadline as deadline_module
from ovos_memory.core.llm import workplace as workplace_module
from ovos_memory.core.llm.breaker import Breaker
from ovos_memory.core.llm.deadline import Deadline, OneAtATime
from ovos_memory.core.llm.http import Answer
from ovos_memory.core.llm.server import ServerChat
from ovos_memory.core.llm.workplace import Workplace
from ovos_memory.core.sqlite import Database, open_database
from ovos_memory.core.types import Exchange
from ovos_memory.core.worker import Worker
from ovos_memory.testing.forks import in_child


def said(question: str) -> list[AgentMessage]:
    return [AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, "ok")]


def exchange(question: str) -> Exchange:
    return make_exchange(said(question))


@contextmanager
def held_by_another_thread(lock: Any) -> Iterator[None]:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    yield
    done.set()
    thread.join(10)


def in_another_thread(work: Callable[[], object]) -> threading.Thread:
    """Let another thread do something, as far as it gets: it may have to wait for the caller."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(0.2)
    return thread


class Store:
    """A ledger on disk that can be told to fail."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error: StoreError | None = None
        self.before_append: Callable[[], object] = lambda: None

    def open(self) -> SqliteLedger:
        ledger = SqliteLedger(open_database(self.path, plugin="p"))
        append = ledger.append

        def guarded(*values: Any, **named: Any) -> Any:
            if self.error is not None:
                raise self.error
            self.before_append()
            return append(*values, **named)

        ledger.append = guarded  # type: ignore[method-assign]
        return ledger

    def backlog(self) -> Backlog:
        return Backlog(self.open, boundary=Boundary("p"))

    def questions(self) -> list[str]:
        ledger = SqliteLedger(open_database(self.path, plugin="reader"))
        found = [document.question for document in ledger.documents()]
        ledger.close()
        return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "ledger.db")


# ------------------------------------------------------------------ a fork between two steps
def test_a_child_records_although_a_thread_was_recording_when_it_was_forked(store: Store) -> None:
    journal = Journal(store.open, boundary=Boundary("p"))
    journal.record(said("first"), "s")
    is_recording, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        is_recording.set()
        go_on.wait(10)

    store.before_append = wait
    recording = threading.Thread(target=lambda: journal.record(said("parent"), "s"))
    recording.start()
    assert is_recording.wait(10)
    store.before_append = lambda: None

    status = in_child(lambda: journal.record(said("child"), "s"))
    go_on.set()
    recording.join(10)

    assert status == 0
    assert store.questions() == ["first", "child", "parent"]


@pytest.mark.parametrize(
    ("guarded", "use"),
    [
        (made := Boundary("p"), lambda: made.failed("search", KeyError("x"))),
        (paused := Breaker("p"), paused.failed),
    ],
    ids=["boundary", "breaker"],
)
def test_a_child_counts_failures_although_a_thread_was_counting_when_it_was_forked(
    guarded: Any, use: Callable[[], object]
) -> None:
    with held_by_another_thread(guarded._lock):
        assert in_child(use) == 0


def test_a_child_opens_databases_although_a_thread_was_opening_one_when_it_was_forked(tmp_path: Path) -> None:
    with held_by_another_thread(sqlite_open._creating):
        assert in_child(lambda: open_database(tmp_path / "m.db", plugin="p")) == 0


def test_a_child_does_not_keep_the_folder_that_a_thread_had_when_it_was_forked(tmp_path: Path) -> None:
    until_parent_ends, parent = os.pipe()
    with folder_lock(tmp_path):
        if (child := os.fork()) == 0:
            os.close(parent)
            os.read(until_parent_ends, 1)
            os._exit(0)
    descriptor = os.open(tmp_path, os.O_RDONLY)

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises when somebody has it
    finally:
        os.close(descriptor)
        os.close(parent)
        os.close(until_parent_ends)
        os.waitpid(child, 0)


class _OtherThreadFirst:
    """Stands for ``os``: at the first look at the process id another thread does something first."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.other: threading.Thread | None = None

    def getpid(self) -> int:
        if self.other is None:
            self.other = threading.current_thread()
            self.other = in_another_thread(self._work)
        return os.getpid()


def test_what_one_thread_of_a_child_holds_is_not_lost_when_another_begins(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    backlog = store.backlog()
    store.error = StoreUnavailable("full")
    backlog._pid = -1  # as in a child that has not used it yet
    first = _OtherThreadFirst(lambda: backlog.append("s", exchange("other"), 1.0))
    monkeypatch.setattr(backlog_module, "os", first)

    backlog.append("s", exchange("mine"), 2.0)

    assert first.other is not None
    first.other.join(10)
    assert [document.question for document in backlog.held()] == ["other", "mine"]


def test_two_threads_of_a_child_use_a_model_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    line: OneAtATime[None] = OneAtATime("model")
    running: list[int] = []
    most: list[int] = []
    go_on = threading.Event()

    def answer(is_waiting: bool) -> None:
        running.append(1)
        most.append(len(running))
        if is_waiting:
            go_on.wait(10)
        running.pop()

    line._pid = -1  # as in a child that has not used it yet
    first = _OtherThreadFirst(lambda: line.run(lambda: answer(True), Deadline(10)))
    monkeypatch.setattr(deadline_module, "os", first)

    line.run(lambda: answer(False), Deadline(10))

    go_on.set()
    assert first.other is not None
    first.other.join(10)
    assert most == [1, 1]


def test_waiting_for_a_worker_in_a_child_leaves_nobody_counted(tmp_path: Path) -> None:
    ledger = SqliteLedger(Database(tmp_path / "ledger.db", plugin="p"))
    consumer: Any = SimpleNamespace(name="notes", fingerprint="1", lease_s=1.0, ready_in_s=lambda: 0.0)
    worker: Worker[None] = Worker(lambda: ledger, consumer, plugin="p")

    def child() -> None:
        worker.drain(5, is_done=iter([False, True]).__next__)
        assert worker._draining == 0

    assert in_child(child) == 0


# ------------------------------------------------------------------ another thread between two steps
def test_a_ledger_that_another_thread_lets_go_of_is_still_the_one_that_was_asked_for(store: Store) -> None:
    class LetGoOfOnceSeen(Backlog):
        is_armed = False
        _kept: SqliteLedger | None = None

        @property
        def _ledger(self) -> SqliteLedger | None:
            kept = self._kept
            if self.is_armed:
                self._kept = None  # another thread closes it as soon as it was looked at
            return kept

        @_ledger.setter
        def _ledger(self, opened: SqliteLedger | None) -> None:
            self._kept = opened

    backlog = LetGoOfOnceSeen(store.open, boundary=Boundary("p"))
    opened = backlog.ledger()
    backlog.is_armed = True

    assert backlog.ledger() is opened


def test_what_reaches_the_disk_while_a_window_is_read_is_in_it(store: Store) -> None:
    journal = Journal(store.open, boundary=Boundary("p"))
    journal.record(said("first"), "s")
    store.error = StoreUnavailable("full")
    journal.record(said("second"), "s")
    store.error = None
    tail = journal.ledger.tail

    def and_written_elsewhere(*values: Any, **named: Any) -> Any:
        found = tail(*values, **named)
        journal.flush()
        return found

    journal.ledger.tail = and_written_elsewhere  # type: ignore[method-assign]

    assert [message.content for message in journal.window("s", 0)] == ["first", "ok", "second", "ok"]


def test_what_is_held_while_the_retrying_thread_ends_is_written_without_another_call(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog_module, "_RETRY_FROM_S", 0.0)
    is_empty, go_on, is_written = threading.Event(), threading.Event(), threading.Event()

    class Retried(Backlog):
        def flush(self, wait_s: float = 0.0) -> bool:
            is_done = super().flush(wait_s)
            if is_done and threading.current_thread().name == "memory-backlog" and not go_on.is_set():
                is_empty.set()
                go_on.wait(10)
            return is_done

    backlog = Retried(store.open, boundary=Boundary("p"), on_stored=lambda documents: is_written.set())
    store.error = StoreUnavailable("full")
    backlog.append("s", exchange("first"), 1.0)
    store.error = None
    assert is_empty.wait(10)
    is_written.clear()

    store.error = StoreUnavailable("full")
    backlog.append("s", exchange("second"), 2.0)
    store.error = None
    go_on.set()

    assert is_written.wait(10)
    assert store.questions() == ["first", "second"]


def test_two_threads_that_find_too_much_waiting_let_go_of_the_surplus_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workplace_module, "MAX_PENDING_IN_RAM", 16)
    consumer: Any = SimpleNamespace(name="facts", fingerprint="1")
    place = Workplace(
        "p", None, open_store=lambda: None, hire=lambda place: consumer, chat=None, clock=lambda: 1.0
    )  # type: ignore[arg-type, return-value]
    ledger, others = place.ledger(), []
    for number in range(17):
        ledger.append("s", exchange(f"q{number}"), created_at=1.0)
    count = ledger.count

    def and_counted_elsewhere() -> int:
        found = count()
        if not others:
            others.append(threading.current_thread())
            others.append(in_another_thread(place.bound))
        return found

    ledger.count = and_counted_elsewhere  # type: ignore[method-assign]

    place.bound()

    others[1].join(10)
    assert count() == 15


def test_a_question_goes_to_the_model_that_was_found_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class ForgottenElsewhere(ServerChat):
        _found = ""

        @property
        def _model(self) -> str:
            return ""  # another thread's question failed, so the model is looked for again

        @_model.setter
        def _model(self, found: str) -> None:
            self._found = found

    chat = ForgottenElsewhere("http://127.0.0.1:9/v1")
    models = Answer(200, "application/json", b'{"data": [{"id": "small-chat"}]}')
    monkeypatch.setattr(chat._http, "send", lambda *values, **named: models)

    assert chat._detect_model(Deadline(1)) == "small-chat"


# ------------------------------------------------------------------ the collector between two steps
def test_a_backlog_that_is_collected_within_its_own_write_loses_nothing(store: Store) -> None:
    backlog = store.backlog()
    store.error = StoreUnavailable("full")
    for name in ("a", "b", "c"):
        backlog.append("s", exchange(name), 1.0)
    store.error = None
    collected: list[int] = []

    def collect() -> None:
        if not collected:
            collected.append(1)
            with backlog.ledger().database.write():
                backlog.close()

    store.before_append = collect
    backlog.flush(1.0)

    assert (backlog.lost, backlog.held(), store.questions()) == (0, [], ["a", "b", "c"])


def test_a_backlog_that_is_collected_within_another_ones_write_loses_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog_module, "_RETRY_FROM_S", 3_600.0)
    is_written = threading.Event()
    backlog = Backlog(store.open, boundary=Boundary("p"), on_stored=lambda documents: is_written.set())
    store.error = StoreUnavailable("full")
    backlog.append("s", exchange("a"), 1.0)
    store.error = None

    with backlog.ledger().database.write():
        let_go(backlog)

    assert is_written.wait(10)
    assert (backlog.lost, store.questions()) == (0, ["a"])


def test_a_worker_that_is_collected_by_a_thread_that_is_looking_at_it_ends(tmp_path: Path) -> None:
    worker: Worker[None] = Worker(lambda: None, SimpleNamespace(name="notes"), plugin="p")  # type: ignore[arg-type, return-value]

    def collected() -> None:
        with worker._changed:
            worker.close()

    assert not in_another_thread(collected).is_alive()


def test_closing_while_no_thread_can_be_started_any_more_raises_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    backlog = Backlog(store.open, boundary=Boundary("p"))
    monkeypatch.setattr(backlog, "_open_ledger", lambda: (_ for _ in ()).throw(StoreUnavailable("full")))
    monkeypatch.setattr(threading.Thread, "start", refuse)

    backlog.append("s", exchange("q"), 1.0)
    backlog.close()

    assert [document.question for document in backlog.held()] == ["q"]
