from __future__ import annotations

import gc
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.llm.server import ServerChat
from ovos_memory.core.templates import unknown_placeholders
from ovos_memory.entity import EntityMemory
from ovos_memory.entity.settings import EntitySettings
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.messages import assistant, user

QUICK = (0.02, 0.05, 0.2)


def pair(question: str, answer: str = "ok") -> list[AgentMessage]:
    return [user(question), assistant(answer)]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(['{"add": [], "replace": [], "remove": []}']) as fake:
        yield fake


@pytest.fixture
def memory(server: FakeServer, tmp_path: Path) -> Iterator[EntityMemory]:
    made = memory_on(server, tmp_path)
    yield made
    made.close()


def memory_on(server: FakeServer, folder: Path, **config: Any) -> EntityMemory:
    chat = ServerChat(server.url, model="m", pauses_s=QUICK)
    return EntityMemory({"db_path": str(folder / "facts.json"), "request_timeout": 1, **config}, chat=chat)


def facts(memory: EntityMemory, session: str = "s") -> list[str]:
    assert memory.workplace.worker.drain(20)
    return sorted(fact.text for fact in memory.facts(session))


def block(memory: EntityMemory, session: str = "s") -> str:
    return "\n".join(m.content for m in memory.build_conversation_context("hello", session)[:-1])


SAID = "a, b, right, my name is Bob Unger, I like tea and I live in Oslo"
LONG = "likes " + "tea " * 5_000


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('```json\n["Name is Bob"]\n```', ["Name is Bob"]),
        ('Sure! ["Name is Bob"] Let me know.', ["Name is Bob"]),
        ('<think>maybe ["Likes tea"]</think>["Name is Bob"]', ["Name is Bob"]),
        ('{"facts": ["Name is Bob"]}', ["Name is Bob"]),
        ('[{"fact": "Name is Bob"}]', ["Name is Bob"]),
        ('[["Name is Bob"],["Likes tea"]]', ["Likes tea", "Name is Bob"]),
        ('["Name is Bob","Lives in Os', ["Name is Bob"]),
        ("[]", []),
        ("null", []),
        ('["Name is Bob", 3, null, ""]', ["Name is Bob"]),
        ("['Name is Bob', 'Likes tea']", ["Likes tea", "Name is Bob"]),
        ("I found [1] fact", []),
        ('["Name is Bob \\ud83d"]', ["Name is Bob \ufffd"]),
        (
            '{"add": [{"fact": "Bob Unger", "kind": "name"}], "replace": [], "remove": []}',
            ["Name: Bob Unger"],
        ),
        (json.dumps(["Name is Bob", *(f"Owns yacht {n}" for n in range(500))]), ["Name is Bob"]),
        ('["Name is Jim", "Owns a yacht", "Likes tea"]', ["Likes tea"]),
    ],
)
def test_facts_are_exactly_those_that_the_reply_states_and_the_user_said(
    server: FakeServer, memory: EntityMemory, reply: str, expected: list[str]
) -> None:
    server.replies = [reply]

    memory.update_history(pair(SAID, "nice, I own a yacht"), "s")

    assert facts(memory) == expected


@pytest.mark.parametrize("reply", ["<think>hmm, maybe [", "[" * 1_000_000, "I would say he is nice."])
def test_a_reply_that_holds_no_list_leaves_known_facts_alone_and_is_given_up_after_five(
    server: FakeServer, memory: EntityMemory, reply: str
) -> None:
    server.replies = ['["Name is Bob"]', reply]
    memory.update_history(pair("I am Bob"), "s")
    assert facts(memory) == ["Name is Bob"]

    memory.update_history(pair("nice weather"), "s")

    assert facts(memory) == ["Name is Bob"]
    assert len(server.chats) == 1 + 5


def test_a_very_long_fact_is_cut(server: FakeServer, memory: EntityMemory) -> None:
    server.replies = [json.dumps([LONG])]

    memory.update_history(pair("I like tea"), "s")

    (fact,) = facts(memory)
    assert len(fact) == 300 and fact.endswith("…")


def test_thinking_handed_out_separately_gets_a_longer_answer(
    server: FakeServer, memory: EntityMemory
) -> None:
    server.mode = "reasoning_content"
    server.replies = ['["Name is Bob"]']

    memory.update_history(pair("I am Bob"), "s")
    memory.workplace.worker.drain(5)

    assert memory.facts("s") == []


