"""The facts in their state store."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ovos_memory.core.state import JsonState, RamState, SqliteState
from ovos_memory.core.state_types import AtomicState
from ovos_memory.core.types import Document
from ovos_memory.entity import EntityMemory
from ovos_memory.entity.facts import FactBook, NewFact
from ovos_memory.entity.store import PORTION, SHARED, FactStore, record_of


class _OtherThreadFirst(RamState):
    """A state in which another thread takes over what is in it as soon as this one has begun to."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: FactStore | None = None
        self.other: threading.Thread | None = None

    def load(self, session_id: str, **named: Any) -> Any:
        found = super().load(session_id, **named)
        if self.facts is not None and self.other is None:
            self.other = threading.current_thread()
            self.other = threading.Thread(target=self.facts.books)
            self.other.start()
            self.other.join(0.2)  # as far as it gets: it may have to wait for this one
        return found


def test_facts_of_the_other_scope_move_once_when_a_turn_and_the_worker_begin_together():
    book = FactBook()
    book.learn(NewFact("Lives in Rome", "place", "rome", 1.0, "s"))
    book.learn(NewFact("Lives in Paris", "place", "paris", 2.0, "s"))
    before = [(fact.text, fact.is_current, fact.confirmations) for fact in book.all]
    state = _OtherThreadFirst()
    state.update("s", lambda record: record_of(book))
    state.facts = store = FactStore(state, scope="global", max_facts=0)

    moved = store.book("s").all

    assert state.other is not None
    state.other.join(10)
    assert sorted((f.text, f.is_current, f.confirmations) for f in moved) == sorted(before)
    assert state.sessions() == [SHARED]


SAID = {"a": ["Lives in Rome", "Lives in Paris", "Lives in Paris"], "b": ["Plays the violin"] * 3}
"""By session; one fact is replaced, two are said again."""


def learned(session: str) -> FactBook:
    book = FactBook()
    for at, text in enumerate(SAID[session]):
        book.learn(NewFact(text, "other", text, float(at), session))
    return book


def told(store: FactStore) -> list[tuple[str, str, bool, int]]:
    return sorted(
        (fact.session, fact.text, fact.is_current, fact.confirmations)
        for _, book in store.books()
        for fact in book.all
    )


@pytest.fixture(params=["json", "db"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"facts.{request.param}"


def state_of(path: Path) -> AtomicState:
    kind = JsonState if path.suffix == ".json" else SqliteState
    return kind(path, kind="entity", plugin="p")


MOVES = """
    import sys, time
    from pathlib import Path
    from ovos_memory.core.state import JsonState, SqliteState
    from ovos_memory.entity.store import FactStore

    path, scope, me, other = Path(sys.argv[1]), *sys.argv[2:]

    def meet(where):
        path.with_name(f"{where}-{me}").touch()
        ends_at = time.monotonic() + 10
        while not path.with_name(f"{where}-{other}").exists() and time.monotonic() < ends_at:
            time.sleep(0.001)

    class Meeting(JsonState if path.suffix == ".json" else SqliteState):
        has_met = False

        def sessions(self):
            found = super().sessions()
            meet("listed")
            return found

        def load(self, *given, **named):
            found = super().load(*given, **named)
            if not self.has_met:
                self.has_met = True
                meet("loaded")
            return found

    FactStore(Meeting(path, kind="entity", plugin="p"), scope=scope, max_facts=0).books()
"""


@pytest.mark.parametrize("scope", ["global", "session"])
def test_two_processes_that_begin_at_once_move_each_fact_once(path: Path, scope: str):
    state = state_of(path)
    for session in SAID:
        state.update(session, lambda record, session=session: record_of(learned(session)))
    before = told(FactStore(state, scope="session", max_facts=0))
    if scope == "session":
        FactStore(state, scope="global", max_facts=0).books()

    children = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(MOVES), str(path), scope, *names])
        for names in (("one", "two"), ("two", "one"))
    ]
    assert [child.wait(60) for child in children] == [0, 0]

    assert sorted(state.sessions()) == ([SHARED] if scope == "global" else ["a", "b"])
    assert told(FactStore(state, scope=scope, max_facts=0)) == before


