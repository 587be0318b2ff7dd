"""What a model's reply says, without thinking, special tokens, fences and chatter around it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ovos_memory.core.errors import ModelUnavailable
from ovos_memory.core.llm.scan import MAX_CHARS
from ovos_memory.core.text import clean

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|reflection|seed:think|analysis)"
_THINK_TAG = re.compile(
    rf"<\s*(/?)\s*{_NAMES}\s*>|\[\s*(/?)\s*THINK\s*\]|<\|\s*(/?)\s*think\s*\|>", re.IGNORECASE
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,80}<\|message\|>")
_SPECIAL = re.compile(r"<\|[^<>|\n]{1,40}\|>|</?s>|<(?:start|end)_of_turn>(?:model|user)?")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*[\w+-]*[ \t]*$", re.MULTILINE)
_MAX_THINKING_TOKENS = 4_096
_INLINE_FENCE = re.compile(r"```(?:json|text|markdown)?")


class ServerFailed(ModelUnavailable):
    """The server is there, but failed on this question: its own trouble, or the question's."""


@dataclass(frozen=True)
class Reply:
    """What a model said.

    Attributes:
        text: The visible part; see :func:`visible_text`.
        is_cut: The answer ended at the token limit, not at its own end.
        is_unfinished: The model was still thinking when it was cut off, so there is no answer to speak of.
    """

    text: str
    is_cut: bool = False
    is_unfinished: bool = False

    @classmethod
    def read(cls, content: object, *, is_cut: bool = False, thought: bool = False) -> Reply:
        """Return the reply that a message's content is; ``thought``: its thinking came separately."""
        text = visible_text(content)
        unfinished = not text and (is_unfinished_thinking(content) or (thought and is_cut))
        return cls(text, is_cut, unfinished)


class TokenBudget:
    """More tokens for a model that was seen to spend them on thinking."""

    def __init__(self) -> None:
        self._factor = 1

    def tokens(self, wanted: int) -> int:
        """Return how many tokens to allow for an answer of ``wanted`` tokens."""
        return wanted if self._factor == 1 else min(wanted * self._factor, max(wanted, _MAX_THINKING_TOKENS))

    def noted(self, reply: Reply) -> Reply:
        """Learn from a reply, and return it."""
        if reply.is_unfinished:
            self._factor = min(self._factor * 4, 64)
        return reply


def visible_text(raw: object) -> str:
    """Return what a reply says to the reader, trimmed; ``""`` when all of it is thinking.

    Thinking that was never closed goes to the end of the text, thinking whose opening the chat template
    swallowed from its beginning.  At most 64 K characters are looked at, in linear time.
    """
    text = clean(raw)[:MAX_CHARS]
    text = _final_channel(text)
    text = _without_thinking(text)
    text = _SPECIAL.sub(" ", text)
    return _INLINE_FENCE.sub(" ", _FENCE.sub("", text)).strip()


def is_unfinished_thinking(raw: object) -> bool:
    """Tell whether a reply ended while the model was still thinking: it would have needed more tokens."""
    text = clean(raw)[:MAX_CHARS]
    marks = [_is_closing(mark) for mark in _THINK_TAG.finditer(text)]
    channels = _CHANNEL.findall(text)
    return bool(marks and not marks[-1]) or bool(channels and channels[-1] != "final")


def _final_channel(text: str) -> str:
    """Return the final part of a reply in channels (gpt-oss), the whole text of any other."""
    channels = list(_CHANNEL.finditer(text))
    if not channels:
        return text
    parts: list[str] = []
    for index, mark in enumerate(channels):
        end = channels[index + 1].start() if index + 1 < len(channels) else len(text)
        if mark.group(1).lower() == "final":
            parts.append(text[mark.end() : end])
    return "\n".join(parts)


def _without_thinking(text: str) -> str:
    kept: list[str] = []
    depth, position = 0, 0
    for mark in _THINK_TAG.finditer(text):
        if not _is_closing(mark):
            if depth == 0:
                kept.append(text[position : mark.start()])
            depth += 1
        elif depth == 0:
            kept.clear()  # the opening was part of the prompt: all of it so far was thinking
            position = mark.end()
        else:
            depth -= 1
            position = mark.end()
    if depth == 0:
        kept.append(text[position:])
    return "\n".join(part for part in kept if part.strip())


def _is_closing(mark: re.Match[str]) -> bool:
    return any(group == "/" for group in mark.groups())
