from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.core.llm.server import ServerChat
from ovos_memory.core.templates import unknown_placeholders
from ovos_memory.longterm import LongTermMemory
from ovos_memory.longterm.settings import LongTermSettings
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.messages import assistant, user

QUICK = (0.02, 0.05, 0.2)
GOOD = "The user and the assistant talked about the garden and the weather."


def pair(question: str, answer: str = "ok") -> list[AgentMessage]:
    return [user(question), assistant(answer)]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([GOOD]) as fake:
        yield fake


@pytest.fixture
def new(server: FakeServer, tmp_path: Path) -> Iterator[Callable[..., LongTermMemory]]:
    made: list[LongTermMemory] = []

    def make(pauses_s: Any = QUICK, **config: Any) -> LongTermMemory:
        chat = ServerChat(server.url, model="m", pauses_s=pauses_s)
        settings = {"db_path": str(tmp_path / "sums.json"), "request_timeout": 1, **config}
        made.append(LongTermMemory(settings, chat=chat))
        return made[-1]

    yield make
    server.mode = "good"
    for memory in made:
        memory.workplace.worker.close()


def talk(
    memory: LongTermMemory, turns: int, *, start: int = 0, session: str = "s", wait: bool = True
) -> None:
    for number in range(start, start + turns):
        memory.update_history(pair(f"question {number}", f"answer {number}"), session)
        if wait:
            assert memory.workplace.worker.drain(20)


def asked(memory: LongTermMemory, session: str = "s") -> list[str]:
    return [m.content for m in memory.get_history(session) if m.role.value == "user"]


def test_a_summary_is_written_when_it_is_due_and_the_window_shrinks(server: FakeServer, new: Any) -> None:
    memory = new()
    talk(memory, 5)
    assert (len(server.chats), memory.summary("s")) == (0, "")
    assert asked(memory) == [f"question {n}" for n in range(5)]

    talk(memory, 1, start=5)

    assert (len(server.chats), memory.summary("s")) == (1, GOOD)
    assert asked(memory) == [f"question {n}" for n in range(2, 6)]
    context = memory.build_conversation_context("and now?", "s")
    assert GOOD in context[0].content and context[0].role.value == "system"
    assert [m.content for m in context[1:3]] == ["question 2", "answer 2"]
    assert context[-1].content == "and now?"


def test_the_window_stays_what_it_is_between_two_summaries(server: FakeServer, new: Any) -> None:
    memory = new()

    talk(memory, 9)

    assert asked(memory) == [f"question {n}" for n in range(5, 9)]


def test_every_exchange_is_summarised_exactly_once(server: FakeServer, new: Any) -> None:
    memory = new(summarize_every=3, recent_window=1)

    talk(memory, 12)

    said = [n for prompt in server.prompts for n in re.findall(r"User: question (\d+)", prompt)]
    assert said == [str(n) for n in range(12)]


@pytest.mark.parametrize(
    ("prompt", "unknown"),
    [
        (None, []),
        ("{previous_summary} {exchange} {words}", []),  # other names of the same
        ("{sumary} and {exchanges} in {number} words", ["{sumary}, {number}"]),
    ],
)
def test_a_misspelt_placeholder_of_the_prompt_is_named(prompt: str | None, unknown: list[str]) -> None:
    settings = LongTermSettings(summary_prompt=prompt)

    told = unknown_placeholders(settings)
    assert told == [("summary_prompt", names, "{summary}, {exchanges}, {words}") for names in unknown]


def test_the_prompt_carries_the_previous_summary_in_full(server: FakeServer, new: Any) -> None:
    first = "Ann met Ben in Oslo on 3 May. " * 8
    server.replies = [first, first + " They talked."]
    memory = new(summarize_every=2)

    talk(memory, 4)

    assert first.strip() in server.prompts[1]
    assert all(word in server.prompts[1] for word in ("names", "dates", "numbers", "decisions"))


