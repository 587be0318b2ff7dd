"""Rules of ``scope``: one person's box recalls from everywhere, a server only from the caller's session."""

from __future__ import annotations

import pytest

from ovos_memory.testing.messages import pair, texts
from ovos_memory.testing.suite import MemorySuite, needs

LOOK_ALIKES = [
    "ann",
    "Ann",
    "ANN",
    "ann ",
    " ann",
    "ann_",
    "ann_0",
    "ann_0_0",
    "an",
    "a%",
    "a_n",
    "%",
    "_",
    "*",
    "",
    "default",
    "caf\u00e9",
    "cafe\u0301",
    "Rosie::ann@example.org",
    "ann\x00",
    "ann'--",
]


class ScopeSuite(MemorySuite):
    """Who may recall what."""

    @needs("retrieves", "scopes")
    def test_global_scope_recalls_from_every_session(self) -> None:
        """The default: yesterday's conversation is another session."""
        memory = self.new()
        self.tell(memory, "my dentist is Doctor Miller", session_id="monday")

        assert "Miller" in memory.search("dentist", "tuesday")[0].content
        assert "Miller" in memory.search("dentist")[0].content
        assert "Miller" in texts(self.context(memory, "dentist", "tuesday")[:-1])

    @needs("retrieves", "scopes")
    def test_session_scope_recalls_from_the_callers_session_only(self) -> None:
        """On a server the next session is somebody else."""
        memory = self.new({"scope": "session"})
        self.tell(memory, "my dentist is Doctor Miller", session_id="ann")

        assert "Miller" in memory.search("dentist", "ann")[0].content
        assert memory.search("dentist", "bob") == []
        assert "Miller" not in texts(self.context(memory, "dentist", "bob"))

    @needs("retrieves", "scopes")
    def test_session_scope_without_a_session_finds_nothing(self) -> None:
        """Nobody's session is not everybody's."""
        memory = self.new({"scope": "session"})
        self.tell(memory, "my dentist is Doctor Miller", session_id="ann")
        memory.update_history(pair("my dentist is Doctor Who", "noted"), None)

        assert memory.search("dentist") == []
        assert memory.search("dentist", None, 50) == []

    @needs("retrieves", "scopes")
    def test_a_quiet_session_is_found_among_noisy_ones(self) -> None:
        """The filter works inside the store: 200 sessions full of the same word crowd nobody out."""
        memory = self.new({"scope": "session"})
        for number in range(200):
            self.tell(memory, f"tea tea tea number {number}", "tea", session_id=f"noisy {number}")
        self.tell(memory, "once I had a cup of tea, long ago and far away", session_id="quiet")

        hits = memory.search("tea", "quiet")
        assert [hit.source for hit in hits] == ["quiet_0"]
        assert memory.search("tea", "new") == []

    @needs("retrieves", "scopes")
    def test_session_ids_that_look_alike_stay_strangers(self) -> None:
        """Prefixes, case, wildcards, blanks, Unicode forms."""
        memory = self.new({"scope": "session"})
        for number, session in enumerate(LOOK_ALIKES):
            self.tell(memory, f"my tea has the number {number}", session_id=session)

        for number, session in enumerate(LOOK_ALIKES):
            found = [hit.content for hit in memory.search("tea", session, 50)]
            assert found == [f"Q: my tea has the number {number}\nA: noted"], repr(session)

    @needs("retrieves", "scopes")
    @pytest.mark.parametrize("inject_mode", ["system", "developer", "system_prompt", "user", "tool"])
    def test_session_scope_holds_in_every_inject_mode(self, inject_mode: str) -> None:
        """A context is only another way to look."""
        memory = self.new({"scope": "session", "inject_mode": inject_mode})
        self.tell(memory, "my dentist is Doctor Miller", session_id="ann")

        assert "Miller" not in texts(self.context(memory, "who is my dentist", "bob"))
