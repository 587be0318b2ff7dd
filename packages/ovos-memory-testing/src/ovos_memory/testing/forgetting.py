"""Rules of forgetting: what is forgotten is gone from everywhere, all else stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.core.management_types import searchable
from ovos_memory.testing.messages import assistant, call, pair, texts, tool, user
from ovos_memory.testing.processes import pack
from ovos_memory.testing.suite import MemorySuite, needs

SECRET = "xylophonist"
ODD_SESSIONS = ("", " ", "a_1", "a", "A", "ann@example::Rosie", "nul\0", "half\ud83d", "ä")


class ForgettingSuite(MemorySuite):
    """``forget``: provably, in every index, and nothing else."""

    @needs("manages")
    def test_forgetting_needs_a_condition(self) -> None:
        """Without one everything would go; nothing does."""
        memory = self._told()
        before = every_record(memory)

        with pytest.raises(ValueError, match="condition"):
            memory.forget()
        assert every_record(memory) == before

    @needs("manages")
    @pytest.mark.parametrize("phrase", ["", "ab", "  a ", "\u00e4b"])
    def test_a_phrase_has_three_characters(self, phrase: str) -> None:
        """A shorter one would choose by accident."""
        memory = self._told()
        before = every_record(memory)

        with pytest.raises(ValueError, match="3 characters"):
            memory.forget(query=phrase)
        with pytest.raises(ValueError, match="3 characters"):
            list(memory.records(query=phrase))
        assert every_record(memory) == before

    @needs("manages")
    def test_a_forgotten_phrase_is_gone_from_everywhere(self) -> None:
        """Records, history, search, contexts and exports, after a restart too."""
        memory = self._told()
        memory.forget(query=SECRET)

        self._knows_nothing(memory)
        self._knows_nothing(self.new(self._unbounded()))

    @needs("manages")
    def test_counts_say_how_many_records_are_gone(self) -> None:
        """By name, the sum of what is missing; none when there is nothing."""
        memory = self._told()
        before = len(every_record(memory))

        done = memory.forget(query=SECRET)
        assert done.total == before - len(every_record(memory)) > 0
        assert done.total == sum(done.counts.values()) and done.leftovers == ()
        assert memory.forget(query=SECRET).total == 0

    @needs("manages")
    def test_all_other_records_stay_as_they_were(self) -> None:
        """Of this session and of the others: words, ids and times."""
        memory = self._told()
        others = [r for r in every_record(memory) if r.session_id != "s"]
        mine = [r for r in every_record(memory) if r.session_id == "s" and "tea" in r.text]
        history = memory.get_history("t")

        memory.forget(query=SECRET)
        left = every_record(memory)
        assert [r for r in left if r.session_id != "s"] == others
        assert [r for r in left if r.session_id == "s" and "tea" in r.text] == mine
        assert memory.get_history("t") == history

    @needs("manages")
    def test_a_phrase_is_compared_by_its_characters(self) -> None:
        """Case and width do not matter; words, order and all characters between do."""
        memory = self.new(self._unbounded())
        for number, text in enumerate(
            ["the Red \uff34\uff25\uff21pot", "red pot of tea", "tea, red pot", "redteapot"]
        ):
            self.tell(memory, text, f"heard {number}")

        memory.forget(query="RED tea")
        left = " ".join(r.text for r in every_record(memory))
        assert "pot of tea" in left and "tea, red pot" in left and "redteapot" in left
        assert "\uff34\uff25\uff21pot" not in left

    @needs("manages")
    def test_every_record_with_the_phrase_goes(self) -> None:
        """However many there are: it is no search that ranks and stops."""
        memory = self.new(self._unbounded())
        for number in range(60):
            self.tell(memory, f"{SECRET} number {number}", "noted")
        self.tell(memory, "something else", "noted")

        memory.forget(query=SECRET)
        assert not [r for r in every_record(memory) if SECRET in searchable(r)]
        assert [r for r in every_record(memory) if "something else" in r.text]

    @needs("manages", "keeps_history")
    def test_what_tools_said_counts_as_text(self) -> None:
        """A secret in an argument or a result is a secret."""
        memory = self.new(self._unbounded())
        memory.update_history(
            [user("who"), assistant("", call("c1", name=SECRET)), tool("fine", "c1"), assistant("ok")], "s"
        )
        memory.update_history(
            [user("what"), assistant("", call("c2")), tool(f"a {SECRET}", "c2"), assistant("ok")], "s"
        )
        self.tell(memory, "and tea", "noted")

        memory.forget(query=SECRET)
        assert SECRET not in json.dumps([pack(m) for m in memory.get_history("s")])
        assert SECRET not in json.dumps(list(memory.export()))
        assert "and tea" in texts(memory.get_history("s"))

    @needs("manages")
    def test_conditions_are_joined_by_and(self) -> None:
        """A phrase in one session leaves it in the others; a phrase that is not in it leaves all."""
        memory = self._told()
        self.tell(memory, f"the {SECRET} again", session_id="t")

        assert memory.forget(session_id="t", query="not there").total == 0
        memory.forget(session_id="s", query=SECRET)
        assert {r.session_id for r in every_record(memory) if SECRET in r.text} == {"t"}

    @needs("manages")
    def test_a_session_is_forgotten_whole_and_alone(self) -> None:
        """Look-alikes are other sessions."""
        memory = self.new(self._unbounded())
        for number, name in enumerate(ODD_SESSIONS):
            self.tell(memory, f"I am number {number}", session_id=name)

        for gone, name in enumerate(ODD_SESSIONS):
            assert memory.forget(session_id=name).total > 0
            left = {r.session_id for r in every_record(memory)}
            assert left == set(ODD_SESSIONS[gone + 1 :])
            assert {s.session_id for s in memory.sessions()} == left
            assert memory.get_history(name) == []

    @needs("manages")
    def test_what_is_older_is_forgotten(self) -> None:
        """Strictly: the moment itself stays."""
        memory = self.new(self._unbounded())
        for number in range(6):
            self.tell(memory, f"number {number}", f"answer {number}", session_id=f"s{number}")
        moment = min(
            r.created_at for r in memory.records("s3")
        )  # each member of a composite has its own copy

        memory.forget(before=moment)
        assert all(r.created_at >= moment for r in every_record(memory))
        assert {r.session_id for r in every_record(memory)} >= {"s3", "s4", "s5"}

    @needs("manages")
    def test_one_record_is_forgotten_by_its_id(self) -> None:
        """That one; an unknown id is nobody's."""
        memory = self._told()
        chosen = next(r for r in every_record(memory) if SECRET in r.text)

        assert memory.forget(record_id="nobody_77").total == 0
        memory.forget(record_id=chosen.id)
        assert chosen.id not in {r.id for r in every_record(memory)}
        assert [r for r in every_record(memory) if "tea" in r.text]

    @needs("manages", "keeps_history")
    def test_a_question_without_an_answer_is_forgotten_too(self) -> None:
        """It waits in memory; its answer must not bring it back."""
        memory = self.new(self._unbounded())
        self.tell(memory, "tea please", "noted")
        memory.update_history([user(f"is it the {SECRET}")], "s")

        memory.forget(query=SECRET)
        memory.update_history([assistant("yes")], "s")
        self._knows_nothing(memory)

    @needs("manages", "retrieves")
    def test_numbers_of_the_forgotten_are_not_used_again(self) -> None:
        """Not even when the whole session went, nor after a restart."""
        memory = self._told()
        known = {r.id for r in every_record(memory)}
        memory.forget(session_id="s")
        self.tell(memory, "what now", session_id="s")

        again = self.new(self._unbounded()) if self.persistent else memory
        self.tell(again, "and now", session_id="s")
        new = {r.id for r in again.records("s")}
        assert new and not new & known

    @needs("manages", "persistent")
    def test_no_file_of_the_store_has_the_bytes(self) -> None:
        """Neither the log, nor free pages, nor what was set aside, copied or left half written."""
        memory = self.new(self._unbounded())
        for number in range(80):
            self.tell(
                memory,
                f"tea number {number} {'x' * (37 * number % 600)}",
                "noted",
                session_id=f"s{number % 7}",
            )
            if number % 9 == 0:
                secret = f"my code is {SECRET}{number}, do not tell {'y' * (61 * number % 900)}"
                self.tell(memory, secret, f"{SECRET}? noted", session_id=f"s{number % 7}")
        assert files_with(self.folder, SECRET)
        for file in [f for f in self.folder.rglob("*") if f.is_file()]:
            if not file.name.endswith(("-wal", "-shm", ".lock")):
                for ending in (".corrupt-1", ".corrupt-1-wal", ".1x.bak"):
                    file.with_name(file.name + ending).write_bytes(f"…{SECRET}…".encode())

        done = memory.forget(query=SECRET)
        assert done.leftovers == () and done.total > 0
        assert not files_with(self.folder, SECRET)
        memory.close()
        assert not files_with(self.folder, SECRET)
        assert len(every_record(self.new(self._unbounded()))) > 0

    @needs("manages", "persistent")
    def test_a_forgotten_session_leaves_no_name(self) -> None:
        """Its counter may stay, under a hash."""
        memory = self._told()
        self.tell(memory, "hello", session_id=f"Rosie::{SECRET}@example.org")
        memory.forget(session_id=f"Rosie::{SECRET}@example.org")
        memory.forget(query=SECRET)
        memory.close()

        assert not files_with(self.folder, SECRET)

    @needs("manages", "persistent", "keeps_history")
    def test_another_process_sees_it_on_its_next_turn(self) -> None:
        """A persona goes on while the command forgets; nothing comes back when it writes."""
        child = self.child(self._unbounded())
        child.ask("update", messages=[pack(m) for m in pair(f"a {SECRET}", "noted")], session_id="s")
        child.ask("update", messages=[pack(m) for m in pair("tea please", "noted")], session_id="s")
        child.ask("context", utterance=f"when does the {SECRET} play", session_id="s")
        memory = self.new(self._unbounded())

        done = memory.forget(query=SECRET)
        assert done.total > 0
        child.ask("update", messages=[pack(m) for m in pair("and milk", "noted")], session_id="s")
        history = json.dumps(child.ask("history", session_id="s"))
        context = json.dumps(child.ask("context", utterance="what do I drink", session_id="s"))
        assert SECRET not in history + context and "and milk" in history and "tea please" in history
        assert not files_with(self.folder, SECRET)

    # ------------------------------------------------------------------ words
    def _unbounded(self) -> dict[str, Any]:
        return {} if self.window_key is None else {self.window_key: 0}

    def _told(self) -> Any:
        memory = self.new(self._unbounded())
        self.tell(memory, "tea at five", "noted")
        self.tell(memory, f"I am a {SECRET.title()}", f"a {SECRET}, how nice")
        self.tell(memory, "tea without sugar", "noted")
        self.tell(memory, "coffee for me", "noted", session_id="t")
        return memory

    def _knows_nothing(self, memory: Any) -> None:
        told = [searchable(r) for r in every_record(memory)]
        told += [texts(memory.get_history("s")), json.dumps(list(memory.export()))]
        told.append(texts(memory.build_conversation_context("who am I", "s")))
        if self.retrieves:
            told += [hit.content for hit in memory.search(f"{SECRET} a", "s", 50)]
        assert not [text for text in told if SECRET in text.lower()]


def every_record(memory: Any) -> list[Any]:
    """Return all records of a memory."""
    return list(memory.records())


def files_with(folder: Path, text: str) -> list[Path]:
    """Return the files below a folder that hold a text, as bytes or escaped."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if text.encode() in file.read_bytes().lower()]