def test_the_summary_never_crosses_sessions(server: FakeServer, new: Any) -> None:
    memory = new(summarize_every=2)

    talk(memory, 2, session="a")

    assert memory.summary("b") == "" and memory.get_history("b") == []
    assert len(memory.build_conversation_context("hi", "b")) == 1


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "OK.",
        "<think>what shall I say",
        "I'm sorry, I cannot summarize this conversation.",
        "User: question 0\nAssistant: answer 0\nUser: question 1\nAssistant: answer 1",
        "User: I like Oslo.\nAssistant: Nice.\n\nThe new summary is all of it.",
        "Summary so far: nothing. What was said since then: question 0",
    ],
)
def test_an_answer_that_is_no_summary_is_rejected_and_nothing_is_trimmed(
    server: FakeServer, new: Any, bad: str
) -> None:
    server.replies = [bad]
    memory = new(summarize_every=2, recent_window=1)

    talk(memory, 2, wait=False)
    memory.workplace.worker.drain(0.3)

    assert memory.summary("s") == ""
    assert asked(memory) == ["question 0", "question 1"]
    server.replies = [GOOD]
    assert memory.workplace.worker.drain(20)
    assert (memory.summary("s"), asked(memory)) == (GOOD, ["question 1"])


@pytest.mark.parametrize(
    "reply",
    [
        f"Sure! Here is the summary: {GOOD}",
        f"**Updated summary:** {GOOD}",
        f"<think>so</think>\n{GOOD}",
        f"```\n{GOOD}\n```",
        f"Zusammenfassung: {GOOD}",
    ],
)
def test_chatter_around_a_summary_is_left_out(server: FakeServer, new: Any, reply: str) -> None:
    server.replies = [reply]
    memory = new(summarize_every=2)

    talk(memory, 2)

    assert memory.summary("s") == GOOD


EARLY = ["Ann Berg", "Oslo", "3 May 1987", "4512", "Rex", "Dr. Hall", "Acme", "Lisbon"]


def careful(payload: dict[str, Any]) -> str:
    """Keep the previous summary when the prompt asks to carry it over, and add little."""
    prompt = payload["messages"][0]["content"]
    previous = prompt.partition("Summary so far:\n")[2].partition("\n\nWhat was said")[0]
    said = prompt.partition("What was said since then:\n")[2].partition("\n\nWrite the new")[0]
    keeps = all(word in prompt for word in ("names", "dates", "numbers", "decisions"))
    facts = [f"The user mentioned {fact}." for fact in EARLY if fact in said]
    kept = previous if keeps and previous != "(nothing yet)" else ""
    return " ".join([kept, *facts, f"They talked about {len(server_words(said))} things."]).strip()


def server_words(text: str) -> list[str]:
    return text.split()


def test_after_ten_rounds_all_early_facts_are_still_there(server: FakeServer, new: Any) -> None:
    server.replies = [careful]
    memory = new()
    for fact in EARLY:
        memory.update_history(pair(f"remember {fact}"), "s")
        memory.workplace.worker.drain(5)
    talk(memory, 52)

    assert memory.workplace.consumer.written >= 10
    assert [fact for fact in EARLY if fact not in memory.summary("s")] == []


def forgetful(payload: dict[str, Any]) -> str:
    return "They talked about the weather and about what to cook."


def test_a_model_that_forgets_is_asked_again_and_then_corrected(server: FakeServer, new: Any) -> None:
    first = "The user is called Ann Berg. She was born on 3 May 1987. Her dog is Rex."
    server.replies = [first, forgetful]
    memory = new(summarize_every=2)

    talk(memory, 4)

    assert all(detail in memory.summary("s") for detail in ("Ann Berg", "3 May 1987", "Rex", "weather"))
    assert len(server.chats) == 4
    assert (
        "must not get lost: Ann, Berg" not in server.prompts[1] and "must not get lost: " in server.prompts[2]
    )


