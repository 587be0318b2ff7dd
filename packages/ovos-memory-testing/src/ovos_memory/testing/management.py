"""Rules of looking at records, correcting them and taking them along; all rules of management in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.core.errors import DocumentGone
from ovos_memory.testing.forgetting import (
    ODD_SESSIONS,
    SECRET,
    ForgettingSuite,
    every_record,
    files_with,
)
from ovos_memory.testing.messages import assistant, call, said, tool, user
from ovos_memory.testing.suite import MemorySuite, needs


class CorrectingSuite(MemorySuite):
    """``records``, ``edit``, ``stats``: what is known, and that it can be put right."""

    @needs("manages")
    def test_records_are_chosen_by_all_conditions(self) -> None:
        """Session, phrase, before and after, joined by and."""
        memory = self.new({} if self.window_key is None else {self.window_key: 0})
        for number in range(4):
            self.tell(memory, f"tea number {number}", session_id="ab"[number % 2])
        every = every_record(memory)
        moment = sorted({r.created_at for r in every})[len({r.created_at for r in every}) // 2]

        assert {r.session_id for r in memory.records("a")} == {"a"}
        assert [r.id for r in memory.records(before=moment)] == [r.id for r in every if r.created_at < moment]
        assert [r.id for r in memory.records(after=moment)] == [r.id for r in every if r.created_at >= moment]
        found = [r.text for r in memory.records("a", "TEA NUMBER 2")]
        assert found and all("tea number 2" in text for text in found)
        assert not list(memory.records("b", "tea number 2"))

    @needs("manages")
    def test_a_record_says_what_it_is(self) -> None:
        """Id, kind, session, time, text and origin; an id names one record."""
        memory = self.new()
        self.tell(memory, "tea please", "noted")
        records = every_record(memory)

        assert records and len({r.id for r in records}) == len(records)
        for record in records:
            assert record.kind in ("exchange", "message", "text", "fact", "summary")
            assert record.session_id == "s" and record.created_at > 1e9 and record.origin and record.text
            assert memory.record(record.id) == record
        assert memory.record("nobody_77") is None

    @needs("manages")
    def test_stats_count_what_there_is(self) -> None:
        """Sessions and records."""
        memory = self.new()
        for session in ("a", "a", "b"):
            self.tell(memory, "tea please", "noted", session_id=session)

        told = memory.stats()
        assert told["sessions"] == 2 and told["records"] == len(every_record(memory))
        assert {s.session_id for s in memory.sessions()} == {"a", "b"}

    @needs("manages", "keeps_history")
    def test_a_corrected_record_says_the_new_words_everywhere(self) -> None:
        """History, search and context, after a restart too; the old words are gone."""
        memory = self.new()
        self.tell(memory, f"my name is {SECRET}", "noted")
        self.tell(memory, "tea please", "noted")
        old = next(r for r in every_record(memory) if SECRET in r.text)
        part = "question" if old.kind == "exchange" else "text"

        edited = memory.edit(old.id, **{part: "my name is Philippa"})
        assert edited.id == old.id and "Philippa" in edited.text
        again = self.new() if self.persistent else memory
        assert ("user", "my name is Philippa") in said(again.get_history("s"))
        assert SECRET not in json.dumps(list(again.export()))
        if self.retrieves:
            assert any("Philippa" in hit.content for hit in again.search("Philippa", "s"))
            assert not any(SECRET in hit.content for hit in again.search(f"{SECRET} name", "s"))
        assert not files_with(self.folder, SECRET)

    @needs("manages")
    def test_an_edit_needs_a_record_and_words(self) -> None:
        """An unknown id and an edit of nothing are errors, and change nothing."""
        memory = self.new()
        self.tell(memory, "tea please", "noted")
        before = every_record(memory)

        with pytest.raises(DocumentGone):
            memory.edit("nobody_77", text="x")
        with pytest.raises(ValueError, match="edit"):
            memory.edit(before[0].id)
        assert every_record(memory) == before


class TakingAlongSuite(MemorySuite):
    """``export`` and ``import_records``: the same records again."""

    @needs("manages", "keeps_history")
    def test_an_import_makes_the_same_records_again(self, tmp_path: Path) -> None:
        """Ids, times, messages and tool calls, through JSON; history and hits are the same too."""
        memory = self._told()
        lines = json.loads(json.dumps(list(memory.export())))
        other = self.new(self._unbounded(), folder=tmp_path / "other")
        done = other.import_records(lines)

        assert done.total == len(lines) and not done.renumbered and not done.refused
        assert list(other.export()) == lines == list(memory.export())
        for session in (*ODD_SESSIONS, "s"):
            assert other.get_history(session) == memory.get_history(session)
        if self.retrieves:
            hits = [[(h.content, h.source) for h in m.search("tea number", "s", 50)] for m in (memory, other)]
            assert hits[0] and hits[0] == hits[1]

    @needs("manages", "keeps_history")
    def test_a_second_import_adds_nothing(self, tmp_path: Path) -> None:
        """What is there already is left alone."""
        memory = self._told()
        lines = list(memory.export())
        other = self.new(self._unbounded(), folder=tmp_path / "other")
        other.import_records(lines)

        done = other.import_records(lines)
        assert done.total == 0 and done.known == len(lines)
        assert list(other.export()) == lines

    @needs("manages", "keeps_history")
    def test_a_taken_id_leads_to_another_one(self, tmp_path: Path) -> None:
        """Both records stay."""
        other = self.new(self._unbounded(), folder=tmp_path / "other")
        self.tell(other, "milk first", "noted")
        memory = self.new(self._unbounded())
        self.tell(memory, "tea first", "noted")

        other.import_records(list(memory.export()))
        records = every_record(other)
        assert len({r.id for r in records}) == len(records)
        told = " ".join(r.text for r in records)
        assert "milk first" in told and "tea first" in told

    @needs("manages", "keeps_history")
    def test_numbers_go_on_behind_what_was_imported(self, tmp_path: Path) -> None:
        """The next exchange overwrites nothing."""
        memory = self._told()
        other = self.new(self._unbounded(), folder=tmp_path / "other")
        other.import_records(list(memory.export()))
        self.tell(other, "what comes next", "this")

        records = every_record(other)
        assert len({r.id for r in records}) == len(records) > len(every_record(memory))
        assert said(other.get_history("s"))[-1] == ("assistant", "this")

    @needs("manages")
    @pytest.mark.parametrize(
        "line", [{}, {"kind": 3}, {"kind": "exchange"}, {"kind": "message", "message": {}}]
    )
    def test_a_line_that_is_no_record_is_an_error(self, line: dict[str, Any]) -> None:
        """It says which line, and does not quote it."""
        memory = self.new()
        with pytest.raises(ValueError, match="line 1 is no") as caught:
            memory.import_records([{**line, "text": SECRET, "session_id": SECRET}])
        assert SECRET not in str(caught.value)

    def _unbounded(self) -> dict[str, Any]:
        return {} if self.window_key is None else {self.window_key: 0}

    def _told(self) -> Any:
        memory = self.new(self._unbounded())
        for number in range(4):
            self.tell(memory, f"tea number {number}", f"noted {number}")
        memory.update_history(
            [user("warm?"), assistant("", call("c", rooms=["hall", 1])), tool("21", "c")], "s"
        )
        memory.update_history([assistant("21 degrees \U0001f525")], "s")
        for name in ODD_SESSIONS:
            self.tell(memory, f"hello from {len(name)}", session_id=name)
        if self.stores_texts:
            memory.store("the tea is number one", "s", metadata={"page": 7, "tags": ["a"]})
        return memory


class ManagementContract(ForgettingSuite, CorrectingSuite, TakingAlongSuite):
    """The whole management contract."""
