"""The ensemble as a persona uses it."""

import copy
import gc
import threading
import weakref
from types import SimpleNamespace
from typing import get_args

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.composite import CompositeMemory
from ovos_memory.core.fusion import FusionMode
from ovos_memory.core.types import MemoryHit

SYSTEM, USER, ASSISTANT = MessageRole.SYSTEM, MessageRole.USER, MessageRole.ASSISTANT


def said(question, answer):
    return [AgentMessage(USER, question), AgentMessage(ASSISTANT, answer)]


def retriever(*hits, **more):
    return {"module": "retriever", "config": {"hits": list(hits)}, **more}


def contents(hits):
    return [hit.content for hit in hits]


# ---------------------------------------------------------------------- nothing, little
def test_without_members_it_is_a_passthrough():
    memory = CompositeMemory({"system_prompt": "Be kind."})
    memory.update_history(said("a", "b"), "s")

    assert memory.get_history("s") == []
    assert memory.search("a", "s") == []
    assert memory.build_conversation_context(" hi ", "s") == [
        AgentMessage(SYSTEM, "Be kind."),
        AgentMessage(USER, "hi"),
    ]


@pytest.mark.parametrize("utterance", [None, "", "   ", "\n\t"])
def test_an_empty_utterance_searches_nothing(compose, utterance):
    memory = compose(retriever("tea"))

    assert memory.build_conversation_context(utterance, "s") == [AgentMessage(USER, "")]
    assert memory.members[0].memory.searches == []


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_no_messages_reach_no_member(compose, nothing):
    memory = compose("plain", "hanging", member_timeout_s=0.01)

    memory.update_history(nothing, "s")

    assert memory.members[0].memory.sessions == {}
    assert memory.members[1].memory.calls == []


# ---------------------------------------------------------------------- context
def test_a_context_holds_prompt_blocks_recall_history_and_utterance(compose):
    memory = compose(
        {"module": "plain", "config": {"blocks": ["Facts: tea"]}},
        retriever("Q: a\nA: b"),
        system_prompt="Be kind.",
    )
    memory.update_history(said("hello", "hi"), "s")

    context = memory.build_conversation_context("what?", "s")

    assert [m.role for m in context] == [SYSTEM, SYSTEM, SYSTEM, USER, ASSISTANT, USER]
    assert [context[0].content, context[1].content] == ["Be kind.", "Facts: tea"]
    assert "Q: a\nA: b" in context[2].content
    assert context[3:] == [*said("hello", "hi"), AgentMessage(USER, "what?")]


def test_prompts_of_members_are_folded_once(compose):
    memory = compose(
        retriever("x") | {"config": {"hits": [], "system_prompt": "Be brief."}},
        {"module": "retriever", "config": {"hits": [], "system_prompt": "Be kind."}},
        {"module": "plain", "config": {"blocks": ["Be brief.", "Be kind.\n\nSummary: tea"]}},
        system_prompt="Be kind.",
    )

    context = memory.build_conversation_context("what?", "s")

    assert [m.content for m in context] == ["Be kind.", "Be brief.", "Summary: tea", "what?"]


@pytest.mark.parametrize("mode", ["system", "developer", "system_prompt", "user", "tool"])
def test_the_prompt_appears_once_in_every_mode(compose, mode):
    memory = compose(
        {"module": "plain", "config": {"blocks": ["Be kind."]}},
        retriever("tea") | {"config": {"hits": ["tea"], "system_prompt": "Be kind."}},
        system_prompt="Be kind.",
        inject_mode=mode,
    )

    context = memory.build_conversation_context("what?", "s")

    assert "".join(m.content for m in context).count("Be kind.") == 1
    assert sum("tea" in m.content for m in context) == 1
    assert context[-1].role is USER and "what?" in context[-1].content


def test_a_context_is_the_callers_to_change(compose):
    memory = compose(
        {"module": "plain", "config": {"blocks": ["Facts"]}}, retriever("tea"), system_prompt="Be kind."
    )
    memory.update_history(said("hello", "hi"), "s")
    first = memory.build_conversation_context("what?", "s")
    expected = copy.deepcopy(first)

    for message in first:
        message.content = "changed"
    first.insert(0, AgentMessage(SYSTEM, "more"))
    memory.get_history("s")[0].content = "changed"

    assert memory.build_conversation_context("what?", "s") == expected


def test_the_finished_query_reaches_the_members(compose):
    memory = compose("plain", retriever("x"), retrieval={"query_mode": "history", "query_history_turns": 1})
    memory.update_history(said("my dog Rex", "nice"), "s")

    memory.build_conversation_context("what is his name", "s")

    [(query, session, top_k)] = memory.members[1].memory.searches
    assert "my dog Rex" in query and "what is his name" in query
    assert (session, top_k) == ("s", 10)


