"""Rules of ``search``: what was said is found, best first, whatever is asked."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from ovos_memory.testing.messages import assistant, call, texts, tool, user
from ovos_memory.testing.scenes import LibraryScene
from ovos_memory.testing.suite import needs


class RetrievalSuite(LibraryScene):
    """A hit is what was said, with a score that can be compared within its list."""

    @needs("retrieves")
    def test_what_was_said_is_found_at_once(self) -> None:
        """Question or answer, in the very next call."""
        memory = self.new()
        self.tell(memory, "my dentist is Doctor Miller", "I wrote it down")

        for query in ("dentist", "who is my dentist", "wrote down"):
            assert [hit.content for hit in memory.search(query, "s")] == [
                "Q: my dentist is Doctor Miller\nA: I wrote it down"
            ]

    @needs("retrieves")
    def test_a_hit_has_text_source_score_and_facts(self) -> None:
        """The shape that a composite and a host read."""
        memory = self.new()
        self.tell(memory, "my dentist is Doctor Miller", "I wrote it down")

        hits = memory.search("dentist", "s")
        assert isinstance(hits, list) and len(hits) == 1
        assert isinstance(hits[0].content, str)
        assert isinstance(hits[0].source, str) and hits[0].source
        assert isinstance(hits[0].score, float)
        assert isinstance(hits[0].metadata, Mapping)

    @needs("retrieves")
    def test_scores_are_finite_and_fall(self) -> None:
        """Bigger is better, best first; NaN sorts anywhere and poisons sums."""
        memory = self._library()
        for query in ("harbour", "the old harbour", "ficus harbour parcel", "water the ficus on Monday"):
            scores = [hit.score for hit in memory.search(query, "s")]
            assert scores, f"nothing was found for {query!r}"
            assert all(math.isfinite(score) for score in scores), scores
            assert scores == sorted(scores, reverse=True), scores

    @needs("retrieves")
    def test_texts_are_distinct_and_the_newest_stands_for_its_like(self) -> None:
        """People repeat themselves: six times the same is one hit, and does not crowd out the rest."""
        memory = self.new()
        self.tell(memory, "tea is nice with milk")
        for _ in range(6):
            self.tell(memory, "tea is nice", "indeed")

        hits = memory.search("tea is nice", "s", 5)
        contents = [hit.content for hit in hits]
        assert contents.count("Q: tea is nice\nA: indeed") == 1
        assert any("milk" in content for content in contents)
        assert len(contents) == len(set(contents))
        repeated = next(hit for hit in hits if hit.content == "Q: tea is nice\nA: indeed")
        assert repeated.source.endswith("_6"), f"{repeated.source} is not the newest"

    @needs("retrieves")
    def test_top_k_is_respected(self) -> None:
        """The call's own, else the setting's."""
        memory = self.new({self.top_k_key: 3})
        for number in range(9):
            self.tell(memory, f"tea number {number}")

        assert [len(memory.search("tea", "s", k)) for k in (1, 2, 7, None)] == [1, 2, 7, 3]
        assert memory.search("tea", "s", 0) == []

    @needs("retrieves")
    def test_top_k_has_no_upper_limit(self) -> None:
        """A listing tool may ask for everything."""
        memory = self.new()
        for number in range(130):
            self.tell(memory, f"tea number {number}")

        assert len(memory.search("tea", "s", 120)) == 120

    @needs("retrieves")
    def test_sources_are_numbered_within_their_session(self) -> None:
        """``<session>_<n>``, from 0, each one once; look-alike sessions never share an id."""
        memory = self.new()
        for session in ("a", "a_1", "a_1_0"):
            for number in range(3):
                self.tell(memory, f"tea of {session} number {number}", session_id=session)

        found = {hit.content: hit.source for hit in memory.search("tea", "a", 50)}
        if self.scopes:
            found = {h.content: h.source for s in ("a", "a_1", "a_1_0") for h in memory.search("tea", s, 50)}
        assert found == {
            f"Q: tea of {session} number {number}\nA: noted": f"{session}_{number}"
            for session in ("a", "a_1", "a_1_0")
            for number in range(3)
        }

    @needs("retrieves")
    def test_hits_are_the_callers_to_change(self) -> None:
        """A list of its own for every call."""
        memory = self._library()
        hits = memory.search("harbour", "s")
        kept = list(hits)
        hits.clear()

        assert memory.search("harbour", "s") == kept

    @needs("retrieves")
    def test_the_same_search_gives_the_same_hits(self) -> None:
        """Ties included."""
        memory = self.new()
        for number in range(8):
            self.tell(memory, f"tea {number}")

        first = memory.search("tea", "s", 4)
        assert all(memory.search("tea", "s", 4) == first for _ in range(5))

    @needs("retrieves")
    def test_an_exchange_across_calls_is_one_document(self) -> None:
        """Split turns and late pieces make one hit; what got no answer is not part of it."""
        memory = self.new()
        for message in (
            user("turn on the…"),
            user("my code is 4512"),
            assistant("noted"),
            assistant("done?"),
        ):
            memory.update_history([message], "s")

        hits = memory.search("code 4512 noted done turn", "s")
        assert [(hit.content, hit.source) for hit in hits] == [("Q: my code is 4512\nA: noted\ndone?", "s_0")]

    @needs("retrieves")
    def test_an_answer_without_a_question_is_found(self) -> None:
        """The assistant may speak first."""
        memory = self.new()
        memory.update_history([assistant("the laundry is dry")], "s")

        assert [hit.content for hit in memory.search("laundry", "s")] == ["Q: \nA: the laundry is dry"]

    @needs("retrieves")
    def test_tool_output_is_nobodys_words(self) -> None:
        """What a tool printed was said by neither side."""
        memory = self.new()
        turn = [user("how warm is it"), assistant(None, call("c1")), tool("sensor zx81 says 21", "c1")]
        memory.update_history([*turn, assistant("21 degrees")], "s")

        assert [hit.content for hit in memory.search("warm", "s")] == ["Q: how warm is it\nA: 21 degrees"]

    @needs("retrieves")
    def test_half_an_emoji_is_no_obstacle(self) -> None:
        """In what was said, and in the query."""
        memory = self.new()
        self.tell(memory, "lamp \ud83d is red", "ok \udc81")

        for query in ("red lamp", "lamp \ud83d", "lamp \udc81"):
            hits = memory.search(query, "s")
            assert [hit.content for hit in hits] == ["Q: lamp \ufffd is red\nA: ok \ufffd"]
            str(hits).encode()

    @needs("retrieves")
    def test_a_very_long_turn_is_found_and_slows_nothing(self) -> None:
        """2 MB pasted into the chat."""
        memory = self.new()
        self.tell(memory, "the alpha marker " + "filler " * 300_000, "the omega marker")
        self.tell(memory, "my dentist is Doctor Miller")

        start = time.process_time()  # a busy machine or disk is no part of it
        context = self.context(memory, "where is the alpha marker")
        elapsed_s = time.process_time() - start
        assert any("alpha" in hit.content for hit in memory.search("alpha", "s"))
        assert "alpha marker" in texts(context[:-1])
        assert sum(len(m.content) for m in context) < 100_000
        assert elapsed_s < 4.0, f"two contexts took {elapsed_s:.1f} s of the processor"

    @needs("retrieves", "thresholds")
    def test_a_threshold_keeps_the_better(self) -> None:
        """Whatever the scale, ``min_score`` never keeps the worse of two."""
        library = self._library()
        better, worse = library.search("the old harbour ficus", "s")[:2]
        assert better.score > worse.score
        between = (better.score + worse.score) / 2

        strict = self._library({"retrieval.min_score": between})
        assert [hit.content for hit in strict.search("the old harbour ficus", "s")] == [better.content]

    @needs("retrieves", "stores_texts")
    def test_a_stored_text_is_found_verbatim(self) -> None:
        """``store`` keeps one text as a document, and returns its id."""
        memory = self.new()
        facts = {"page": 3, "tags": ["a"], "nothing": None}
        identifier = memory.store("the manual says: descale monthly", "s", metadata=facts)

        assert facts == {"page": 3, "tags": ["a"], "nothing": None}
        hits = memory.search("descale", "s")
        assert [(hit.content, hit.source) for hit in hits] == [
            ("the manual says: descale monthly", identifier)
        ]
