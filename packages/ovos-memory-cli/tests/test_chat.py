"""Talking with a persona, and seeing what its engine is given."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.cli import chatting


class Echo:
    """A chat engine that repeats the last words."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config

    def continue_chat(self, messages: list[AgentMessage], session_id: str, lang: str | None) -> AgentMessage:
        return AgentMessage(
            MessageRole.ASSISTANT, f"you said {messages[-1].content}, as turn {len(messages)}"
        )


@pytest.fixture
def chat(rosie: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Any]:
    for name, value in rosie.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(chatting, "load_engine", lambda persona: Echo({}))
    monkeypatch.setattr("ovos_memory.cli.output._own_stdout", lambda: __import__("sys").stdout)

    def run(*arguments: str) -> str:
        chatting.chat.main([*arguments], standalone_mode=False)
        return capfd.readouterr().out

    before = threading.active_count()  # other tests of the process may have left some that end by themselves
    yield run
    assert threading.active_count() - before < 10


def test_a_turn_is_answered_and_remembered(chat: Any, rosie: Any) -> None:
    assert "you said good night" in chat("--say", "good night", "--session", "kitchen")
    assert rosie.run("list", "-q", "good night", "--json").json[0]["text"] == "good night"


def test_the_context_is_shown(chat: Any) -> None:
    shown = chat("--say", "what is my door code", "--session", "kitchen", "--show-context")

    assert "[system]" in shown and "4512" in shown and "[user]" in shown


def test_a_plugin_alone_cannot_talk(rosie: Any) -> None:
    assert rosie.run("chat", "-m", "ovos-memory-plugin-recency", "--say", "x").code == 2


def test_a_persona_without_an_engine_says_so(rosie: Any) -> None:
    done = rosie.run("chat", "--say", "hello")
    assert done.code == 1 and "no chat engine" in done.err and "parrot-of-tests" in done.err


def test_the_engine_is_the_first_handler_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"second": Echo}
    monkeypatch.setattr("ovos_plugin_manager.agents.load_chat_plugin", found.get)

    engine = chatting.load_engine({"handlers": ["first", "second"], "second": {"a": 1}})
    assert engine.config == {"a": 1}
