"""Managing the memories of a window: every message is a record, its number outlives its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ovos_plugin_manager.templates.agents import MessageRole

from ovos_memory.core.exchanges import copy_message, group_exchanges, make_exchange, message_as_dict
from ovos_memory.core.ledger_codec import dump_json
from ovos_memory.core.management_lines import turns_of_lines
from ovos_memory.core.management_types import (
    SAME_MOMENT_S,
    Imported,
    IsMeant,
    Progress,
    Scrubbed,
    Tally,
    Trace,
    gone,
)
from ovos_memory.core.record_types import Record, SessionSummary
from ovos_memory.core.text import identity
from ovos_memory.core.turns import Turn, numbered, turn_id
from ovos_memory.core.types import parse_document_id

ChangeTurns = Callable[[list[Turn]], list[Turn]]


class TurnStore(Protocol):
    """Where a memory keeps its turns."""

    def sessions(self) -> list[str]:
        """Return the sessions that have turns."""

    def load(self, session_id: str) -> list[Turn]:
        """Return the turns of a session, numbered, as private copies."""

    def change(self, session_id: str, change: ChangeTurns) -> None:
        """Replace a session's turns; without any the session is gone."""

    def scrub(self) -> Scrubbed:
        """Leave no trace of what is gone in any file."""

    def stats(self) -> dict[str, Any]:
        """Return facts about the store."""


class TurnKeeper:
    """Keeps the records of a memory of turns.

    Args:
        store: Where the turns are.
        plugin: Name for ``Record.origin`` and counts.
    """

    def __init__(self, store: TurnStore, *, plugin: str) -> None:
        self._store = store
        self._plugin = plugin

    # ------------------------------------------------------------------ looking
    def sessions(self) -> list[SessionSummary]:
        """Return every session that has records, by first arrival."""
        found = []
        for session_id in self._store.sessions():
            turns = self._store.load(session_id)
            if turns:
                times = [turn.said_at for turn in turns]
                found.append(SessionSummary(session_id, len(turns), min(times), max(times)))
        return sorted(found, key=lambda summary: (summary.first_at, summary.session_id))

    def records(self, session_id: str | None = None) -> Iterator[Record]:
        """Yield all records, of one session or of all."""
        names = [summary.session_id for summary in self.sessions()] if session_id is None else [session_id]
        for name in names:
            for turn in self._store.load(name):
                yield self._record(name, turn)

    def _record(self, session_id: str, turn: Turn) -> Record:
        message = message_as_dict(turn.message)
        details = (
            {"message": message, "messages": [message]} if turn.message.tool_calls else {"message": message}
        )
        return Record(
            turn_id(session_id, turn),
            "message",
            session_id,
            turn.said_at,
            turn.message.content,
            self._plugin,
            details,
        )

    # ------------------------------------------------------------------ changing
    def edit(self, record_id: str, texts: Mapping[str, str]) -> Record:
        """Replace the text of a message."""
        if set(texts) != {"text"}:
            raise ValueError("a message has a text, and neither question nor answer")
        session_id, _ = parse_document_id(record_id) or ("", -1)
        edited: list[Turn] = []

        def change(turns: list[Turn]) -> list[Turn]:
            edited.clear()
            for place, turn in enumerate(turns):
                if turn_id(session_id, turn) == record_id:
                    message = copy_message(turn.message)
                    message.content = texts["text"]
                    turns[place] = replace(turn, message=message)
                    edited.append(turns[place])
            return turns

        if all(turn_id(session_id, turn) != record_id for turn in self._store.load(session_id)):
            raise gone(record_id)
        self._store.change(session_id, change)
        if not edited:
            raise gone(record_id)
        return self._record(session_id, edited[0])

    def remove(self, is_meant: IsMeant, session_id: str | None = None) -> list[Trace]:
        """Remove messages, wherever they are."""
        traces: list[Trace] = []
        for name in self._store.sessions() if session_id is None else [session_id]:
            removed: list[Trace] = []

            def change(turns: list[Turn], name: str = name, removed: list[Trace] = removed) -> list[Turn]:
                kept, went = self._parted(name, turns, is_meant)
                removed[:] = went  # the last call counts: a change may be made again
                return kept

            if any(is_meant(self._record(name, turn)) for turn in self._store.load(name)):
                self._store.change(name, change)
                traces += removed
        return traces

    def _parted(
        self, session_id: str, turns: Sequence[Turn], is_meant: IsMeant
    ) -> tuple[list[Turn], list[Trace]]:
        """Return the turns that stay, and traces of those that go, with the exchange they were part of."""
        kept: list[Turn] = []
        went: list[Trace] = []
        left = list(turns)
        for group in group_exchanges(turn.message for turn in turns):
            exchange = make_exchange(group)
            for turn in left[: len(group)]:
                if is_meant(self._record(session_id, turn)):
                    text = turn.message.content
                    said = (exchange.question, exchange.answer)
                    went.append(Trace(session_id, text, *said, None, turn.said_at))
                else:
                    kept.append(turn)
            del left[: len(group)]
        return kept, went

    def related(self, traces: Sequence[Trace]) -> IsMeant:
        """Return which messages are part of the same exchange, or repeat a text that was none."""
        meant: set[str] = set()
        for name in dict.fromkeys(trace.session_id for trace in traces):
            mine = [trace for trace in traces if trace.session_id == name]
            texts = {identity(t.text) for t in mine if t.question is None}
            turns = self._store.load(name)
            meant |= {
                turn_id(name, turn) for turn in _orphans(turns) if any(_is_answer(turn, t) for t in mine)
            }
            for group in group_exchanges(turn.message for turn in turns):
                members, turns = turns[: len(group)], turns[len(group) :]
                is_same = any(_is_exchange(members, trace) for trace in mine)
                for turn in members:
                    if is_same or identity(turn.message.content) in texts:
                        meant.add(turn_id(name, turn))
        return lambda record: record.id in meant

    def scrub(self) -> Scrubbed:
        """Leave no trace of what was removed in any file."""
        return self._store.scrub()

    def stats(self) -> dict[str, Any]:
        """Return facts about the store."""
        return self._store.stats()

    def reindex(self, progress: Progress | None) -> int:
        """Do nothing: nothing is derived from the messages."""
        return 0

    # ------------------------------------------------------------------ taking along
    def take_in(self, lines: Iterable[Mapping[str, Any]], progress: Progress | None) -> Imported:
        """Add messages with their numbers and times, in the order of their numbers."""
        tally = Tally()
        found = turns_of_lines(lines, tally)
        for done, (session_id, new) in enumerate(found.items(), 1):
            counted: list[Tally] = []

            def change(
                turns: list[Turn], new: list[Turn] = new, counted: list[Tally] = counted
            ) -> list[Turn]:
                counted[:] = [Tally()]
                return _merged(turns, new, counted[0])

            self._store.change(session_id, change)
            for each in counted:
                tally.added += each.added
                tally.known += each.known
                tally.renumbered += each.renumbered
            if progress is not None:
                progress(done, len(found))
        return tally.result(self._plugin)


