"""Our memories behind HiveMind's persona agent: questions and answers apart, 16 workers, sessions without id."""

from __future__ import annotations

import itertools
import threading

import pytest
from hivemind_persona_agent_plugin import MAX_WORKERS, PersonaAgentProtocol
from home import PLUGIN
from ovos_bus_client.message import Message

SESSIONS = [f"satellite-{number}" for number in range(24)]
TURNS = 4
NOBODY = {"api_url": "http://127.0.0.1:9/v1", "request_timeout": 1}
MEMORIES = {
    "ovos-memory-plugin-short-term": {"max_history": 20},
    "ovos-memory-plugin-recency": {"max_history": 20, "db_path": "recency.db"},
    "ovos-memory-plugin-lexical": {"max_history": 20, "db_path": "lexical.db", "scope": "session"},
    "ovos-memory-plugin-entity": {"db_path": "facts.db", "scope": "session", **NOBODY},
    "ovos-memory-plugin-longterm": {"db_path": "summaries.db", **NOBODY},
    "ovos-memory-plugin-composite": {
        "scope": "session",
        "members": [
            {"module": "ovos-memory-plugin-recency", "config": {"max_history": 20, "db_path": "window.db"}},
            {"module": "ovos-memory-plugin-lexical", "config": {"db_path": "words.db"}},
        ],
    },
}


class Agent:
    """The agent of one memory, and what its bus hears."""

    def __init__(self, folder, module):
        memory = placed(MEMORIES[module], folder)
        persona = {"name": "Ada", "handlers": [PLUGIN], PLUGIN: {"log": str(folder / "engine.log")}}
        self.protocol = PersonaAgentProtocol(
            config={"persona": {**persona, "memory_module": module, module: memory}}
        )
        self.memory = self.protocol.persona.memory
        self.keeps_no_turns = module == "ovos-memory-plugin-entity"
        self.handled = threading.Semaphore(0)
        self.protocol.bus.on("ovos.utterance.handled", lambda _: self.handled.release())

    def utter(self, text, session_id):
        context = {"session": {"session_id": session_id}} if session_id else {}
        self.protocol.bus.emit(Message("recognizer_loop:utterance", {"utterances": [text]}, context))

    def wait(self, count):
        for number in range(count):
            assert self.handled.acquire(timeout=60), f"{number} of {count} answered"


def placed(settings, folder):
    """Return settings whose files lie in a folder."""
    found = dict(settings)
    if "db_path" in found:
        found["db_path"] = str(folder / found["db_path"])
    if "members" in found:
        found["members"] = [
            {**member, "config": placed(member["config"], folder)} for member in found["members"]
        ]
    return found


@pytest.fixture(params=MEMORIES)
def agent(request, tmp_path):
    return Agent(tmp_path, request.param)


def test_sixteen_workers_record_every_exchange_in_its_session(agent, monkeypatch):
    all_at_work, asked = threading.Barrier(MAX_WORKERS, timeout=60), itertools.count()
    build = agent.memory.build_conversation_context

    def build_with_all_at_work(*args, **kwargs):
        if next(asked) < MAX_WORKERS:
            all_at_work.wait()
        return build(*args, **kwargs)

    monkeypatch.setattr(agent.memory, "build_conversation_context", build_with_all_at_work)
    for turn in range(TURNS):
        for session in SESSIONS:
            agent.utter(f"turn {turn} of {session}", session)

    agent.wait(TURNS * len(SESSIONS))

    assert next(asked) == TURNS * len(SESSIONS)
    assert not all_at_work.broken
    if agent.keeps_no_turns:
        assert agent.memory.health()["work"]["pending"] == TURNS * len(SESSIONS)
        return
    for session in SESSIONS:
        said = [(message.role.value, message.content) for message in agent.memory.get_history(session)]
        turns = [f"turn {turn} of {session}" for turn in range(TURNS)]
        assert said == [
            pair
            for text in turns
            for pair in (("user", text), ("assistant", f"You said {text}. I will remember."))
        ]


def test_a_query_without_a_session_is_answered_and_kept_nowhere(agent):
    pieces = list(agent.protocol.natural_language_query("my pin is 4512", "en-US"))
    agent.utter("my pin is 4512", None)
    agent.wait(1)

    assert pieces == ["You said my pin is 4512.", "I will remember.", None]
    agent.utter("what is my pin", "satellite")
    agent.wait(1)
    context = agent.memory.build_conversation_context("what is my pin", "satellite")
    assert "4512" not in "\n".join(message.content for message in context)


def test_what_a_satellite_said_is_there_in_its_next_turn(agent):
    agent.utter("my parcel is in locker POL-358", "satellite")
    agent.utter("which locker is my parcel in", "satellite")
    agent.wait(2)

    context = agent.memory.build_conversation_context("which locker was that", "satellite")

    assert "POL-358" in "\n".join(message.content for message in context)
