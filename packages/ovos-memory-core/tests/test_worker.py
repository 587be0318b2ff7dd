from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import BadReply, ModelUnavailable
from ovos_memory.core.exchanges import make_exchange
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.sqlite import Database
from ovos_memory.core.types import Document
from ovos_memory.core.worker import Worker


class Recorder:
    """A consumer that notes what it handles; ``fail`` raises for documents of its choice."""

    name, fingerprint, lease_s = "notes", "1", 30.0

    def __init__(
        self, ledger: SqliteLedger, fail: Callable[[Sequence[Document]], None] = lambda documents: None
    ) -> None:
        self.ledger = ledger
        self.fail = fail
        self.calls: list[list[str]] = []
        self.kept: list[str] = []
        self.pause_s = 0.0

    def ready_in_s(self) -> float:
        return self.pause_s

    def choose(self, claimed: Sequence[Document]) -> Sequence[Document]:
        return [d for d in claimed if d.session_id == claimed[0].session_id]

    def handle(self, documents: Sequence[Document]) -> list[str]:
        self.calls.append([d.id for d in documents])
        self.fail(documents)
        return [d.id for d in documents]

    def keep(self, documents: Sequence[Document], result: list[str]) -> None:
        with self.ledger.database.write() as connection:
            gone = self.ledger.done(self.name, self.fingerprint, documents, connection=connection)
            self.kept += [i for i in result if i not in {d.id for d in gone}]


@pytest.fixture
def ledger(tmp_path: Path) -> SqliteLedger:
    return SqliteLedger(Database(tmp_path / "ledger.db", plugin="test"))


def add(ledger: SqliteLedger, session: str, words: str = "hello") -> Document:
    messages = [AgentMessage(MessageRole.USER, words), AgentMessage(MessageRole.ASSISTANT, "ok")]
    return ledger.append(session, make_exchange(messages), created_at=1.0)


def worker_of(consumer: Recorder, **settings: Any) -> Worker[list[str]]:
    return Worker(lambda: consumer.ledger, consumer, plugin="test", **settings)


def test_all_pending_documents_are_handled_together_session_by_session(ledger: SqliteLedger) -> None:
    for session in ("a", "b", "a"):
        add(ledger, session)
    consumer = Recorder(ledger)

    assert worker_of(consumer).drain(5)

    assert consumer.calls == [["a_0", "a_1"], ["b_0"]]
    assert consumer.kept == ["a_0", "a_1", "b_0"]


def test_a_portion_is_bounded(ledger: SqliteLedger) -> None:
    for _ in range(5):
        add(ledger, "a")
    consumer = Recorder(ledger)

    worker_of(consumer, most=2).drain(5)

    assert [len(call) for call in consumer.calls] == [2, 2, 1]


def test_the_caller_never_waits(ledger: SqliteLedger) -> None:
    add(ledger, "a")
    released = threading.Event()
    consumer = Recorder(ledger, fail=lambda documents: released.wait(5) and None)
    worker = worker_of(consumer)
    started = time.monotonic()

    worker.wake()

    assert time.monotonic() - started < 0.1
    released.set()
    assert worker.drain(5)


def test_a_document_that_fails_five_times_is_parked_and_counted(ledger: SqliteLedger) -> None:
    def fail(documents: Sequence[Document]) -> None:
        if any(d.question == "poison" for d in documents):
            raise BadReply("no")

    for words in ("hello", "poison", "hello"):
        add(ledger, "a", words)
    consumer = Recorder(ledger, fail)
    worker = worker_of(consumer)

    assert worker.drain(5)

    assert sorted(consumer.kept) == ["a_0", "a_2"]
    assert consumer.calls.count(["a_1"]) == 5
    assert worker.health()["parked"] == 1
    assert worker.health()["operations"]["notes"]["last_error"] == "BadReply"


def test_a_model_that_is_away_counts_no_failure(ledger: SqliteLedger) -> None:
    away = iter(range(20))

    def fail(documents: Sequence[Document]) -> None:
        if next(away, None) is not None:
            raise ModelUnavailable("away")

    add(ledger, "a")
    consumer = Recorder(ledger, fail)

    assert worker_of(consumer).drain(10)

    assert consumer.kept == ["a_0"]


def test_nobody_waits_for_a_model_that_pauses(ledger: SqliteLedger) -> None:
    add(ledger, "a")
    consumer = Recorder(ledger)
    consumer.pause_s = 60.0
    started = time.monotonic()

    assert not worker_of(consumer).drain(5)

    assert time.monotonic() - started < 1.0
    assert consumer.calls == []


