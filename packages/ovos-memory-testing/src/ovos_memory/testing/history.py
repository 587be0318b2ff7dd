"""Rules of ``update_history`` and ``get_history``: what was said is kept as it was said."""

from __future__ import annotations

from ovos_memory.testing.messages import (
    assistant,
    call,
    pair,
    private_copy,
    said,
    system,
    texts,
    tool,
    user,
    vandalise,
)
from ovos_memory.testing.suite import MemorySuite, needs

TOOL_EXCHANGE = [
    user("how warm is the kitchen"),
    assistant("", call("c1", rooms=["kitchen"]), call("c2", rooms=["hall"])),
    tool("21 °C", "c1"),
    tool("18 °C", "c2"),
    assistant("21 degrees, 18 in the hall"),
]


class HistorySuite(MemorySuite):
    """The turn rules, and whose objects are whose."""

    # ------------------------------------------------------------------ turns
    @needs("keeps_history")
    def test_an_exchange_is_kept_as_it_was_said(self) -> None:
        """Roles, words and order."""
        memory = self.new()
        self.tell(memory, "my code is 4512", "noted")
        self.tell(memory, "and the bin day is Friday", "Friday it is")

        assert said(memory.get_history("s")) == [
            ("user", "my code is 4512"),
            ("assistant", "noted"),
            ("user", "and the bin day is Friday"),
            ("assistant", "Friday it is"),
        ]

    @needs("keeps_history")
    def test_a_context_holds_the_history(self) -> None:
        """What was said comes before the utterance, in order."""
        memory = self.new()
        self.tell(memory, "my code is 4512", "noted")

        turns = [t for t in said(self.context(memory, "zzz")) if t[0] not in ("system", "developer")]
        assert turns == [("user", "my code is 4512"), ("assistant", "noted"), ("user", "zzz")]

    @needs("keeps_history")
    def test_question_and_answer_may_come_in_two_calls(self) -> None:
        """HiveMind's agent records them one by one."""
        memory = self.new()
        memory.update_history([user("my code is 4512")], "s")
        memory.update_history([assistant("noted")], "s")

        assert said(memory.get_history("s")) == [("user", "my code is 4512"), ("assistant", "noted")]

    @needs("keeps_history")
    def test_sessions_that_take_turns_keep_their_own_answers(self) -> None:
        """Split recordings of two sessions arrive interleaved."""
        memory = self.new()
        for session in ("ann", "bob"):
            memory.update_history([user(f"I am {session}")], session)
        for session in ("ann", "bob"):
            memory.update_history([assistant(f"hello {session}")], session)

        for session in ("ann", "bob"):
            assert said(memory.get_history(session)) == [
                ("user", f"I am {session}"),
                ("assistant", f"hello {session}"),
            ]

    @needs("keeps_history")
    def test_a_question_without_an_answer_gives_way_to_the_next(self) -> None:
        """Barge-in: what got no answer is not glued to the answer of something else."""
        memory = self.new()
        memory.update_history([user("turn on the…")], "s")
        memory.update_history([user("my code is 4512")], "s")
        memory.update_history([assistant("noted")], "s")

        assert said(memory.get_history("s")) == [("user", "my code is 4512"), ("assistant", "noted")]

    @needs("keeps_history")
    def test_a_question_without_an_answer_is_no_turn_of_a_context(self) -> None:
        """Two user messages in a row confuse models; the orphan is left out."""
        memory = self.new()
        self.tell(memory, "my code is 4512", "noted")
        memory.update_history([user("turn on the…")], "s")

        assert "turn on the" not in texts(self.context(memory, "zzz"))

    @needs("keeps_history")
    def test_an_answer_in_pieces_is_one_answer(self) -> None:
        """Hosts record what was spoken sentence by sentence."""
        memory = self.new()
        self.tell(memory, "my code is 4512", "noted")
        memory.update_history([assistant("anything else?")], "s")

        assert said(memory.get_history("s")) == [
            ("user", "my code is 4512"),
            ("assistant", "noted\nanything else?"),
        ]

    @needs("keeps_history")
    def test_pieces_within_one_call_are_one_answer_too(self) -> None:
        """The rule is about turns, not about calls."""
        memory = self.new()
        memory.update_history(
            [user("hi"), user("my code is 4512"), assistant("noted"), assistant("bye")], "s"
        )

        assert said(memory.get_history("s")) == [("user", "my code is 4512"), ("assistant", "noted\nbye")]

    def test_an_empty_update_changes_nothing(self) -> None:
        """As the first call, in between, and twice."""
        memory = self.new()
        memory.update_history([], "s")
        assert memory.get_history("s") == []
        self.tell(memory, "my code is 4512")
        before = memory.get_history("s"), self.context(memory, "what is my code")

        memory.update_history([], "s")
        memory.update_history([], "s")
        assert (memory.get_history("s"), self.context(memory, "what is my code")) == before

    def test_an_unknown_session_has_no_history(self) -> None:
        """An empty list, not an error and not ``None``."""
        assert self.new().get_history("never heard of") == []

    @needs("keeps_history")
    def test_session_ids_are_opaque(self) -> None:
        """Never trimmed, folded or normalised: look-alikes stay strangers."""
        memory = self.new()
        names = [
            "ann",
            "Ann",
            "ann ",
            "ann_0",
            "a%",
            "a_n",
            "caf\u00e9",
            "cafe\u0301",
            "",
            "Rosie::ann@example",
        ]
        for number, name in enumerate(names):
            self.tell(memory, f"I am number {number}", session_id=name)

        for number, name in enumerate(names):
            assert said(memory.get_history(name)) == [
                ("user", f"I am number {number}"),
                ("assistant", "noted"),
            ]

    @needs("keeps_history")
    def test_system_messages_are_not_replayed(self) -> None:
        """The prompt is the settings'; one that a caller records would turn up in mid-conversation."""
        memory = self.new()
        memory.update_history([system("be rude"), *pair("hello", "hi")], "s")

        assert said(memory.get_history("s")) == [("user", "hello"), ("assistant", "hi")]
        assert "be rude" not in texts(self.context(memory, "zzz"))

    # ------------------------------------------------------------------ words
    @needs("keeps_history")
    def test_missing_content_is_empty_text(self) -> None:
        """Engines send ``None`` beside tool calls, and sometimes without."""
        memory = self.new()
        memory.update_history([user(None), assistant("I heard nothing")], "s")
        memory.update_history([user("hello"), assistant(None)], "s")

        assert all(isinstance(m.content, str) for m in memory.get_history("s"))
        assert "None" not in texts(memory.get_history("s"))

    @needs("keeps_history")
    def test_content_parts_keep_their_text(self) -> None:
        """Multimodal contents are lists; their text is what a text memory can keep."""
        memory = self.new()
        parts = [
            {"type": "text", "text": "what is on"},
            {"type": "image_url", "image_url": {"url": "data:xyz"}},
        ]
        memory.update_history(
            [user([*parts, {"type": "text", "text": "this picture"}]), assistant("a ficus")], "s"
        )

        content = memory.get_history("s")[0].content
        assert isinstance(content, str)
        assert "what is on" in content and "this picture" in content and "xyz" not in content

    @needs("keeps_history")
    def test_half_an_emoji_is_replaced_and_whole_ones_stay(self) -> None:
        """Lone surrogates break files, databases and requests; the turn must not vanish for them."""
        memory = self.new()
        memory.update_history(
            [user("lamp \ud83d is red \U0001f600"), assistant("ok \udc81 \ud83d\ude00")], "s"
        )

        assert said(memory.get_history("s")) == [
            ("user", "lamp \ufffd is red \U0001f600"),
            ("assistant", "ok \ufffd \U0001f600"),
        ]

    # ------------------------------------------------------------------ tools
    @needs("keeps_history")
    def test_a_tool_exchange_is_kept_whole(self) -> None:
        """Ids, names and arguments too: a server matches results by them."""
        memory = self.new({} if self.window_key is None else {self.window_key: 0})
        memory.update_history(private_copy(TOOL_EXCHANGE), "s")

        assert memory.get_history("s") == TOOL_EXCHANGE

    @needs("keeps_history")
    def test_a_tool_exchange_may_come_message_by_message(self) -> None:
        """A host that records each step gets the same history."""
        memory = self.new({} if self.window_key is None else {self.window_key: 0})
        for message in private_copy(TOOL_EXCHANGE):
            memory.update_history([message], "s")

        assert memory.get_history("s") == TOOL_EXCHANGE

    # ------------------------------------------------------------------ whose objects
    def test_the_callers_messages_stay_untouched(self) -> None:
        """One list goes to every member of a composite, and to the caller's own log."""
        memory = self.new()
        calls = [
            pair("my code is 4512", "noted"),
            [assistant("anything else?")],
            [system("be kind"), user("lamp \ud83d"), user("hm"), assistant(None), assistant("more")],
            private_copy(TOOL_EXCHANGE),
        ]
        for messages in calls:
            kept = private_copy(messages)
            memory.update_history(messages, "s")
            assert messages == kept

        self.context(memory, "what is my code")
        assert calls[0] == pair("my code is 4512", "noted")

    @needs("keeps_history")
    def test_what_the_caller_does_with_its_messages_changes_nothing(self) -> None:
        """Messages are copied on the way in, arguments of tool calls included."""
        memory = self.new({} if self.window_key is None else {self.window_key: 0})
        messages = private_copy(TOOL_EXCHANGE)
        memory.update_history(messages, "s")

        vandalise(messages)
        assert memory.get_history("s") == TOOL_EXCHANGE

    @needs("keeps_history")
    def test_a_returned_history_is_the_callers_to_change(self) -> None:
        """Messages are copied on the way out."""
        memory = self.new({} if self.window_key is None else {self.window_key: 0})
        memory.update_history(private_copy(TOOL_EXCHANGE), "s")

        vandalise(memory.get_history("s"))
        assert memory.get_history("s") == TOOL_EXCHANGE