def test_the_length_stays_bounded_over_fifty_rounds(server: FakeServer, new: Any) -> None:
    counter = iter(range(1_000))
    server.replies = [
        lambda payload: careful(payload) + f" In round {next(counter)} Mr. Name{next(counter)} called." * 3
    ]
    memory = new(summarize_every=1, recent_window=0, max_summary_tokens=64)
    lengths = []
    for number in range(50):
        talk(memory, 1, start=number)
        lengths.append(len(memory.summary("s")))

    assert max(lengths) <= 64 * 4
    assert max(map(len, server.prompts)) < 4_000


def test_a_summariser_that_was_away_for_a_day_catches_up_in_pieces(server: FakeServer, new: Any) -> None:
    server.mode = "500"
    memory = new(summarize_every=2, pauses_s=(0.01, 0.02, 2.0))
    for number in range(30):
        memory.update_history(pair(f"question {number} " + "long " * 100, f"answer {number}"), "s")
    time.sleep(0.3)
    assert len(server.requests) <= 6
    context = memory.build_conversation_context("hi", "s")
    assert sum(len(m.content) for m in context) <= 24_000 + 10
    assert len(memory.get_history("s")) == 60

    server.mode = "good"
    talk(memory, 10, start=30)

    said = [n for chat in server.chats[-40:] for n in re.findall(r"User: question (\d+)", chat.prompt)]
    assert list(dict.fromkeys(said)) == [str(n) for n in range(39)]  # the last one waits for a second
    assert max(map(len, server.prompts)) < 9_000
    assert len(asked(memory)) == 4


def test_a_session_that_the_server_cannot_take_does_not_hold_up_the_others(
    server: FakeServer, new: Any
) -> None:
    memory = new(summarize_every=2, pauses_s=(0.0,))

    real = memory.workplace.chat.ask

    def ask(prompt: str, **options: Any) -> Any:
        server.mode = "500" if "poison" in prompt else "good"
        return real(prompt, **options)

    memory.workplace.chat.ask = ask
    for word in ("poison", "poison"):
        memory.update_history(pair(word), "bad")
    talk(memory, 2, session="fine")

    assert (memory.summary("bad"), memory.summary("fine")) == ("", GOOD)
    assert asked(memory, "bad") == ["poison", "poison"]


def test_nothing_is_lost_when_pieces_of_an_answer_come_late(server: FakeServer, new: Any) -> None:
    memory = new(summarize_every=2)
    memory.update_history([user("my code is 4512")], "s")
    memory.update_history([assistant("noted")], "s")
    memory.update_history([assistant("anything else?")], "s")

    assert [m.content for m in memory.get_history("s")] == ["my code is 4512", "noted\nanything else?"]


def test_zero_never_summarises_and_keeps_the_window(server: FakeServer, new: Any) -> None:
    memory = new(summarize_every=0, recent_window=2)

    talk(memory, 5)

    assert (asked(memory), server.chats) == (["question 3", "question 4"], [])


def test_a_window_of_zero_keeps_none_that_a_summary_covers(server: FakeServer, new: Any) -> None:
    memory = new(summarize_every=2, recent_window=0)

    talk(memory, 3)

    assert asked(memory) == ["question 2"]


def test_an_unanswered_question_stands_beside_the_window(server: FakeServer, new: Any) -> None:
    memory = new(summarize_every=2, recent_window=1)
    talk(memory, 2)

    memory.update_history([user("are you there?")], "s")

    assert asked(memory) == ["question 1", "are you there?"]


def test_summary_and_window_survive_a_restart(server: FakeServer, new: Any) -> None:
    memory = new()
    talk(memory, 7)
    memory.close()

    again = new()

    assert (again.summary("s"), asked(again)) == (GOOD, [f"question {n}" for n in range(3, 7)])


