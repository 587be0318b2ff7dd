"""The composite with memories that other people wrote and released."""

from __future__ import annotations

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.composite import CompositeMemory
from ovos_memory.testing.fakes.server import FakeServer

SHORT_TERM = "ovos-agents-short-term-memory-plugin"
REMOTE_RAG = "ovos-openai-rag-memory-plugin"
LEXICAL = "ovos-memory-plugin-lexical"


def said(question, answer):
    return [AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer)]


@pytest.fixture
def lexical(tmp_path):
    return {"module": LEXICAL, "config": {"db_path": str(tmp_path / "lexical.db")}}


def test_the_default_memory_of_a_persona_is_a_member(lexical):
    memory = CompositeMemory({"members": [SHORT_TERM, lexical], "system_prompt": "Be kind."})

    memory.update_history([], "s")
    memory.update_history(said("my parcel is in locker POL-358", "noted"), "s")
    for n in range(5):
        memory.update_history(said(f"and number {n}", "fine"), "s")
    context = memory.build_conversation_context("which locker is my parcel in", "s")

    assert context[0].content == "Be kind."
    assert "POL-358" in context[1].content
    assert len(memory.get_history("s")) == 5  # its own default, and not ours
    assert context[-1].content == "which locker is my parcel in"


def test_a_member_that_needs_a_server_is_left_out_while_there_is_none(lexical):
    with FakeServer() as server:
        url = server.url
    members = [lexical, {"module": REMOTE_RAG, "config": {"api_url": url, "vector_store_id": "vs_1"}}]
    memory = CompositeMemory({"members": members})

    memory.update_history(said("my parcel is in locker POL-358", "noted"), "s")

    assert memory.health()["members"][LEXICAL]["state"] == "ready"
    assert "POL-358" in memory.search("locker", "s")[0].content
    assert "POL-358" in memory.build_conversation_context("which locker?", "s")[0].content
