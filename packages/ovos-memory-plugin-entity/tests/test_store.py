"""The facts in their state store."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from ovos_memory.core.state import RamState
from ovos_memory.core.types import Document
from ovos_memory.entity import EntityMemory
from ovos_memory.entity.facts import FactBook, NewFact
from ovos_memory.entity.store import SHARED, FactStore, record_of


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