def test_what_was_forgotten_during_the_work_is_not_kept(ledger: SqliteLedger) -> None:
    forgotten = add(ledger, "a")
    consumer = Recorder(ledger, fail=lambda documents: ledger.delete([forgotten.id]) and None)

    assert worker_of(consumer).drain(5)

    assert consumer.calls == [["a_0"]] and consumer.kept == []


def test_two_workers_share_the_work_and_do_nothing_twice(tmp_path: Path) -> None:
    ledgers = [SqliteLedger(Database(tmp_path / "ledger.db", plugin="test")) for _ in range(2)]
    for number in range(12):
        add(ledgers[0], f"s{number}")
    consumers = [Recorder(ledger, fail=lambda documents: time.sleep(0.005)) for ledger in ledgers]
    workers = [worker_of(consumer, most=2) for consumer in consumers]

    for worker in workers:
        worker.wake()

    assert workers[0].drain(10)
    assert sorted(consumers[0].kept + consumers[1].kept) == sorted(f"s{n}_0" for n in range(12))


def test_the_thread_does_not_keep_its_owner_alive(ledger: SqliteLedger) -> None:
    class Owner:
        def __init__(self) -> None:
            self.worker = worker_of(Recorder(ledger))

    owner = Owner()
    owner.worker.wake()
    gone = weakref.ref(owner)

    del owner
    gc.collect()

    assert gone() is None


def test_a_closed_worker_ends_and_begins_again_when_woken(ledger: SqliteLedger) -> None:
    consumer = Recorder(ledger)
    worker = worker_of(consumer)
    before = set(threading.enumerate())
    worker.wake()
    started = set(threading.enumerate()) - before
    worker.close()
    for thread in started:
        thread.join(5)
    assert len(started) == 1 and not any(thread.is_alive() for thread in started)

    add(ledger, "a")

    assert worker.drain(5)


def test_a_forked_child_works_with_a_thread_of_its_own(ledger: SqliteLedger) -> None:
    consumer = Recorder(ledger)
    worker = worker_of(consumer)
    worker.drain(5)

    child = os.fork()
    if child == 0:
        add(ledger, "child")
        os._exit(0 if worker.drain(10) and consumer.kept == ["child_0"] else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SCRIPT = """
    import sys, time
    from pathlib import Path
    sys.path.insert(0, {folder!r})
    from test_worker import Recorder, add, worker_of
    from ovos_memory.core.ledger import SqliteLedger
    from ovos_memory.core.sqlite import Database
    ledger = SqliteLedger(Database(Path({path!r}), plugin="test"))
    add(ledger, "a")
    def hang(documents):
        print("working", flush=True)
        time.sleep(60)
    consumer = Recorder(ledger, hang)
    consumer.lease_s = 0.5
    worker_of(consumer).wake()
    {then}
"""


def script(path: Path, then: str) -> subprocess.Popen[str]:
    code = textwrap.dedent(SCRIPT).format(folder=str(Path(__file__).parent), path=str(path), then=then)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_work_of_a_killed_process_is_taken_up_again(tmp_path: Path) -> None:
    process = script(tmp_path / "ledger.db", "time.sleep(60)")
    assert process.stdout is not None and "working\n" in process.stdout  # older OPMs log there too
    process.send_signal(signal.SIGKILL)
    process.communicate()

    consumer = Recorder(SqliteLedger(Database(tmp_path / "ledger.db", plugin="test")))

    assert worker_of(consumer).drain(10)
    assert consumer.kept == ["a_0"]


def test_a_process_ends_within_two_seconds_of_its_last_line(tmp_path: Path) -> None:
    process = script(tmp_path / "ledger.db", "time.sleep(0.3)")
    assert process.stdout is not None and "working\n" in process.stdout  # older OPMs log there too
    started = time.monotonic()

    process.communicate(timeout=20)

    assert process.returncode == 0
    assert time.monotonic() - started < 3.5


def test_new_work_begins_after_the_turn_that_brought_it(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ovos_memory.core.worker.SETTLE_S", 60.0)
    consumer = Recorder(ledger)
    worker = worker_of(consumer)

    for number in range(3):
        add(ledger, "a", f"hello {number}")
        worker.wake()
    begun_within_the_turn = list(consumer.calls)
    is_done = worker.drain(10)

    assert begun_within_the_turn == []
    assert is_done
    assert consumer.calls == [["a_0", "a_1", "a_2"]]
    worker.close()


def test_work_that_nobody_waits_for_begins_by_itself(ledger: SqliteLedger) -> None:
    consumer = Recorder(ledger)
    worker = worker_of(consumer)
    add(ledger, "a")

    worker.wake()
    until = time.monotonic() + 10
    while not consumer.kept and time.monotonic() < until:
        time.sleep(0.01)

    assert consumer.kept == ["a_0"]
    worker.close()