def test_no_session_is_the_default_session(compose):
    memory = compose("plain")

    memory.update_history(said("a", "b"))

    assert memory.get_history("default") == memory.get_history(None) == said("a", "b")
    assert memory.get_history("") == []


# ---------------------------------------------------------------------- history
def test_the_history_is_that_of_the_primary(compose):
    memory = compose(retriever("x"), {"module": "plain", "name": "mine"}, primary="mine")
    memory.members[1].memory.sessions["s"] = said("only", "here")

    assert memory.get_history("s") == said("only", "here")


def test_the_primary_may_be_named_by_its_module(compose):
    memory = compose("retriever", {"module": "plain", "name": "mine"}, primary="plain")

    assert memory._primary.name == "mine"


def test_the_default_primary_is_the_first_that_loaded(compose, logged):
    assert compose("nowhere", "plain", "retriever")._primary.name == "plain"


def test_a_primary_that_did_not_load_is_replaced_with_a_word(compose, logged):
    memory = compose("nowhere", "plain", primary="nowhere")

    assert memory._primary.name == "plain"
    assert "primary 'nowhere' did not load; the history comes from 'plain'" in logged[-1]


def test_max_history_takes_the_last_messages_of_the_primary(compose):
    memory = compose("plain", max_history=2)
    memory.update_history(said("a", "b") + said("c", "d"), "s")

    assert memory.get_history("s") == said("c", "d")


def test_a_first_member_that_declares_to_keep_no_turns_is_named_at_start(plugins, compose, logged):
    class Facts(plugins["plain"]):
        keeps_turns = False

    plugins["facts"] = Facts

    compose("facts", "plain")

    [line] = logged
    assert "'facts'" in line and "set `primary`" in line


def test_a_first_member_that_turns_out_to_keep_no_turns_is_named_once(plugins, compose, logged):
    class Facts(plugins["plain"]):
        def get_history(self, session_id):
            return []

    plugins["facts"] = Facts
    memory = compose("facts", "plain")
    assert logged == []

    for _ in range(3):
        memory.update_history(said("a", "b"), "s")

    [line] = logged
    assert "'facts'" in line and "set `primary`" in line


@pytest.mark.parametrize("primary", [None, "plain"])
def test_a_primary_that_keeps_turns_is_not_warned_of(compose, logged, primary):
    compose("plain", primary=primary).update_history(said("a", "b"), "s")

    assert logged == []


# ---------------------------------------------------------------------- search
def test_search_returns_fused_hits_that_tell_where_they_came_from(compose):
    memory = compose(
        retriever("only a", "both", name="a"), retriever("only b", "both", name="b"), max_num_results=2
    )

    hits = memory.search("x", "s")

    assert contents(hits) == ["both", "only a"]
    assert {name: found["rank"] for name, found in hits[0].metadata["retrievers"].items()} == {"a": 2, "b": 2}
    assert hits[0].metadata["fusion_score"] == pytest.approx(2 / 62)


def test_weights_count(compose):
    memory = compose(retriever("a"), retriever("b", weight=2.0))

    assert contents(memory.search("x", "s")) == ["b", "a"]


def test_convex_fusion_counts_scores_from_the_floor_that_a_member_declares(plugins, compose):
    scores = {"near": 9.0, "far": 8.0}

    class Scoring(plugins["retriever"]):
        def search(self, query, session_id=None, top_k=None):
            return [MemoryHit(text, score=score) for text, score in scores.items()]

    class Declaring(Scoring):
        score_floor = 0.0

    plugins |= {"scoring": Scoring, "declaring": Declaring}
    other = retriever("far")

    for module, expected in (("scoring", 0.0), ("declaring", 8 / 9)):
        hits = compose(module, other, fusion="convex").search("x", "s")

        found = {hit.content: hit.score for hit in hits}
        assert found == {"near": 0.5, "far": pytest.approx(0.5 + 0.5 * expected)}


def test_convex_fusion_takes_a_members_scores_to_its_exponent(plugins, compose):
    class Scoring(plugins["retriever"]):
        score_floor = 0.0

        def search(self, query, session_id=None, top_k=None):
            return [MemoryHit("whole", score=4.0), MemoryHit("half", score=2.0)]

    plugins["scoring"] = Scoring

    hits = compose({"module": "scoring", "exponent": 2}, fusion="convex").search("x", "s")

    assert [(hit.content, hit.score) for hit in hits] == [("whole", 1.0), ("half", 0.25)]


