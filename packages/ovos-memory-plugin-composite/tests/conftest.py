"""Members for the tests: plain, retrieving, failing, hanging; found by name like installed plugins."""

import threading

import pytest
from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage, MessageRole
from ovos_utils.log import LOG

from ovos_memory.composite import CompositeMemory
from ovos_memory.core.types import MemoryHit

U, A, S, D = (
    (lambda text, role=role: AgentMessage(role, text))
    for role in (MessageRole.USER, MessageRole.ASSISTANT, MessageRole.SYSTEM, MessageRole.DEVELOPER)
)


class Plain(AgentContextManager):
    """Keeps every message; its context begins with the blocks of its configuration."""

    def __init__(self, config=None):
        super().__init__(config)
        self.sessions = {}

    def get_history(self, session_id):
        return list(self.sessions.get(session_id, []))

    def update_history(self, new_messages, session_id):
        self.sessions.setdefault(session_id, []).extend(new_messages)

    def build_conversation_context(self, utterance, session_id):
        blocks = [S(text) for text in self.config.get("blocks", [])]
        return [*blocks, *self.get_history(session_id), U(utterance)]


class Retriever(Plain):
    """Finds the hits of its configuration."""

    def __init__(self, config=None):
        super().__init__(config)
        self.searches = []

    def search(self, query, session_id=None, top_k=None):
        self.searches.append((query, session_id, top_k))
        return [
            MemoryHit(text, source=f"{session_id}_{n}", score=1.0)
            for n, text in enumerate(self.config["hits"])
        ]


class Hanging(Plain):
    """Its calls come back only when they are let go."""

    def __init__(self, config=None):
        super().__init__(config)
        self.calls = []
        self.let_go = threading.Event()

    def _hang(self, method):
        self.calls.append(method)
        assert self.let_go.wait(10)

    def get_history(self, session_id):
        self._hang("get_history")
        return super().get_history(session_id)

    def update_history(self, new_messages, session_id):
        self._hang("update_history")
        super().update_history(new_messages, session_id)

    def build_conversation_context(self, utterance, session_id):
        self._hang("build_conversation_context")
        return [S("late"), U(utterance)]


@pytest.fixture
def plugins(monkeypatch):
    """Entry points by name; a test adds what it needs."""
    found = {
        "plain": Plain,
        "retriever": Retriever,
        "hanging": Hanging,
        "ovos-memory-plugin-composite": CompositeMemory,
    }
    monkeypatch.setattr("ovos_memory.composite.members.load_memory_plugin", found.get)
    return found


@pytest.fixture
def compose(plugins):
    """Return a composite of members given by name or dict; hanging members are let go in the end."""
    made = []

    def make(*members, **settings):
        memory = CompositeMemory({"members": list(members), **settings})
        made.append(memory)
        return memory

    yield make
    for memory in made:
        for member in memory.members:
            getattr(member.memory, "let_go", threading.Event()).set()


@pytest.fixture
def logged(monkeypatch):
    """What is logged as a warning or worse."""
    lines = []
    for level in ("warning", "error", "exception"):
        monkeypatch.setattr(LOG, level, lambda text, *values, **_: lines.append(text % values))
    return lines
