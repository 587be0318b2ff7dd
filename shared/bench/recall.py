"""What the bounded search forgoes: recall of LoCoMo's questions among unrelated exchanges, pruned and unpruned."""

from __future__ import annotations

import bisect
import itertools
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from corpus import turns, word_frequencies
from harness import Bench, Row
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.lexical import LexicalMemory, candidates

UNBOUNDED = 10**9
PER_SESSION = 100
QUESTIONS = 60
"""Asked per conversation; unpruned each reads the whole store."""


def noise(bench: Bench) -> list[Row]:
    """Ask each conversation's questions with noise before and behind it in one store; needs a LoCoMo file."""
    if not bench.corpus.conversations:
        print("  recall among noise needs a LoCoMo file (--data)", file=sys.stderr)
        return []
    count = bench.scaled(100_000, 100)
    recalls: dict[str, list[float]] = {"pruned": [], "unpruned": []}
    for place in range(len(bench.corpus.conversations)):
        path = _store(bench, place, count)
        memory = LexicalMemory({"db_path": str(path)})
        for question, evidence in _questions(bench, place):
            recalls["pruned"].append(_recall(memory, question, evidence))
            with mock.patch.multiple(
                candidates, MAX_POSTINGS=UNBOUNDED, MAX_CANDIDATES=UNBOUNDED, _LEAST=UNBOUNDED
            ):
                recalls["unpruned"].append(_recall(memory, question, evidence))
        memory.close()
    pruned, unpruned = (100 * sum(values) / len(values) for values in recalls.values())
    name = f"lexical recall@5 among {count:,} unrelated exchanges"
    return [
        Row(f"{name}, unpruned", ">= 50", unpruned, None, "%", unpruned, 50, is_least=True),
        Row(f"{name}, points below unpruned", "<= 1", pruned, unpruned, "%", unpruned - pruned, 1),
    ]


def _recall(memory: LexicalMemory, question: str, evidence: list[str]) -> float:
    found = [" ".join(hit.content.split()) for hit in memory.search(question, top_k=5)]
    return sum(any(said in text for text in found) for said in evidence) / len(evidence)


def _questions(bench: Bench, place: int) -> Iterator[tuple[str, list[str]]]:
    talk = bench.corpus.conversations[place]
    said = {key: " ".join(text.split()) for key, text in turns(talk).items()}
    asked = [qa for qa in talk["qa"] if qa.get("category") != 5]
    draw = random.Random(f"asked {place}")
    for qa in draw.sample(asked, min(len(asked), bench.scaled(QUESTIONS, 5))):
        evidence = [said[key] for key in qa.get("evidence", ()) if key in said]
        if evidence:
            yield qa["question"], evidence


def _store(bench: Bench, place: int, count: int) -> Path:
    folder = bench.stores / f"noise-{count}-around-{bench.corpus.conversations[place]['sample_id']}"
    if not folder.exists():
        print(f"  filling a store of {count} unrelated exchanges", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=bench.fast_folder, prefix="bench-") as fast:
            memory = LexicalMemory({"db_path": f"{fast}/lexical.db"})
            unrelated = _unrelated(bench, place, count)
            for messages in itertools.islice(unrelated, count // 2):
                memory.update_history(*messages)
            for messages in _exchanges(bench.corpus.conversations[place]):
                memory.update_history(messages, "the conversation")
            for messages in unrelated:
                memory.update_history(*messages)
            memory.close()
            bench.stores.mkdir(parents=True, exist_ok=True)
            shutil.copytree(fast, f"{folder}.part")
            Path(f"{folder}.part").rename(folder)
    return folder / "lexical.db"


def _exchanges(talk: dict[str, Any]) -> Iterator[list[AgentMessage]]:
    """Yield a conversation's exchanges; the first speaker is the user, and what nobody said is a nod."""
    speaker_of = {
        turn["dia_id"]: turn["speaker"]
        for key, session in talk["conversation"].items()
        if key.startswith("session_") and isinstance(session, list)
        for turn in session
    }
    user, question = talk["conversation"]["speaker_a"], ""
    for speaker, group in itertools.groupby(turns(talk).items(), key=lambda turn: speaker_of[turn[0]]):
        text = "\n".join(text for _, text in group)
        if speaker == user:
            question = text
        else:
            yield _pair(question or "Go on.", text)
            question = ""
    if question:
        yield _pair(question, "I see.")


def _unrelated(bench: Bench, place: int, count: int) -> Iterator[tuple[list[AgentMessage], str]]:
    """Yield exchanges of words drawn by their frequency in the other conversations, in sessions of a hundred."""
    others = [talk for at, talk in enumerate(bench.corpus.conversations) if at != place]
    texts = [text for talk in others for text in turns(talk).values()]
    words, shares = word_frequencies(texts)
    lengths = [len(text.split()) for text in texts]
    draw = random.Random(f"noise {place}")

    def sentence() -> str:
        drawn = (bisect.bisect(shares, draw.randrange(shares[-1])) for _ in range(draw.choice(lengths)))
        return " ".join(words[at] for at in drawn)

    for number in range(count):
        yield _pair(sentence(), sentence()), f"unrelated-{number // PER_SESSION}"


def _pair(question: str, answer: str) -> list[AgentMessage]:
    return [AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer)]