@pytest.mark.parametrize("floor", ["low", float("nan"), float("-inf"), True, [], 10**400])
def test_a_floor_that_is_no_number_is_as_good_as_none(plugins, compose, floor):
    plugins["odd"] = type("Odd", (plugins["retriever"],), {"score_floor": floor})

    memory = compose({"module": "odd", "config": {"hits": ["a"]}}, fusion="convex")

    assert contents(memory.search("x", "s")) == ["a"]


@pytest.mark.parametrize("fusion", get_args(FusionMode))
def test_every_fusion_goes_on_without_a_member_that_fails(plugins, compose, logged, fusion):
    class Failing(plugins["retriever"]):
        def search(self, query, session_id=None, top_k=None):
            raise OSError("no disk")

    plugins["failing"] = Failing
    memory = compose("failing", retriever("a", "b"), "missing", retriever(name="empty"), fusion=fusion)

    assert contents(memory.search("x", "s")) == ["a", "b"]
    assert [facts["content"] for facts in memory.explain("x", "s")["fused"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("settings", "top_k", "expected"),
    [
        ({}, None, 10),
        ({"max_num_results": 3}, None, 6),
        ({"member_fetch_k": 4}, None, 4),
        ({"member_fetch_k": 4}, 2, 4),
        ({"member_fetch_k": 4}, 50, 50),
        ({}, 50, 100),
    ],
)
def test_how_many_hits_are_asked_of_each_member(compose, settings, top_k, expected):
    memory = compose(retriever("a"), **settings)

    memory.search("x", "s", top_k)

    assert memory.members[0].memory.searches == [("x", "s", expected)]


def test_top_k_bounds_the_fused_list(compose):
    memory = compose(retriever(*"abcdefghij"))

    assert len(memory.search("x")) == 5
    assert len(memory.search("x", top_k=7)) == 7
    assert memory.search("x", top_k=0) == []


def test_min_score_bounds_the_fused_score(compose):
    memory = compose(retriever("a", "b"), retriever("a"), retrieval={"min_score": 0.02})

    assert contents(memory.search("x")) == ["a"]


def test_members_are_searched_side_by_side(plugins, compose):
    meeting = threading.Barrier(3, timeout=5)

    class Meeting(plugins["retriever"]):
        def search(self, query, session_id=None, top_k=None):
            meeting.wait()  # breaks unless all three are here at once
            return [MemoryHit("met")]

    plugins["meeting"] = Meeting

    assert contents(compose("meeting", "meeting", "meeting").search("x")) == ["met"]


# ---------------------------------------------------------------------- scope
def owned(*pairs):
    return lambda self, query, session_id=None, top_k=None: [
        MemoryHit(text, metadata={} if owner is None else {"session_id": owner}) for text, owner in pairs
    ]


@pytest.mark.parametrize(
    ("scope", "session", "expected"),
    [
        ("global", "s1", ["mine", "other", "nobody's"]),
        ("session", "s1", ["mine", "nobody's"]),
        ("session", "S1", ["nobody's"]),
        ("session", None, []),
    ],
)
def test_hits_of_other_sessions_are_dropped_under_session(plugins, compose, scope, session, expected):
    plugins["owned"] = type(
        "Owned",
        (plugins["plain"],),
        {"search": owned(("mine", "s1"), ("other", "s2"), ("nobody's", None))},
    )

    assert contents(compose("owned", scope=scope).search("x", session)) == expected


def test_a_member_that_cannot_be_told_the_session_must_name_it_in_its_hits(plugins, compose, logged):
    hits = [MemoryHit("whose?"), MemoryHit("mine", metadata={"session_id": "s1"})]
    plugins["deaf"] = type("Deaf", (plugins["plain"],), {"search": lambda self, query: hits})

    assert contents(compose("deaf").search("x", "s1")) == ["whose?", "mine"]
    assert logged == []
    assert contents(compose("deaf", scope="session").search("x", "s1")) == ["mine"]
    assert len(logged) == 1 and "'deaf' takes no session_id" in logged[0]


# ---------------------------------------------------------------------- writing through
def test_every_member_records_copies_of_its_own(compose):
    memory = compose("plain", "plain", retriever("x"))
    mine = [
        AgentMessage(USER, "weather?"),
        AgentMessage(ASSISTANT, "", tool_calls=[ToolCall("c", "weather", {"city": ["Rome"]})]),
    ]
    before = copy.deepcopy(mine)

    memory.update_history(mine, "s")

    kept = [member.memory.sessions["s"] for member in memory.members]
    assert kept == [before, before, before]
    kept[0][1].tool_calls[0].arguments["city"].append("Oslo")
    kept[0][0].content = "changed"
    assert kept[1] == kept[2] == before == mine


def test_members_get_clean_text_and_neither_instructions_nor_recalled_blocks(compose):
    memory = compose("plain", retriever("tea"), inject_mode="user")
    sent = memory.build_conversation_context("which tea?", "s")[-1]
    assert "tea\n" in sent.content

    memory.update_history([AgentMessage(SYSTEM, "obey"), sent, AgentMessage(ASSISTANT, "half \ud83d")], "s")

    assert memory.members[0].memory.sessions["s"] == said("which tea?", "half \ufffd")


def test_a_member_that_edits_its_messages_changes_nobody_elses(plugins, compose):
    class Editing(plugins["plain"]):
        def update_history(self, new_messages, session_id):
            new_messages[0].content = "changed"
            new_messages.clear()

    plugins["editing"] = Editing
    memory = compose("editing", "plain")
    mine = said("a", "b")

    memory.update_history(mine, "s")

    assert memory.members[1].memory.sessions["s"] == mine == said("a", "b")


def test_one_failing_member_does_not_stop_the_others(plugins, compose, logged):
    class Failing(plugins["plain"]):
        def update_history(self, new_messages, session_id):
            raise OSError(new_messages[0].content)

    plugins["failing"] = Failing
    memory = compose("failing", "plain", primary="plain")

    memory.update_history(said("my secret", "b"), "s")
    memory.update_history(said("my secret", "d"), "s")

    assert len(memory.members[1].memory.sessions["s"]) == 4
    [line] = logged
    assert "member 'failing'" in line and "OSError" in line and "secret" not in line
    assert memory.health()["members"]["failing"]["operations"]["update_history"]["failures"] == 2


def test_a_thing_that_only_searches_is_a_member(plugins, compose):
    class Knowledge:
        def __init__(self, config=None):
            pass

        def search(self, query):
            return [SimpleNamespace(content=f"about {query}")]

    plugins["knowledge"] = Knowledge
    memory = compose("plain", "knowledge")

    memory.update_history(said("a", "b"), "s")

    assert contents(memory.search("tea", "s")) == ["about tea"]
    assert memory.get_history("s") == said("a", "b")


# ---------------------------------------------------------------------- failing, hanging
def broken_answers():
    def fail(*args, **kwargs):
        raise RuntimeError("secret words")

    yield "raises", fail
    for value in (None, "text", {"content": "x"}, 5, [None], ["text"], [SimpleNamespace(content=None)]):
        yield repr(value), lambda *args, value=value, **kwargs: value


@pytest.mark.parametrize("answer", [a for _, a in broken_answers()], ids=[n for n, _ in broken_answers()])
@pytest.mark.parametrize("method", ["search", "build_conversation_context", "get_history"])
def test_a_member_with_a_broken_answer_is_left_out_for_the_turn(plugins, compose, logged, method, answer):
    plugins["broken"] = type("Broken", (plugins["plain"],), {method: answer})
    memory = compose(
        "broken", retriever("tea"), {"module": "plain", "config": {"blocks": ["Facts"]}}, primary="plain"
    )
    memory.update_history(said("a", "b"), "s")

    context = memory.build_conversation_context("what?", "s")
    memory.build_conversation_context("what?", "s")
    history = memory.get_history("s")

    assert [m.role for m in context] == [SYSTEM, SYSTEM, USER, ASSISTANT, USER]
    assert (context[0].content, history) == ("Facts", said("a", "b"))
    named = [line for line in logged if "member 'broken'" in line]
    assert len(named) == 1
    assert not any("secret" in line for line in logged)


def test_a_primary_that_fails_only_loses_its_history(plugins, compose, logged):
    def fail(*args):
        raise RuntimeError

    plugins["failing"] = type("Failing", (plugins["plain"],), {"get_history": fail})
    memory = compose("failing", retriever("tea"))

    assert memory.get_history("s") == []
    assert "tea" in memory.build_conversation_context("what?", "s")[0].content


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("method", ["search", "build_conversation_context", "get_history", "update_history"])
def test_what_stops_a_program_passes_through(plugins, compose, method, stop):
    def interrupt(*args, **kwargs):
        raise stop

    plugins["interrupting"] = type("Interrupting", (plugins["plain"],), {method: interrupt})
    memory = compose("interrupting")

    with pytest.raises(stop):
        memory.update_history(said("a", "b"), "s")
        memory.build_conversation_context("what?", "s")


def test_a_member_that_hangs_is_left_out_and_not_called_again_until_it_is_back(compose, logged):
    memory = compose("plain", "hanging", retriever("tea"), member_timeout_s=0.05)
    hanging = memory.members[1]

    memory.update_history(said("a", "b"), "s")
    for _ in range(3):
        context = memory.build_conversation_context("what?", "s")
        memory.update_history(said("c", "d"), "s")

    assert hanging.memory.calls == ["update_history"]
    assert context[0].role is SYSTEM and "tea" in context[0].content
    assert len(memory.get_history("s")) == 8
    named = [line for line in logged if "member 'hanging'" in line]
    assert len(named) == 1 and "member_timeout_s" in named[0]
    assert memory.health()["members"]["hanging"]["state"] == "overdue"

    hanging.memory.let_go.set()
    assert hanging.gate.drain(5)
    assert len(hanging.memory.sessions["s"]) == 8  # nothing was lost meanwhile
    assert memory.build_conversation_context("what?", "s")[0].content == "late"
    assert memory.health()["members"]["hanging"]["state"] == "ready"


def test_turns_do_not_pile_up_threads_on_a_member_that_hangs(compose):
    memory = compose("hanging", "plain", member_timeout_s=0.01, primary="plain")
    memory.build_conversation_context("what?", "s")
    before = threading.active_count()

    for _ in range(50):
        memory.build_conversation_context("what?", "s")
        memory.update_history(said("a", "b"), "s")

    assert threading.active_count() <= before + 1


def test_sixteen_sessions_at_once_lose_nothing(compose):
    memory = compose("plain", retriever("tea"), "plain")
    start, failures = threading.Barrier(16), []

    def talk(session):
        start.wait()
        try:
            for turn in range(25):
                memory.build_conversation_context("what?", session)
                memory.update_history(said(f"q{turn}", f"a{turn}"), session)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=talk, args=(f"s{n}",)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    for member in memory.members:
        for n in range(16):
            kept = [m.content for m in member.memory.sessions[f"s{n}"]]
            assert kept == [text for turn in range(25) for text in (f"q{turn}", f"a{turn}")]


# ---------------------------------------------------------------------- end
def test_close_reaches_members_and_the_composite_goes_on(plugins, compose):
    class Closing(plugins["plain"]):
        closed = 0

        def close(self):
            self.closed += 1

    plugins["closing"] = Closing
    memory = compose("closing", "plain")

    memory.close()
    memory.update_history(said("a", "b"), "s")

    assert memory.members[0].memory.closed == 1
    assert memory.get_history("s") == said("a", "b")


def test_health_tells_each_members_own_account(plugins, compose):
    plugins["healthy"] = type("Healthy", (plugins["plain"],), {"health": lambda self: {"pulse": 60}})
    memory = compose("healthy", "plain")

    members = memory.health()["members"]

    assert members["healthy"]["health"] == {"pulse": 60}
    assert (members["plain"]["module"], members["plain"]["health"]) == ("plain", {})


def test_a_composite_that_nobody_uses_is_collected_with_its_members(compose, plugins):
    memory = CompositeMemory({"members": ["plain", {"module": "retriever", "config": {"hits": ["tea"]}}]})
    memory.update_history(said("a", "b"), "s")
    memory.build_conversation_context("what?", "s")
    collected = [weakref.ref(memory), *(weakref.ref(member.memory) for member in memory.members)]

    del memory
    gc.collect()

    assert [found() for found in collected] == [None, None, None]


# ---------------------------------------------------------------------- side by side


def test_retrievers_are_searched_while_the_history_is_fetched(compose, plugins):
    searched = threading.Event()

    class SlowHistory(plugins["plain"]):
        def get_history(self, session_id):
            assert searched.wait(5)
            return said("hello", "hi")

    class Telling(plugins["retriever"]):
        def search(self, query, session_id=None, top_k=None):
            searched.set()
            return super().search(query, session_id, top_k)

    plugins |= {"slow": SlowHistory, "telling": Telling}
    memory = compose("slow", {"module": "telling", "config": {"hits": ["the code is 4512"]}})

    context = memory.build_conversation_context("what is the code?", "s")

    assert "the code is 4512" in context[0].content
    assert memory.members[1].memory.searches == [("what is the code?", "s", 10)]


def test_a_query_made_of_the_history_waits_for_it(compose):
    memory = compose("plain", retriever("a"), retrieval={"query_mode": "history"})
    memory.update_history(said("my bike", "ok"), "s")

    memory.build_conversation_context("where is it?", "s")

    assert memory.members[1].memory.searches == [("my bike\nwhere is it?", "s", 10)]
