"""Rules of memories that outlive their process: restarts, kills, paths, file modes, two at once."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ovos_memory.testing.history import TOOL_EXCHANGE
from ovos_memory.testing.messages import assistant, pair, private_copy, said, texts, user
from ovos_memory.testing.suite import MemorySuite, needs


class PersistenceSuite(MemorySuite):
    """What ``update_history`` has accepted is there in the next process."""

    # ------------------------------------------------------------------ restarts
    @needs("persistent", "keeps_history")
    def test_a_conversation_goes_on_after_a_restart(self) -> None:
        """In another process, after one that never called ``close``: personas do not."""
        before = self.child({} if self.window_key is None else {self.window_key: 0})
        before.update_history(pair("my code is 4512", "noted"))
        before.update_history(private_copy(TOOL_EXCHANGE))
        before.update_history([user("lamp \ud83d"), assistant("ok 😀")])
        history = before.get_history()
        before.end()

        memory = self.new({} if self.window_key is None else {self.window_key: 0})
        assert memory.get_history("s") == history
        assert said(history)[0] == ("user", "my code is 4512") and TOOL_EXCHANGE[1] in history
        assert "4512" in texts(self.context(memory, "zzz"))

    @needs("persistent", "retrieves")
    def test_recall_survives_a_restart(self) -> None:
        """Told in one process, asked in the next."""
        before = self.child()
        before.update_history(pair("my dentist is Doctor Miller", "noted"), "monday")
        before.end()

        after = self.child()
        assert after.search("dentist", "monday") == [("Q: my dentist is Doctor Miller\nA: noted", "monday_0")]
        assert "Miller" in texts(after.build_conversation_context("who is my dentist", "monday")[:-1])

    @needs("persistent", "retrieves")
    def test_numbers_go_on_after_a_restart(self) -> None:
        """A counter that starts again overwrites what was said first."""
        first = self.new()
        self.tell(first, "tea one")
        self.tell(first, "tea two")
        first.close()
        second = self.child()
        second.update_history(pair("tea three", "noted"))
        second.end()
        third = self.new()
        self.tell(third, "tea four")

        assert {hit.content: hit.source for hit in third.search("tea", "s", 9)} == {
            "Q: tea one\nA: noted": "s_0",
            "Q: tea two\nA: noted": "s_1",
            "Q: tea three\nA: noted": "s_2",
            "Q: tea four\nA: noted": "s_3",
        }

    @needs("persistent", "keeps_history")
    def test_a_late_piece_after_a_restart_belongs_to_its_answer(self) -> None:
        """The process ended in the middle of an answer."""
        first = self.new()
        self.tell(first, "my code is 4512", "noted")
        first.close()
        second = self.new()
        second.update_history([assistant("anything else?")], "s")

        assert said(second.get_history("s")) == [
            ("user", "my code is 4512"),
            ("assistant", "noted\nanything else?"),
        ]

    @needs("persistent", "keeps_history")
    def test_a_memory_works_on_after_close(self) -> None:
        """A host that closes and goes on loses nothing."""
        memory = self.new()
        self.tell(memory, "tea one")
        memory.close()
        memory.close()
        self.tell(memory, "tea two")

        assert "tea two" in texts(memory.get_history("s"))
        assert {"tea one", "tea two"} <= set(texts(self.new().get_history("s")).splitlines())

    # ------------------------------------------------------------------ two at once
    @needs("persistent", "keeps_history")
    def test_two_instances_on_one_store_see_each_other(self) -> None:
        """A persona and a HiveMind agent on one device."""
        one, two = self.new(), self.new()
        self.tell(one, "tea one")
        self.tell(two, "tea two")
        self.tell(one, "tea three")

        expected = ["tea one", "noted", "tea two", "noted", "tea three", "noted"]
        assert [m.content for m in one.get_history("s")] == expected
        assert [m.content for m in two.get_history("s")] == expected

    @needs("persistent", "keeps_history")
    def test_two_processes_on_one_store_see_each_other(self) -> None:
        """Neither writes from, or answers from, what it read a while ago."""
        other = self.child()
        mine = self.new()
        self.tell(mine, "tea one")
        other.update_history(pair("tea two", "noted"))
        self.tell(mine, "tea three")

        expected = ["tea one", "noted", "tea two", "noted", "tea three", "noted"]
        assert [m.content for m in mine.get_history("s")] == expected
        assert [m.content for m in other.get_history()] == expected

    # ------------------------------------------------------------------ kills
    @needs("persistent", "keeps_history")
    def test_what_was_accepted_survives_a_kill(self) -> None:
        """``kill -9`` in the middle of writes: every exchange that the memory had returned for is there."""
        settings = {} if self.window_key is None else {self.window_key: 0}
        child = self.child(settings)
        child.send("burst", first=0, count=100_000, session_id="s")
        acknowledged = [child.reply() for _ in range(25)][-1]
        child.kill()

        memory = self.new(settings)
        numbers = [
            int(m.content.split()[1]) for m in memory.get_history("s") if m.content.startswith("question")
        ]
        assert numbers[: acknowledged + 1] == list(range(acknowledged + 1))
        assert numbers == list(range(len(numbers)))
        self.tell(memory, "still alive")
        assert "still alive" in texts(memory.get_history("s"))

    # ------------------------------------------------------------------ files
    @needs("persistent")
    def test_files_are_private(self) -> None:
        """Folders 0700, files 0600, whatever the umask allows."""
        umask = os.umask(0)
        try:
            memory = self.new()
            self.tell(memory, "my code is 4512")
            memory.get_history("s")
            found = [self.folder, *self.folder.rglob("*")]
            wrong = {str(p): oct(stat.S_IMODE(p.stat().st_mode)) for p in found if not _is_private(p)}
        finally:
            os.umask(umask)
        assert len(found) > 1 and not wrong, wrong

    @needs("persistent")
    def test_nothing_is_left_in_the_working_directory(self) -> None:
        """Nor anywhere else below the home, when the path lies elsewhere."""
        memory = self.new()
        self.tell(memory, "my code is 4512")
        self.context(memory, "what is my code")

        assert list(self.home.working.rglob("*")) == []
        assert [p for p in self.home.path.rglob("*") if p.is_file()] == []

    @needs("persistent", "path_key")
    @pytest.mark.parametrize(
        ("configured", "expected"),
        [
            ("~/mem/store.db", "{home}/mem/store.db"),
            ("$HOME/mem/store.db", "{home}/mem/store.db"),
            ("${XDG_DATA_HOME}/store.db", "{data}/store.db"),
            ("mem/store.db", "{data}/mem/store.db"),
            ("~/an old ☕ folder/é.db", "{home}/an old ☕ folder/é.db"),
        ],
    )
    def test_a_path_is_expanded(self, configured: str, expected: str) -> None:
        """``~``, variables, blanks, other scripts; a relative one is anchored at the XDG data folder.

        A file that comes later may have a companion until then.
        """
        memory = self.new({str(self.path_key): configured})
        self.tell(memory, "my code is 4512")

        path = Path(expected.format(home=self.home.path, data=self.home.data))
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        assert any(p.name.startswith(path.name) for p in beside), [str(p) for p in self.home.path.rglob("*")]
        assert list(self.home.working.rglob("*")) == []

    @needs("persistent", "path_key", "store_format=sqlite")
    def test_a_path_in_memory_is_no_file(self) -> None:
        """``:memory:`` ends with the process."""
        memory = self.new({str(self.path_key): ":memory:"})
        self.tell(memory, "my code is 4512")

        assert "4512" in texts(memory.get_history("s")) or not self.keeps_history
        assert [p for p in self.home.path.parent.rglob("*") if p.is_file()] == []


def _is_private(path: Path) -> bool:
    return stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
