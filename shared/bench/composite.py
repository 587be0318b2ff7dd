"""What the composite adds to its members: fakes that wait, and real ones."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from harness import Bench, Row, ratio, side_by_side
from local_rag import bare_query, filled
from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage, MessageRole

from ovos_memory.composite import CompositeMemory, members
from ovos_memory.core.types import MemoryHit

WAIT_S = 0.020
ROUNDS = 60
DOCUMENTS = 10_000


class Waiting(AgentContextManager):  # type: ignore[misc]
    """A plain member: whatever it is asked takes a while."""

    def get_history(self, session_id: str) -> list[AgentMessage]:
        time.sleep(WAIT_S)
        return []

    def update_history(self, new_messages: list[AgentMessage], session_id: str) -> None:
        time.sleep(WAIT_S)

    def build_conversation_context(self, utterance: str, session_id: str) -> list[AgentMessage]:
        time.sleep(WAIT_S)
        return [AgentMessage(MessageRole.SYSTEM, "a block"), AgentMessage(MessageRole.USER, utterance)]


class WaitingRetriever(Waiting):
    """A retriever of that kind."""

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        time.sleep(WAIT_S)
        return [MemoryHit(f"hit {n} for {query}", source=f"s_{n}", score=1.0 / (n + 1)) for n in range(5)]


def waiting(bench: Bench) -> list[Row]:
    """Two retrievers and three plain members that wait 20 ms each, beside one of them alone."""
    plugins = {"retriever": WaitingRetriever, "plain": Waiting}
    with mock.patch.object(members, "load_memory_plugin", plugins.get):
        composite = CompositeMemory({"members": ["retriever", "retriever", "plain", "plain", "plain"]})
    alone = Waiting({})
    ours, slowest = side_by_side(
        lambda n: composite.build_conversation_context(f"question {n}", "s"),
        lambda n: alone.build_conversation_context(f"question {n}", "s"),
        rounds=bench.scaled(ROUNDS, 5),
    )
    composite.close()
    return [ratio("composite of 5 members that wait 20 ms : the slowest member", ours, slowest, 1.25)]


def real(bench: Bench) -> list[Row]:
    """Lexical and local-rag at 10 000 exchanges: beside the slower of them, and beside what the engines cost bare."""
    if bench.model is None:
        return []
    count = bench.scaled(DOCUMENTS, 50)
    questions = bench.corpus.questions(bench.scaled(ROUNDS, 5) + 5, count)
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        rag_config = filled(bench, Path(folder), count)
        path = bench.lexical_store("ours", count, max(1, count // 100))
        composite = CompositeMemory(
            {
                "members": [
                    {"module": "ovos-memory-plugin-local-rag", "config": rag_config},
                    {"module": "ovos-memory-plugin-lexical", "config": {"db_path": str(path)}},
                ]
            }
        )
        rag, lexical = (member.memory for member in composite.members)
        vectors, words = bare_query(rag), BareWords(path)
        # The embedder keeps the vectors of the last texts, so each asks in words of its own.
        ours, by_meaning, by_words, bare = side_by_side(
            lambda n: composite.build_conversation_context(f"{questions[n]} 3", "user-1"),
            lambda n: rag.build_conversation_context(f"{questions[n]} 4", "user-1"),
            lambda n: lexical.build_conversation_context(questions[n], "user-1"),
            lambda n: (vectors(f"{questions[n]} 5"), words(questions[n])),
            rounds=len(questions),
        )
        composite.close()
    what = f"composite of lexical + local-rag, {count:,} exchanges"
    return [
        ratio(f"{what} : its slower member", ours, max(by_meaning, by_words), 1.5),
        ratio(f"{what} : embedding + bare vector query + bare FTS5 query", ours, bare, 1.3),
    ]


class BareWords:
    """The bare FTS5 query: every word of the question, bm25, the best five, on a plain FTS5 table of the same texts."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(content, tokenize='porter unicode61')"
        )
        source = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self._connection.executemany(
            "INSERT INTO texts VALUES (?)",
            source.execute(
                "SELECT 'Q: ' || question || char(10) || 'A: ' || answer FROM lexical_memory_documents"
            ),
        )
        source.close()

    def __call__(self, question: str) -> list[Any]:
        words = "".join(letter if letter.isalnum() else " " for letter in question).split()
        match = " OR ".join(f'"{word}"' for word in words)
        statement = "SELECT content, bm25(texts) FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 5"
        return self._connection.execute(statement, (match,)).fetchall()