def test_what_is_summarised_while_it_is_forgotten_is_not_stored(server: FakeServer, new: Any) -> None:
    memory = new(summarize_every=2)

    def forget(payload: dict[str, Any]) -> str:
        memory.workplace.ledger().delete_session("s")
        return GOOD

    server.replies = [forget, GOOD]
    talk(memory, 2)

    assert (memory.summary("s"), memory.get_history("s")) == ("", [])


RECENT = [{"role": "user", "content": "old question"}, {"role": "assistant", "content": "old answer"}]


def test_a_json_file_of_version_1_is_taken_over(server: FakeServer, new: Any, tmp_path: Path) -> None:
    left = {"s": {"summary": "They met in Oslo.", "recent": RECENT, "exchange_count": 7, "updated_at": 1.5}}
    (tmp_path / "sums.json").write_text(json.dumps(left))
    memory = new()

    assert (memory.summary("s"), asked(memory)) == ("They met in Oslo.", ["old question"])
    talk(memory, 1)

    assert asked(memory) == ["old question", "question 0"]
    assert json.loads((tmp_path / "sums.json.1x.bak").read_text()) == left


def test_a_database_of_version_1_is_taken_over(server: FakeServer, new: Any, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "sums.db") as old:
        old.execute(
            "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, summary TEXT, recent TEXT,"
            " exchange_count INTEGER, updated_at REAL)"
        )
        old.execute(
            "INSERT INTO sessions VALUES ('s', 'They met in Oslo.', ?, 7, 1.5)", (json.dumps(RECENT),)
        )
    old.close()
    memory = new(db_path=str(tmp_path / "sums.db"))

    assert (memory.summary("s"), asked(memory)) == ("They met in Oslo.", ["old question"])
    memory.close()

    again = new(db_path=str(tmp_path / "sums.db"))
    assert (again.summary("s"), asked(again)) == ("They met in Oslo.", ["old question"])


def test_a_path_is_expanded(
    server: FakeServer, new: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    memory = new(db_path="é/sums.db", summarize_every=1)

    talk(memory, 1)

    assert (tmp_path / "data" / "é" / "sums.db").is_file()
    assert (tmp_path / "data" / "é" / "sums.db").stat().st_mode & 0o777 == 0o600


SCRIPT = """
    import sys
    from ovos_memory.core.llm.server import ServerChat
    from ovos_memory.longterm import LongTermMemory
    from ovos_memory.testing.messages import assistant, user
    chat = ServerChat({url!r}, model="m")
    memory = LongTermMemory({{"db_path": {path!r}, "summarize_every": 4}}, chat=chat)
    for number in range(20):
        memory.update_history([user("question {who}" + str(number)), assistant("ok")], "shared")
        memory.update_history([user("question {who}"), assistant("ok")], "{who}" + str(number))
    print(memory.workplace.worker.drain(60), flush=True)
    memory.close()
"""


@pytest.mark.parametrize("suffix", ["json", "db"])
def test_two_processes_on_one_store_lose_nothing_and_do_nothing_twice(
    server: FakeServer, new: Any, tmp_path: Path, suffix: str
) -> None:
    path, code = str(tmp_path / f"s.{suffix}"), textwrap.dedent(SCRIPT)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code.format(path=path, url=server.url, who=who)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in ("ann", "bob")
    ]
    assert [child.communicate(timeout=90)[0].strip().splitlines()[-1] for child in children] == [
        "True",
        "True",
    ]

    said = [n for prompt in server.prompts for n in re.findall(r"User: question (\w+\d+)", prompt)]
    memory = new(db_path=path, summarize_every=4)
    waiting = [q.split()[-1] for q in asked(memory, "shared")]
    assert len(said) == len(set(said))
    assert set(said) | set(waiting) == {f"{who}{n}" for who in ("ann", "bob") for n in range(20)}
    for who in ("ann", "bob"):
        assert all(asked(memory, f"{who}{n}") == [f"question {who}"] for n in range(20))