def _is_exchange(turns: Sequence[Turn], trace: Trace) -> bool:
    """Tell whether these turns are the forgotten exchange, or the one in which a fact's words were said."""
    exchange = make_exchange([turn.message for turn in turns])
    if trace.is_source(trace.session_id, turns[0].said_at, exchange.question):
        return True
    if trace.question is None or trace.answer is None:
        return False
    return trace.is_exchange(trace.session_id, exchange.question, exchange.answer)


def _orphans(turns: Sequence[Turn]) -> list[Turn]:
    """Return answers whose question is gone: they come first, or behind another answer."""
    before = [None, *turns]
    return [
        turn
        for last, turn in zip(before, turns, strict=False)
        if _speaks(turn) and (not last or _speaks(last))
    ]


def _speaks(turn: Turn) -> bool:
    return turn.message.role is MessageRole.ASSISTANT and not turn.message.tool_calls


def _is_answer(turn: Turn, trace: Trace) -> bool:
    """Tell whether an answer is that of a forgotten exchange, said at the same time."""
    is_same = trace.answer is not None and identity(turn.message.content) == identity(trace.answer)
    return is_same and abs(turn.said_at - trace.created_at) <= SAME_MOMENT_S


def _merged(turns: Sequence[Turn], new: Iterable[Turn], tally: Tally) -> list[Turn]:
    """Return stored turns with imported ones among them."""
    by_number = {turn.n: turn for turn in turns}
    known = Counter(_same(turn) for turn in turns)
    for turn in new:
        if known[_same(turn)] > 0:
            tally.known += 1
            known[_same(turn)] -= 1
            continue
        tally.added += 1
        n = turn.n
        if n < 0 or n in by_number:
            tally.renumbered += n >= 0
            n = numbered([replace(turn, n=-1)])[0].n
            while n in by_number:
                n += 1
        by_number[n] = replace(turn, n=n)
    return [by_number[n] for n in sorted(by_number)]


def _same(turn: Turn) -> tuple[float, str]:
    """Return what is equal for the same message of the same moment."""
    return turn.said_at, dump_json(message_as_dict(turn.message))