def test_what_was_said_stands_in_until_the_model_has_dealt_with_it(
    server: FakeServer, memory: EntityMemory
) -> None:
    server.mode = "no_answer"

    for number in range(5):
        memory.update_history(pair(f"I am vegan since day {number}"), "s")

    assert "- I am vegan since day 4" in block(memory)
    assert block(memory).count("I am vegan") == 3
    assert block(memory, "another session") == ""


def test_question_and_answer_reported_separately_are_one_exchange(
    server: FakeServer, memory: EntityMemory
) -> None:
    memory.update_history([AgentMessage(MessageRole.USER, "I have a ferret")], "s")
    memory.update_history([AgentMessage(MessageRole.ASSISTANT, "how sweet")], "s")

    assert facts(memory) == []
    assert len(server.chats) == 1
    assert "USER: I have a ferret\nASSISTANT: how sweet" in server.prompts[0]


def test_only_the_users_words_are_marked_as_theirs(server: FakeServer, memory: EntityMemory) -> None:
    server.replies = ['["Name is Max"]']

    memory.update_history(pair("who are you?", "my name is Max and I like tea"), "s")

    assert facts(memory) == []


def test_exchanges_that_piled_up_become_one_call(server: FakeServer, memory: EntityMemory) -> None:
    server.mode = "500"
    for number in range(6):
        memory.update_history(pair(f"I have ferret number {number}"), "s")
    server.mode = "good"
    before = len(server.chats)

    assert facts(memory) == []

    prompts = [chat.prompt for chat in server.chats[before:] if "ferret" in chat.prompt]
    assert all(any(f"ferret number {n}" in p for p in prompts) for n in range(6))
    assert len(prompts) < 6


def test_the_newest_name_replaces_the_old_one(server: FakeServer, memory: EntityMemory) -> None:
    server.replies = [
        '["Name is Ann"]',
        '["Name is Bob"]',
        '["Name is  Bob."]',
        '["User\'s name: Bob"]',
        '["moved from Rome to Oslo"]',
    ]
    for said in ("I'm Ann", "call me Bob", "Bob please", "I said Bob", "I moved from Rome to Oslo"):
        memory.update_history(pair(said), "s")
        assert memory.workplace.worker.drain(5)

    assert facts(memory) == ["Name is Bob", "moved from Rome to Oslo"]
    assert "Ann" not in block(memory)
    assert memory.facts("s")[0].confirmations == 2


def test_each_fact_has_its_date_session_and_words(server: FakeServer, tmp_path: Path) -> None:
    chat = ServerChat(server.url, model="m")
    memory = EntityMemory({"db_path": str(tmp_path / "f.json")}, chat=chat, clock=lambda: 1_700_000_000.0)
    server.replies = ['[{"fact": "Allergic to nuts", "kind": "health"}]']

    memory.update_history(pair("Hi! I am allergic to nuts."), "kitchen")

    assert facts(memory) == ["Allergic to nuts"]
    (fact,) = memory.facts("any")
    assert (fact.at, fact.session, fact.words, fact.kind) == (
        1_700_000_000.0,
        "kitchen",
        "I am allergic to nuts.",
        "health",
    )


def test_a_model_that_names_numbers_can_replace_and_remove(server: FakeServer, memory: EntityMemory) -> None:
    server.replies = [
        '{"add": [{"fact": "Drinks coffee", "kind": "preference"}, {"fact": "Is vegan", "kind": "health"}]}',
        '{"add": [], "replace": [{"old": 1, "fact": "Drinks tea", "kind": "preference"}], "remove": [2]}',
    ]
    memory.update_history(pair("I drink coffee and I am vegan"), "s")
    assert facts(memory) == ["Drinks coffee", "Is vegan"]

    memory.update_history(pair("I gave up coffee, I drink tea. And I am not vegan any more."), "s")

    assert facts(memory) == ["Drinks tea"]
    assert "1. Drinks coffee\n2. Is vegan" in server.prompts[1]


def test_under_scope_session_facts_stay_in_their_session(server: FakeServer, tmp_path: Path) -> None:
    memory = memory_on(server, tmp_path, scope="session")
    server.replies = ['["Name is Bob"]']

    memory.update_history(pair("I am Bob"), "a")

    assert facts(memory, "a") == ["Name is Bob"]
    assert (facts(memory, "b"), block(memory, "b")) == ([], "")