class _AnotherProcess:
    """A store of records in which another process learns something as soon as this one has looked into it."""

    def __init__(self, state: AtomicState, name: str, new: NewFact) -> None:
        self._state, self._name, self._new = state, name, new
        self._has_learned = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def _learn(self) -> None:
        if not self._has_learned:
            self._has_learned = True
            FactStore(self._state, scope="global", max_facts=0).update_record(
                self._name, lambda book: book.learn(self._new)
            )

    def load(self, session_id: str) -> Any:
        found = self._state.load(session_id)
        self._learn()
        return found

    def apply(self, changes: Any) -> Any:
        self._learn()
        return self._state.apply(changes)


@pytest.mark.parametrize("scope", ["global", "session"])
def test_what_another_process_learns_while_facts_are_moved_is_not_lost(path: Path, scope: str):
    state = state_of(path)
    state.update("a", lambda record: record_of(learned("a")))
    if scope == "session":
        FactStore(state, scope="global", max_facts=0).books()
    name, session = ("a", "a") if scope == "global" else (SHARED, "new")
    shared: Any = _AnotherProcess(state, name, NewFact("Works as a nurse", "work", "nurse", 9.0, session))

    moved = told(FactStore(shared, scope=scope, max_facts=0))

    assert (session, "Works as a nurse", True, 0) in moved
    assert len(moved) == 3
    assert sorted(state.sessions()) == ([SHARED] if scope == "global" else ["a", "new"])


class _Counting(RamState):
    """Counts the steps in which records change."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def apply(self, changes: Any, **named: Any) -> Any:
        self.steps += 1
        return super().apply(changes, **named)


def of_many_sessions(count: int) -> _Counting:
    state = _Counting()
    for number in range(count):
        book = FactBook()
        book.learn(NewFact(f"Keeps {number} hens", "other", "hens", float(number), f"s{number}"))
        state.update(f"s{number}", lambda record, book=book: record_of(book))
    return state


def test_facts_of_many_sessions_move_in_few_steps():
    state = of_many_sessions(2 * PORTION + 1)

    facts = FactStore(state, scope="global", max_facts=50).book("s").all

    assert [fact.session for fact in facts] == [f"s{n}" for n in range(2 * PORTION + 1 - 50, 2 * PORTION + 1)]
    assert state.steps == 3
    assert state.sessions() == [SHARED]


def test_a_turn_moves_one_portion_of_many_sessions_and_the_next_turns_the_others():
    state = of_many_sessions(2 * PORTION + 1)
    store = FactStore(state, scope="global", max_facts=0)

    seen = [len(store.book("s", waits=False).all) for _ in range(4)]

    assert seen == [PORTION, 2 * PORTION, 2 * PORTION + 1, 2 * PORTION + 1]
    assert state.steps == 3


def test_a_turn_does_not_wait_while_the_worker_moves_facts():
    state = of_many_sessions(2 * PORTION)
    store = FactStore(state, scope="global", max_facts=0)
    seen: list[int] = []

    def apply(changes: Any, **named: Any) -> Any:
        results = _Counting.apply(state, changes, **named)
        turn = threading.Thread(target=lambda: seen.append(len(store.book("s", waits=False).all)))
        turn.start()
        turn.join(10)
        return results

    state.apply = apply  # type: ignore[method-assign]
    store.books()

    assert seen == [PORTION, 2 * PORTION]


def test_a_sentence_that_reaches_the_disk_while_a_context_is_built_is_in_it():
    held = [Document("s", 0, "I have a dog", "ok", (), 1.0)]

    def unfinished(session_id: str, limit: int) -> list[Document]:
        held.clear()  # another thread writes it as soon as the ledger was read
        return []

    memory: Any = SimpleNamespace(
        workplace=SimpleNamespace(unfinished=unfinished),
        journal=SimpleNamespace(held=lambda session_id: list(held)),
    )

    assert EntityMemory._pending(memory, "s") == ["I have a dog"]
