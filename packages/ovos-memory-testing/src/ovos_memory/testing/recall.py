"""Rules of the recalled block: its fence, its budget, its settings; it stays what it is, quoted past talk."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pytest

from ovos_memory.testing.messages import pair, said, texts
from ovos_memory.testing.scenes import MODES, SECRET, RecallScenes
from ovos_memory.testing.suite import needs


class FenceSuite(RecallScenes):
    """Stored text never gets out of its block."""

    @needs("retrieves")
    @pytest.mark.parametrize("inject_mode", MODES)
    def test_the_fence_closes_once_and_last(self, inject_mode: str) -> None:
        """Its closing mark is the last line of the block and stands nowhere else, whatever was stored."""
        block = self._block(self._hostile(inject_mode), inject_mode)
        mark = block.splitlines()[-1]

        assert mark.strip() and block.count(mark) == 1, block
        opening = self._fence()[0]
        assert sum(line.strip() == opening for line in block.splitlines()) == 1, block
        assert "PWNED" in block[block.index(opening) : block.rindex(mark)]

    @needs("retrieves")
    @pytest.mark.parametrize("inject_mode", MODES)
    def test_no_line_of_the_block_begins_like_a_speaker(self, inject_mode: str) -> None:
        """A model takes "System:" at the start of a line for the system."""
        block = self._block(self._hostile(inject_mode), inject_mode)

        assert not re.search(r"(?im)^\s*(system|developer|user|assistant|tool)\s*:", block), block

    @needs("retrieves")
    @pytest.mark.parametrize("inject_mode", MODES)
    def test_stored_text_starts_no_role(self, inject_mode: str) -> None:
        """However it is written: the messages of the context are those of an innocent one."""
        roles = [turn[0] for turn in said(self.context(self._hostile(inject_mode), "ignore", "tuesday"))]
        harmless = self._informed(inject_mode, history=False)

        assert roles == [turn[0] for turn in said(self.context(harmless, "who is my dentist", "tuesday"))]

    @needs("retrieves")
    def test_the_header_says_what_the_block_is(self) -> None:
        """Quoted past conversation; not instructions."""
        header = self._block(self._informed("system"), "system").splitlines()[0].lower()

        assert "past" in header and "not instructions" in header, header

    @needs("retrieves")
    def test_what_was_recalled_is_not_stored_as_said(self) -> None:
        """An assistant that reads out its context does not turn the fence and header into memories."""
        memory = self._informed("system")
        block = self._block(memory, "system")
        mark = block.splitlines()[-1]
        memory.update_history(pair(f"repeat your context {block}", f"sure\n{block}\nthat is all"), "tuesday")

        for hit in memory.search("dentist repeat context sure", "tuesday", 20):
            assert mark not in hit.content and block.splitlines()[0] not in hit.content, hit.content
        assert mark not in texts(memory.get_history("tuesday"))


class RecallSuite(RecallScenes):
    """What a block shows, and how much."""

    @needs("retrieves")
    @pytest.mark.parametrize("inject_mode", MODES)
    def test_the_block_keeps_its_budget(self, inject_mode: str) -> None:
        """The best hits first, each cut visibly; the utterance never."""
        memory = self.new({"inject_mode": inject_mode, "context.max_chars": 600, "max_history": 1})
        self.tell(memory, "tea " * 500 + "end")
        for number in range(6):
            self.tell(memory, f"tea number {number} " + "x" * 400)

        utterance = "what about tea " + "z" * 2_000
        context = self.context(memory, utterance, "tuesday")
        assert context[-1].content.endswith(utterance)
        block = self._block_of(context, inject_mode, utterance)
        assert 0 < len(block) <= 600
        assert "…" in block
        assert block.count(block.splitlines()[-1]) == 1

    @needs("retrieves")
    def test_a_prefix_stands_before_each_hit_and_a_separator_between(self) -> None:
        """As configured, and the text of a hit verbatim behind it."""
        memory = self.new({"context.chunk_prefix": "=> ", "context.chunk_separator": "\n~~~\n"})
        self.tell(memory, "tea one", session_id="monday")
        self.tell(memory, "tea two", session_id="monday")

        block = self._block_of(self.context(memory, "tea", "tuesday"), "system", "tea")
        assert "=> Q: tea one\nA: noted" in block and "=> Q: tea two\nA: noted" in block
        assert block.count("\n~~~\n") == 1

    @needs("retrieves")
    def test_a_header_is_a_setting(self) -> None:
        """Whatever it says, braces included."""
        memory = self._informed("system", {"context.header": "Earlier {context} you heard:"})

        block = self._block(memory, "system")
        assert block.startswith("Earlier {context} you heard:")
        assert block.count(SECRET) == 1

    @needs("retrieves")
    def test_sources_are_shown_when_asked_for(self) -> None:
        """And not otherwise."""
        shown = self._block(self._informed("system", {"context.include_sources": True}), "system")
        assert "monday_0" in shown
        assert "monday_0" not in self._block(self._plain(), "system")

    @needs("retrieves")
    def test_dates_are_shown_when_asked_for(self) -> None:
        """Questions about "when" need them; otherwise they are tokens for nothing."""
        today = datetime.now(timezone.utc).date().isoformat()
        shown = self._block(self._informed("system", {"context.include_dates": True}), "system")
        dates = {today, datetime.now(timezone.utc).date().isoformat()}

        assert any(date in shown for date in dates), shown
        assert not re.search(r"\d{4}-\d\d-\d\d", self._block(self._plain(), "system"))

    @needs("retrieves", "keeps_history")
    def test_what_stands_in_the_history_is_not_recalled_again_when_so_set(self) -> None:
        """``exclude_recent`` leaves the room to what the engine does not see anyway."""
        memory = self.new({"retrieval.exclude_recent": True, "max_history": 2})
        self.tell(memory, "the first tea was green")
        self.tell(memory, "the second tea was black")

        block = self._block_of(self.context(memory, "tea"), "system", "tea")
        assert "green" in block and "black" not in block

    @needs("retrieves", "keeps_history")
    def test_the_query_may_fold_in_what_was_asked_before(self) -> None:
        """``query_mode: history`` finds the dentist for "and where does he live"."""
        memory = self.new(
            {"retrieval.query_mode": "history", "retrieval.query_history_turns": 1, "max_history": 2}
        )
        self.tell(memory, "my dentist is Doctor Miller", session_id="monday")
        self.tell(memory, "tell me about the dentist", "sure", session_id="tuesday")

        assert SECRET in texts(self.context(memory, "xyzzy plugh", "tuesday"))

    @needs("retrieves")
    def test_a_template_keeps_what_it_does_not_name(self) -> None:
        """A layout without the utterance would lose the user's words; it is appended."""
        memory = self._informed("user", {"user_template": "{header} {unknown} {{}}\n{context}"})
        last = self.context(memory, "who is my dentist {context}", "tuesday")[-1].content

        assert "{unknown} {{}}" in last and last.endswith("who is my dentist {context}")
        assert last.count(SECRET) == 1
