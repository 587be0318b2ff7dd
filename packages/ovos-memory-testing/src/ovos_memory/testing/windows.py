"""Rules of the history's window: the newest turns, whole ones, within its bounds."""

from __future__ import annotations

import pytest

from ovos_memory.testing import checks
from ovos_memory.testing.history import TOOL_EXCHANGE
from ovos_memory.testing.messages import pair, private_copy, said, texts
from ovos_memory.testing.suite import MemorySuite, needs


class WindowSuite(MemorySuite):
    """How much of a history is kept, and where it may be cut."""

    @needs("keeps_history", "window_key")
    def test_the_window_holds_the_newest_messages(self) -> None:
        """And no more than it may."""
        memory = self.new({str(self.window_key): 4})
        for number in range(6):
            self.tell(memory, f"question {number}", f"answer {number}")

        assert said(memory.get_history("s")) == [
            ("user", "question 4"),
            ("assistant", "answer 4"),
            ("user", "question 5"),
            ("assistant", "answer 5"),
        ]

    @needs("keeps_history", "window_key")
    def test_a_window_of_zero_is_unbounded(self) -> None:
        """``0`` is "no limit", never "nothing"."""
        memory = self.new({str(self.window_key): 0})
        for number in range(40):
            self.tell(memory, f"question {number}", f"answer {number}")

        assert said(memory.get_history("s"))[0] == ("user", "question 0")
        assert len(memory.get_history("s")) == 80

    @needs("keeps_history", "window_key")
    def test_an_answer_without_its_question_does_not_open_a_context(self) -> None:
        """An odd window cuts an exchange in two; the half that is left says nothing."""
        memory = self.new({str(self.window_key): 3})
        self.tell(memory, "question 0", "answer 0")
        self.tell(memory, "question 1", "answer 1")

        turns = [t for t in said(self.context(memory, "zzz")) if t[0] not in ("system", "developer")]
        assert turns == [("user", "question 1"), ("assistant", "answer 1"), ("user", "zzz")]

    @needs("keeps_history", "window_key")
    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
    def test_a_window_never_cuts_a_tool_call_from_its_results(self, limit: int) -> None:
        """Whatever the limit, history and context are conversations that a server accepts."""
        memory = self.new({str(self.window_key): limit})
        for message in [*private_copy(TOOL_EXCHANGE), *pair("thank you", "you are welcome")]:
            memory.update_history([message], "s")
            history = memory.get_history("s")
            checks.check_tool_turns_are_whole(history)
            assert len(history) <= limit
            context = self.context(memory, "zzz")
            turns = [m for m in context if m.role not in checks.FRONT_ROLES]
            checks.check_conversation(turns)

    @needs("keeps_history", "window_chars_key")
    def test_the_characters_of_a_history_are_bounded(self) -> None:
        """Whole exchanges go, oldest first; the newest is cut; the utterance never is."""
        memory = self.new({str(self.window_chars_key): 300})
        for number in range(4):
            self.tell(memory, f"question {number} " + "x" * 80, f"answer {number}")
        kept = texts(self.context(memory, "zzz")[:-1])
        assert "question 0" not in kept and "question 3" in kept
        self.tell(memory, "the newest " + "y" * 5_000, "answer")

        utterance = "z" * 1_000
        context = self.context(memory, utterance)
        turns = [m for m in context if m.role not in checks.FRONT_ROLES]
        assert turns[-1].content == utterance
        assert sum(len(m.content) for m in turns[:-1]) <= 300
        assert turns[0].content.startswith("the newest ") and "…" in turns[0].content
