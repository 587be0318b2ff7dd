from __future__ import annotations

from ovos_memory.core.llm.reply import Reply
from ovos_memory.entity import EntityMemory
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole


class Scripted:
    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []

    def ask(self, prompt, **_):
        self.prompts.append(prompt)
        return Reply(self.answers.pop(0) if self.answers else "[]")

    def ready_in_s(self) -> float:
        return 0.0

    def health(self):
        return {}


def exchange(said, answered="ok"):
    return [AgentMessage(MessageRole.USER, said), AgentMessage(MessageRole.ASSISTANT, answered)]


def test_a_stated_fact_is_injected(tmp_path):
    memory = EntityMemory({"db_path": str(tmp_path / "e.json")}, chat=Scripted('["Name is Bob"]'))
    memory.update_history(exchange("hi I'm Bob"), "s")
    print(memory.build_conversation_context("hello", "s"))
    assert memory.workplace.worker.drain(5)
    context = memory.build_conversation_context("hello", "t")
    print(context, memory.health())
    assert "Name is Bob" in context[0].content