def test_facts_follow_a_change_of_scope(server: FakeServer, tmp_path: Path) -> None:
    memory = memory_on(server, tmp_path, scope="session")
    server.replies = ['["Name is Bob"]', '["Likes tea"]', "[]"]
    memory.update_history(pair("I am Bob"), "a")
    facts(memory)
    memory.update_history(pair("I like tea"), "b")
    facts(memory)
    memory.close()

    everywhere = memory_on(server, tmp_path, scope="global")
    assert facts(everywhere, "c") == ["Likes tea", "Name is Bob"]
    everywhere.close()
    again = memory_on(server, tmp_path, scope="session")

    assert (facts(again, "a"), facts(again, "b"), facts(again, "c")) == (["Name is Bob"], ["Likes tea"], [])


def test_facts_survive_a_restart(server: FakeServer, tmp_path: Path) -> None:
    memory = memory_on(server, tmp_path)
    server.replies = ['["Name is Bob"]']
    memory.update_history(pair("I am Bob"), "s")
    memory.close()

    assert facts(memory_on(server, tmp_path)) == ["Name is Bob"]


def test_work_that_was_pending_is_taken_up_after_a_restart(server: FakeServer, tmp_path: Path) -> None:
    server.mode = "500"
    memory = memory_on(server, tmp_path)
    memory.update_history(pair("I am Bob"), "s")
    memory.workplace.worker.close()
    memory.workplace.worker.join(5)
    server.mode, server.replies = "good", ['["Name is Bob"]']

    again = memory_on(server, tmp_path)

    assert facts(again) == ["Name is Bob"]


def test_what_version_1_left_is_taken_over(server: FakeServer, tmp_path: Path) -> None:
    left = {"default": {"facts": ["Name is Bob", "Likes tea"]}, "other": {"facts": ["User's name: Bob"]}}
    (tmp_path / "facts.json").write_text(json.dumps(left))

    memory = memory_on(server, tmp_path)

    assert facts(memory) == ["Likes tea", "Name is Bob"]
    assert json.loads((tmp_path / "facts.json.1x.bak").read_text()) == left


@pytest.mark.parametrize("mode", ["no_answer", "drip", "500", "html", "error_object", "redirect_loop"])
def test_a_bad_endpoint_neither_slows_a_turn_nor_loses_one(
    server: FakeServer, tmp_path: Path, mode: Any
) -> None:
    memory = memory_on(server, tmp_path, request_timeout=0.3)
    server.mode = mode
    slowest = 0.0
    for number in range(5):
        started = time.perf_counter()
        memory.update_history(pair(f"I have a ferret called {FERRETS[number]}"), "s")
        slowest = max(slowest, time.perf_counter() - started)

    assert slowest < 0.5
    time.sleep(0.4)
    server.mode, server.replies = "good", [lambda payload: _ferrets(payload)]
    assert facts(memory) == [f"Has a ferret called {name}" for name in FERRETS]


FERRETS = ["Ada", "Ben", "Cleo", "Dot", "Eli"]


def _ferrets(payload: dict[str, Any]) -> str:
    said = payload["messages"][0]["content"].partition("New conversation")[2].partition("Which facts")[0]
    return json.dumps([f"Has a ferret called {name}" for name in FERRETS if name in said])


def test_closing_takes_five_seconds_at_most(server: FakeServer, tmp_path: Path) -> None:
    memory = memory_on(server, tmp_path, request_timeout=60)
    server.mode = "no_answer"
    memory.update_history(pair("I am Bob"), "s")
    started = time.monotonic()

    memory.close()

    assert time.monotonic() - started < 6


def test_a_chat_plugin_can_do_the_work_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    class Plugin:
        def __init__(self, config: dict[str, Any]) -> None:
            self.config = config

        def continue_chat(self, messages: list[AgentMessage], **options: Any) -> AgentMessage:
            seen.append((self.config, messages))
            return AgentMessage(MessageRole.ASSISTANT, '["Name is Bob"]')

    monkeypatch.setattr("ovos_plugin_manager.agents.load_chat_plugin", {"some-engine": Plugin}.get)
    engine = {"module": "some-engine", "config": {"model": "x"}}
    memory = EntityMemory({"db_path": str(tmp_path / "f.json"), "chat_engine": engine})

    memory.update_history(pair("I am Bob"), "s")

    assert facts(memory) == ["Name is Bob"]
    assert seen[0][0] == {"model": "x"}
    assert [m.role for m in seen[0][1]] == [MessageRole.USER]


