"""The ledger as a queue: nothing is done twice, nothing is forgotten, one owner at a time, flat cost."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.ledger_queue import MAX_FAILURES, MAX_LOSSES
from ovos_memory.core.sqlite import open_database
from ovos_memory.core.types import Document, Exchange

PLUGIN = "ovos-memory-plugin-test"


def said(question: str, answer: str = "a") -> Exchange:
    messages = (AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer))
    return Exchange(question, answer, messages)


@pytest.fixture
def ledger() -> SqliteLedger:
    return SqliteLedger(open_database(":memory:", plugin=PLUGIN))


def fill(ledger: SqliteLedger, count: int, session: str = "s") -> list[Document]:
    with ledger.database.write() as connection:
        return [
            ledger.append(session, said(f"q{n}"), created_at=1.0, connection=connection) for n in range(count)
        ]


def claim(
    ledger: SqliteLedger, limit: int = 99, *, owner: str = "o", now: float = 0.0, fingerprint: str = "f"
) -> list[Document]:
    return ledger.claim("vectors", fingerprint, limit=limit, lease_s=10.0, owner=owner, now=now)


def ids(documents: list[Document]) -> list[str]:
    return [d.id for d in documents]


# ---------------------------------------------------------------------- claiming
def test_documents_are_handed_out_in_order_and_once(ledger: SqliteLedger):
    fill(ledger, 5)

    assert ids(claim(ledger, 2)) == ["s_0", "s_1"]
    assert ids(claim(ledger, 2, owner="p")) == ["s_2", "s_3"]
    assert ids(claim(ledger, 2)) == ["s_4"]
    assert claim(ledger, 2, owner="p") == []


def test_what_is_done_is_not_handed_out_again(ledger: SqliteLedger):
    fill(ledger, 3)
    claimed = claim(ledger, 2)

    assert ledger.done("vectors", "f", claimed) == []

    assert ids(claim(ledger, now=1e9)) == ["s_2"]
    assert ledger.pending_count("vectors", "f") == 1


def test_a_lease_ends_by_the_clock_handed_in(ledger: SqliteLedger):
    fill(ledger, 1)
    assert ids(claim(ledger, now=100.0)) == ["s_0"]

    assert claim(ledger, owner="p", now=109.9) == []
    assert ids(claim(ledger, owner="p", now=110.0)) == ["s_0"]


def test_a_clock_that_is_set_back_ends_no_lease_early_and_keeps_none_for_ever(ledger: SqliteLedger):
    fill(ledger, 1)
    claim(ledger, now=1_000_000.0)

    assert claim(ledger, owner="p", now=999_995.0) == []
    assert ids(claim(ledger, owner="p", now=5.0)) == ["s_0"]


def test_a_lease_can_be_renewed_by_its_owner_only(ledger: SqliteLedger):
    fill(ledger, 1)
    claimed = claim(ledger, now=0.0)

    ledger.renew("vectors", "f", claimed, owner="o", now=9.0)
    ledger.renew("vectors", "f", claimed, owner="p", now=18.0)

    assert claim(ledger, owner="p", now=18.9) == []
    assert ids(claim(ledger, owner="p", now=19.0)) == ["s_0"]


def test_what_is_given_back_is_pending_at_once_and_no_failure(ledger: SqliteLedger):
    fill(ledger, 1)
    for _ in range(20):
        claimed = claim(ledger)
        assert ids(claimed) == ["s_0"]
        ledger.release("vectors", "f", claimed, owner="p")
        assert claim(ledger, owner="p") == []
        ledger.release("vectors", "f", claimed, owner="o")

    assert ledger.parked("vectors") == 0


def test_consumers_and_fingerprints_have_their_own_marks(ledger: SqliteLedger):
    fill(ledger, 2)
    ledger.done("vectors", "f", claim(ledger))

    assert ids(claim(ledger, fingerprint="g")) == ["s_0", "s_1"]
    assert ids(ledger.claim("facts", "f", limit=9, lease_s=1, owner="o", now=0.0)) == ["s_0", "s_1"]
    assert claim(ledger) == []


def test_a_changed_document_is_pending_again(ledger: SqliteLedger):
    first, second = fill(ledger, 2)
    ledger.done("vectors", "f", claim(ledger))

    ledger.extend(first, said("q0", "a\nb"))
    ledger.edit(second.id, answer="c")

    assert [(d.id, d.answer) for d in claim(ledger)] == [("s_0", "a\nb"), ("s_1", "c")]


def test_a_deleted_document_is_pending_no_more(ledger: SqliteLedger):
    fill(ledger, 3)
    claim(ledger, 1)

    ledger.delete(["s_0", "s_1"])

    assert ledger.pending_count("vectors", "f") == 1
    assert ids(claim(ledger, now=1e9)) == ["s_2"]


def test_nothing_pending_writes_nothing(tmp_path: Path):
    ledger = SqliteLedger(open_database(tmp_path / "m.db", plugin=PLUGIN))
    fill(ledger, 3)
    ledger.done("vectors", "f", claim(ledger))
    before = (tmp_path / "m.db-wal").read_bytes()

    for _ in range(5):
        assert claim(ledger) == []

    assert (tmp_path / "m.db-wal").read_bytes() == before


# ---------------------------------------------------------------------- done
def test_done_tells_what_was_deleted_or_changed_meanwhile(ledger: SqliteLedger):
    fill(ledger, 4)
    claimed = claim(ledger)
    ledger.delete(["s_1"])
    ledger.edit("s_2", answer="new")

    assert ids(ledger.current(claimed)) == ["s_0", "s_3"]
    assert ids(ledger.done("vectors", "f", claimed)) == ["s_1", "s_2"]

    assert [(d.id, d.answer) for d in claim(ledger, now=1e9)] == [("s_2", "new")]


def test_done_is_undone_with_the_transaction_that_stores_the_results(ledger: SqliteLedger):
    fill(ledger, 2)
    claimed = claim(ledger)

    with pytest.raises(ZeroDivisionError), ledger.database.write() as connection:
        assert ids(ledger.current(claimed, connection=connection)) == ["s_0", "s_1"]
        ledger.done("vectors", "f", claimed, connection=connection)
        raise ZeroDivisionError

    assert ledger.pending_count("vectors", "f") == 2


def test_documents_can_be_done_unclaimed_and_in_any_order(ledger: SqliteLedger):
    documents = fill(ledger, 6)

    for n in (4, 1, 5, 0):
        assert ledger.done("vectors", "f", [documents[n]]) == []

    assert ledger.pending_count("vectors", "f") == 2
    assert ids(claim(ledger)) == ["s_2", "s_3"]
    assert claim(ledger, owner="p") == []


def test_what_was_done_before_the_frontier_leaves_no_marks(ledger: SqliteLedger):
    for n in range(50):
        ledger.done("vectors", "f", [ledger.append("s", said(f"q{n}"), created_at=1.0)])
    documents = fill(ledger, 50)
    for document in reversed(documents):
        ledger.done("vectors", "f", [document])

    assert work_rows(ledger) == 0
    assert ledger.pending_count("vectors", "f") == 0


def work_rows(ledger: SqliteLedger) -> int:
    with ledger.database.read() as connection:
        return int(connection.execute("SELECT count(*) FROM work").fetchone()[0])


def test_done_twice_is_done(ledger: SqliteLedger):
    documents = fill(ledger, 3)
    for _ in range(2):
        ledger.done("vectors", "f", [documents[2]])
        ledger.done("vectors", "f", [documents[0]])

    assert ids(claim(ledger)) == ["s_1"]


# ---------------------------------------------------------------------- failing
def test_the_fifth_failure_parks_a_document_and_the_others_go_on(ledger: SqliteLedger):
    fill(ledger, 2)
    for n in range(MAX_FAILURES):
        claimed = claim(ledger, 1)
        assert ids(claimed) == ["s_0"], n
        ledger.failed("vectors", "f", claimed)

    assert ids(claim(ledger)) == ["s_1"]
    assert (ledger.parked("vectors"), ledger.parked("vectors", "f"), ledger.parked("vectors", "g")) == (
        1,
        1,
        0,
    )
    assert ledger.pending_count("vectors", "f") == 1

    assert ledger.retry_parked("vectors") == 1
    assert ids(claim(ledger)) == ["s_0"]
    assert ledger.parked("vectors") == 0


def test_a_failed_document_is_pending_at_once_and_comes_before_later_ones(ledger: SqliteLedger):
    fill(ledger, 3)
    ledger.failed("vectors", "f", claim(ledger, 1))

    assert ids(claim(ledger, 2)) == ["s_0", "s_1"]


def test_a_late_failure_of_a_former_owner_counts_for_nothing(ledger: SqliteLedger):
    fill(ledger, 1)
    claimed = claim(ledger, owner="slow", now=0.0)
    claim(ledger, owner="next", now=50.0)

    ledger.failed("vectors", "f", claimed, owner="slow")

    assert claim(ledger, owner="third", now=51.0) == []


def test_a_document_that_kills_its_worker_is_parked_in_the_end(ledger: SqliteLedger):
    fill(ledger, 2)
    for n in range(MAX_LOSSES):
        assert ids(claim(ledger, 1, now=100.0 * n)) == ["s_0"]

    assert ids(claim(ledger, 1, now=1e6)) == ["s_1"]
    assert ledger.parked("vectors") == 1


def test_a_parked_document_that_is_edited_is_pending_again(ledger: SqliteLedger):
    fill(ledger, 1)
    for _ in range(MAX_FAILURES):
        ledger.failed("vectors", "f", claim(ledger))

    ledger.edit("s_0", answer="easier")

    assert ledger.parked("vectors") == 0
    assert [d.answer for d in claim(ledger)] == ["easier"]


def test_a_restart_makes_everything_pending(ledger: SqliteLedger):
    fill(ledger, 3)
    ledger.done("vectors", "f", claim(ledger))
    ledger.done("vectors", "g", claim(ledger, fingerprint="g"))

    ledger.restart("vectors", "f")

    assert (ledger.pending_count("vectors", "f"), ledger.pending_count("vectors", "g")) == (3, 0)
    ledger.restart("vectors")
    assert ledger.pending_count("vectors", "g") == 3
    assert ids(claim(ledger)) == ["s_0", "s_1", "s_2"]


# ---------------------------------------------------------------------- standing in
def test_unfinished_documents_are_the_newest_oldest_first(ledger: SqliteLedger):
    fill(ledger, 3, "a")
    fill(ledger, 3, "b")
    documents = claim(ledger)
    ledger.done("vectors", "f", documents[1:3])
    fill(ledger, 2, "a")

    assert ids(ledger.unfinished("vectors", "f", session_id="a", limit=9)) == ["a_0", "a_3", "a_4"]
    assert ids(ledger.unfinished("vectors", "f", session_id="a", limit=2)) == ["a_3", "a_4"]
    assert ids(ledger.unfinished("vectors", "f", limit=4)) == ["b_1", "b_2", "a_3", "a_4"]
    assert ids(ledger.unfinished("vectors", "f", limit=99)) == ["a_0", "b_0", "b_1", "b_2", "a_3", "a_4"]
    assert ledger.unfinished("vectors", "f", session_id="nobody", limit=9) == []


def test_a_parked_document_still_stands_in_for_itself(ledger: SqliteLedger):
    fill(ledger, 1)
    for _ in range(MAX_FAILURES):
        ledger.failed("vectors", "f", claim(ledger))

    assert ids(ledger.unfinished("vectors", "f", session_id="s", limit=3)) == ["s_0"]


# ---------------------------------------------------------------------- processes
def test_processes_share_the_work_without_doing_anything_twice(tmp_path: Path):
    ledger = SqliteLedger(open_database(tmp_path / "m.db", plugin=PLUGIN))
    fill(ledger, 300)
    children = []
    for n in range(4):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                mine = SqliteLedger(open_database(tmp_path / "m.db", plugin=PLUGIN))
                while claimed := claim(mine, 7, owner=str(n)):
                    os.write(writing, "".join(f"{d.n}\n" for d in claimed).encode())
                    assert mine.done("vectors", "f", claimed) == []
                os._exit(0)
            finally:
                os._exit(1)
        os.close(writing)
        children.append((child, reading))

    done: list[int] = []
    statuses = []
    for child, reading in children:
        with os.fdopen(reading) as told:
            done += [int(line) for line in told]
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert statuses == [0] * 4
    assert sorted(done) == list(range(300))
    assert ledger.pending_count("vectors", "f") == 0


def test_work_of_killed_processes_is_done_by_others(tmp_path: Path):
    ledger = SqliteLedger(open_database(tmp_path / "m.db", plugin=PLUGIN))
    fill(ledger, 200)
    chance = random.Random(6)
    finished: list[int] = []
    for n in range(15):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            mine = SqliteLedger(open_database(tmp_path / "m.db", plugin=PLUGIN))
            while claimed := claim(mine, 3, owner=str(n), now=100.0 * n):
                assert mine.done("vectors", "f", claimed) == []
                os.write(writing, "".join(f"{d.n}\n" for d in claimed).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as told:
            finished += [
                int(line) for _ in range(chance.randrange(1, 9)) if (line := told.readline()).strip()
            ]
            os.kill(child, 9)
            os.waitpid(child, 0)
            finished += [int(line) for line in told if line.endswith("\n")]

    while claimed := claim(ledger, 50, owner="last", now=1e9):
        finished += [d.n for d in claimed]
        ledger.done("vectors", "f", claimed)
    assert len(finished) == len(set(finished))  # told only after it was done
    assert ledger.pending_count("vectors", "f") == 0
    assert ledger.parked("vectors") == 0


# ---------------------------------------------------------------------- cost
def test_a_claim_reads_no_more_of_a_large_ledger_than_of_a_small_one(tmp_path: Path):
    def steps(count: int) -> int:
        ledger = SqliteLedger(open_database(":memory:", plugin=PLUGIN))
        fill(ledger, count)
        ledger.restart("vectors")
        done = claim(ledger, count)
        ledger.done("vectors", "f", done)
        counted = 0

        def count_step() -> int:
            nonlocal counted
            counted += 1
            return 0

        with ledger.database.read() as connection:
            connection.set_progress_handler(count_step, 1)
        for _ in range(3):
            fill(ledger, 2)
            ledger.done("vectors", "f", claim(ledger, 8))
            claim(ledger, 8)
            ledger.unfinished("vectors", "f", limit=3)
            ledger.tail("s", 10)
        with ledger.database.read() as connection:
            connection.set_progress_handler(None, 1)
        return counted

    small, large = steps(50), steps(5_000)

    assert small > 100
    assert large < 1.2 * small


# ---------------------------------------------------------------------- model
class Queue(RuleBasedStateMachine):
    """Two consumers, three owners and a clock against a plain model of what is pending for whom."""

    @initialize()
    def start(self) -> None:
        self.ledger = SqliteLedger(open_database(":memory:", plugin=PLUGIN))
        self.now = 1_000.0
        self.documents: dict[str, Document] = {}
        self.pending: dict[str, dict[int, tuple[str, float]]] = {"f": {}, "g": {}}
        """By fingerprint: change -> owner and moment of its lease, ``("", 0)`` without one."""
        self.failures: dict[tuple[str, int], int] = {}
        self.losses: dict[tuple[str, int], int] = {}
        self.parked: dict[str, set[int]] = {"f": set(), "g": set()}
        self.claimed: list[tuple[str, str, list[Document]]] = []

    def _changed(self, old: Document | None, new: Document | None) -> None:
        for fingerprint in "fg":
            if old is not None:
                self.pending[fingerprint].pop(old.change, None)
                self.parked[fingerprint].discard(old.change)
            if new is not None:
                self.pending[fingerprint][new.change] = ("", 0.0)
        if old is not None:
            del self.documents[old.id]
        if new is not None:
            self.documents[new.id] = new

    def _is_free(self, lease: tuple[str, float]) -> bool:
        return not lease[0] or abs(self.now - lease[1]) >= 10.0

    @rule(session=st.sampled_from("ab"))
    def append(self, session: str) -> None:
        self._changed(None, self.ledger.append(session, said("q"), created_at=self.now))

    @rule(pick=st.randoms(use_true_random=False), how=st.sampled_from(["edit", "extend", "delete"]))
    def change(self, pick: random.Random, how: str) -> None:
        if not self.documents:
            return
        old = self.documents[pick.choice(sorted(self.documents))]
        if how == "delete":
            self.ledger.delete([old.id])
            self._changed(old, None)
        elif how == "edit":
            self._changed(old, self.ledger.edit(old.id, answer="b"))
        else:
            self._changed(old, self.ledger.extend(old, said("q", "longer")))

    @rule(seconds=st.sampled_from([1.0, 9.0, 11.0, -5.0, -100.0, 1e6]))
    def tick(self, seconds: float) -> None:
        self.now += seconds

    @rule(fingerprint=st.sampled_from("fg"), owner=st.sampled_from("xyz"), limit=st.integers(1, 4))
    def claim(self, fingerprint: str, owner: str, limit: int) -> None:
        pending = self.pending[fingerprint]
        lost = [c for c, lease in pending.items() if lease[0] and self._is_free(lease)]
        found = claim(self.ledger, limit, owner=owner, now=self.now, fingerprint=fingerprint)
        for change in lost:
            key = (fingerprint, change)
            self.losses[key] = self.losses.get(key, 0) + 1
            pending[change] = ("", 0.0)
            if self.losses[key] >= MAX_LOSSES:
                del pending[change]
                self.parked[fingerprint].add(change)
        free = sorted(c for c, lease in pending.items() if self._is_free(lease))
        assert [d.change for d in found] == free[:limit]
        for document in found:
            assert document == self.documents[document.id]
            pending[document.change] = (owner, self.now)
        self.claimed.append((fingerprint, owner, found))

    @rule(pick=st.randoms(use_true_random=False), how=st.sampled_from(["done", "failed", "release"]))
    def finish(self, pick: random.Random, how: str) -> None:
        if not self.claimed:
            return
        fingerprint, owner, documents = pick.choice(self.claimed)
        pending = self.pending[fingerprint]
        if how == "done":
            gone = self.ledger.done("vectors", fingerprint, documents)
            assert gone == [d for d in documents if self.documents.get(d.id) != d]
            for document in documents:
                if document not in gone:
                    pending.pop(document.change, None)
                    self.parked[fingerprint].discard(document.change)
            return
        getattr(self.ledger, how)("vectors", fingerprint, documents, owner=owner)
        for document in documents:
            if pending.get(document.change, ("", 0.0))[0] != owner:
                continue
            pending[document.change] = ("", 0.0)
            key = (fingerprint, document.change)
            if how == "failed":
                self.losses.pop(key, None)
                self.failures[key] = self.failures.get(key, 0) + 1
                if self.failures[key] >= MAX_FAILURES:
                    del pending[document.change]
                    self.parked[fingerprint].add(document.change)

    @rule(pick=st.randoms(use_true_random=False), fingerprint=st.sampled_from("fg"))
    def done_unclaimed(self, pick: random.Random, fingerprint: str) -> None:
        if self.documents:
            document = self.documents[pick.choice(sorted(self.documents))]
            assert self.ledger.done("vectors", fingerprint, [document]) == []
            self.pending[fingerprint].pop(document.change, None)
            self.parked[fingerprint].discard(document.change)

    @rule()
    def retry(self) -> None:
        assert self.ledger.retry_parked("vectors") == sum(len(parked) for parked in self.parked.values())
        for fingerprint, parked in self.parked.items():
            for change in parked:
                self.pending[fingerprint][change] = ("", 0.0)
                self.failures.pop((fingerprint, change), None)
                self.losses.pop((fingerprint, change), None)
            parked.clear()

    @invariant()
    def counts_agree(self) -> None:
        for fingerprint in "fg":
            assert self.ledger.pending_count("vectors", fingerprint) == len(self.pending[fingerprint])
            assert self.ledger.parked("vectors", fingerprint) == len(self.parked[fingerprint])
            unfinished = self.ledger.unfinished("vectors", fingerprint, limit=999)
            assert {d.change for d in unfinished} == set(self.pending[fingerprint]) | self.parked[fingerprint]
            for session in "ab":
                of_session = self.ledger.unfinished("vectors", fingerprint, session_id=session, limit=999)
                assert of_session == [d for d in unfinished if d.session_id == session]

    def teardown(self) -> None:
        self.ledger.close()


Queue.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueue = Queue.TestCase
