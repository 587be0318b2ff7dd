"""What people say to an assistant, as far as its cost goes: exchanges and questions with realistic word frequencies.

Sentences come from a LoCoMo file, or are drawn from a made-up language whose words follow Zipf's law.  Standard library
only: both sides of a comparison make the same text from the same few numbers.
"""

from __future__ import annotations

import bisect
import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FUNCTION_WORDS = """
the i you to a and it of is that in my was for on we with have be this so not are do at what but he she they
me about had just or as if your can from how when all will there out up get one would been by an were did
"""
VOCABULARY = 30_000
SHIFT, EXPONENT = 2.7, 1.05
"""The word of rank r has a share of 1 / (r + SHIFT) ** EXPONENT: Mandelbrot's form of Zipf's law."""
NAMED = 3
"""Words of a remembered sentence that a made-up question names."""


class Corpus:
    """Sentences to store and questions to ask; the same for the same arguments.

    Args:
        path: A LoCoMo file; ``None``: the made-up language.
        seed: Of the draw.
    """

    def __init__(self, path: str | None = None, seed: int = 7) -> None:
        self.path, self.seed = path, seed
        self.conversations: list[dict[str, Any]] = json.loads(Path(path).read_text("utf-8")) if path else []
        self._words = _vocabulary() if path is None else []
        ranks = range(1, len(self._words) + 1)
        self._shares = list(itertools.accumulate(1 / (rank + SHIFT) ** EXPONENT for rank in ranks))
        self._turns = [text for talk in self.conversations for text in turns(talk).values()]

    def exchange(self, number: int) -> tuple[str, str]:
        """Return what the user and the assistant said in one exchange, with one word that no other has."""
        draw = random.Random(f"{self.seed}/{number}")
        question, answer = (
            draw.choice(self._turns) if self._turns else self._sentence(draw) for _ in range(2)
        )
        return question, f"{answer} tok{number}"

    def questions(self, count: int, stored: int) -> list[str]:
        """Return questions about what was said.

        Args:
            count: How many.
            stored: Exchanges that there are to ask about.
        """
        draw = random.Random(f"{self.seed}/questions")
        if self.conversations:
            asked = [
                qa["question"] for talk in self.conversations for qa in talk["qa"] if qa.get("category") != 5
            ]
            return draw.sample(asked, min(count, len(asked)))
        made = []
        for _ in range(count):
            words = self.exchange(draw.randrange(stored))[0].split()
            named = sorted(words, key=self._words.index, reverse=True)[: 2 * NAMED]
            made.append(f"what did you say about the {' and the '.join(draw.sample(named, NAMED))}?")
        return made

    def _sentence(self, draw: random.Random) -> str:
        length = draw.randint(8, 28)
        drawn = (bisect.bisect(self._shares, draw.random() * self._shares[-1]) for _ in range(length))
        return " ".join(self._words[place] for place in drawn)


def turns(conversation: dict[str, Any]) -> dict[str, str]:
    """Return what was said in a LoCoMo conversation, by the turn's id, in order."""
    talk = conversation["conversation"]
    sessions = [
        value for key, value in talk.items() if key.startswith("session_") and isinstance(value, list)
    ]
    return {turn["dia_id"]: turn["text"] for session in sessions for turn in session if turn.get("text")}


def word_frequencies(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the words of texts and, for each, how often it and those before it occur."""
    counts: dict[str, int] = {}
    for text in texts:
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
    return list(counts), list(itertools.accumulate(counts.values()))


def _vocabulary() -> list[str]:
    """Return distinct words, the most frequent first: English function words, then made-up ones."""
    draw = random.Random("vocabulary")
    words = dict.fromkeys(FUNCTION_WORDS.split())
    while len(words) < VOCABULARY:
        syllables = draw.choices([1, 2, 3, 4], [1, 6, 4, 1])[0]
        words.setdefault(
            "".join(
                draw.choice("bcdfghjklmnprstvwz") + draw.choice("aeiou") + draw.choice(" nrslt").strip()
                for _ in range(syllables)
            )
        )
    return list(words)