def test_a_missing_chat_plugin_is_named_with_its_remedy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = EntityMemory({"db_path": str(tmp_path / "f.json"), "chat_engine": {"module": "nowhere"}})
    logging.getLogger("OVOS").addHandler(caplog.handler)

    memory.update_history(pair("I am Bob"), "s")
    memory.workplace.worker.drain(0.5)

    assert "I am Bob" in block(memory)
    assert memory.health()["work"]["operations"]["facts"]["last_error"] == "ModelUnavailable"


def test_neither_key_nor_words_are_logged(
    server: FakeServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    memory = EntityMemory(
        {
            "db_path": str(tmp_path / "f.json"),
            "api_url": server.url,
            "api_key": "k3y-s3cret",
            "request_timeout": 0.3,
        }
    )
    for mode in ("500", "html", "error_object", "no_answer", "prose", "good"):
        server.mode = mode  # type: ignore[assignment]
        memory.update_history(pair("my PIN is fourtytwo"), "secret-session")
        memory.workplace.chat.breaker.succeeded()  # type: ignore[attr-defined]
        memory.workplace.worker.drain(0.5)
    memory.close()

    text = "".join(capfd.readouterr()) + repr(memory.health())
    assert server.requests[-1].headers["authorization"] == "Bearer k3y-s3cret"
    assert not any(secret in text for secret in ("k3y-s3cret", "fourtytwo", "secret-session"))


def test_a_path_is_expanded(server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    memory = memory_on(server, tmp_path, db_path="~/my é facts/f.db")
    server.replies = ['["Name is Bob"]']

    memory.update_history(pair("I am Bob"), "s")

    assert facts(memory) == ["Name is Bob"]
    assert (tmp_path / "my é facts" / "f.db").is_file()
    assert (tmp_path / "my é facts" / "f.db").stat().st_mode & 0o777 == 0o600


def test_an_answer_of_the_model_for_a_forgotten_exchange_is_not_stored(
    server: FakeServer, memory: EntityMemory
) -> None:
    def forget_first(payload: dict[str, Any]) -> str:
        memory.workplace.ledger().delete_session("s")
        return '["Name is Bob"]'

    server.replies = [forget_first]

    memory.update_history(pair("I am Bob"), "s")

    assert facts(memory) == []


@pytest.mark.parametrize(
    ("prompt", "unknown"),
    [(None, []), ('{facts} {exchange} as {"facts": ["..."]}', []), ("Facts of {exchnge}?", ["{exchnge}"])],
)
def test_a_misspelt_placeholder_of_the_prompt_is_named(prompt: str | None, unknown: list[str]) -> None:
    settings = EntitySettings(extraction_prompt=prompt)

    told = unknown_placeholders(settings)
    assert told == [("extraction_prompt", name, "{exchange}, {facts}") for name in unknown]


def test_another_prompt_gets_what_it_leaves_out(server: FakeServer, tmp_path: Path) -> None:
    memory = memory_on(server, tmp_path, extraction_prompt="Facts as a JSON array, please.")

    memory.update_history(pair("I am Bob"), "s")

    assert facts(memory) == []
    assert server.prompts == ["Facts as a JSON array, please.\n\nUSER: I am Bob\nASSISTANT: ok"]
    assert "response_format" not in server.chats[0].payload


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_memory_in_ram_takes_its_thread_along(server: FakeServer, is_closed: bool) -> None:
    server.mode = "500"
    chat = ServerChat(server.url, model="m", pauses_s=(600.0,))
    memory = EntityMemory({"backend": "memory"}, chat=chat)
    memory.update_history(pair("I like tea"), "s")
    thread = memory.workplace.worker._thread
    assert thread is not None

    if is_closed:
        memory.close()
    else:
        del memory
        gc.collect()

    thread.join(10)
    assert not thread.is_alive()


def test_what_waits_in_ram_for_a_model_that_is_away_is_bounded(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ovos_memory.core.llm.workplace.MAX_PENDING_IN_RAM", 32)
    server.mode = "500"
    chat = ServerChat(server.url, model="m", pauses_s=(600.0,))
    memory = EntityMemory({"backend": "memory"}, chat=chat)

    for number in range(100):
        memory.update_history(pair(f"I own {number} books"), f"s{number}")

    assert memory.workplace.ledger().count() <= 32
    assert "I own 99 books" in block(memory, "s99")
    memory.close()
