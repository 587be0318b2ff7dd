"""Recorded conversations with questions about them, and the sentences that hold the answers.

The data stays outside of the repository: a file in the form of LoCoMo (Maharana et al., "Evaluating Very Long-Term
Conversational Memory of LLM Agents", ACL 2024) is a JSON list of conversations, each with ``conversation`` (two
speakers, ``session_1`` … with their turns and dates) and ``qa`` (questions with the ids of the turns that answer).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

FORMS = ("raw", "first-person")
Form = Literal["raw", "first-person"]
UNANSWERABLE = 5
"""Category of the questions that no turn answers."""
_REPLY = "Okay."
_TURN_S = 20.0


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a user said, what was answered, and when (epoch seconds)."""

    question: str
    answer: str
    when: float


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        id: Unique within the file.
        forms: Its wordings: ``raw`` names the people, ``first-person`` is what the first speaker would ask.
        evidence: Ids of the turns that answer it, at least one.
    """

    id: str
    forms: Mapping[str, str]
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation, in order, with the text of every turn by its id."""

    name: str
    exchanges: Sequence[Exchange]
    turns: Mapping[str, str]
    questions: Sequence[Question]


def read_conversations(path: Path) -> list[Conversation]:
    """Return the conversations of a file in the form of LoCoMo.

    Raises:
        ValueError: The file has another form.
    """
    try:
        found = [_conversation(row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no file of conversations in the form of LoCoMo ({error!r})") from error
    if not found:
        raise ValueError(f"{path} is no file of conversations in the form of LoCoMo: it is empty")
    return found


def _conversation(row: Mapping[str, Any]) -> Conversation:
    talk = row["conversation"]
    me, other = talk["speaker_a"], talk["speaker_b"]
    turns: dict[str, str] = {}
    exchanges: list[Exchange] = []
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key) and talk[key])
    for number in numbers:
        when = _epoch(talk[f"session_{number}_date_time"])
        asked: str | None = None
        for place, turn in enumerate(talk[f"session_{number}"]):
            text = turns[turn["dia_id"]] = _text(turn)
            moment = when + _TURN_S * place
            if turn["speaker"] != me:
                exchanges.append(Exchange(asked or "", text, moment))
                asked = None
                continue
            if asked is not None:
                exchanges.append(Exchange(asked, _REPLY, moment))
            asked = text
        if asked is not None:
            exchanges.append(Exchange(asked, _REPLY, when + _TURN_S * len(talk[f"session_{number}"])))
    questions = [
        Question(
            f"{row['sample_id']}/{number}",
            {"raw": qa["question"], "first-person": first_person(qa["question"], me, other)},
            evidence,
        )
        for number, qa in enumerate(row["qa"])
        if qa["category"] != UNANSWERABLE and (evidence := _evidence(qa.get("evidence", []), turns))
    ]
    return Conversation(row["sample_id"], exchanges, turns, questions)


def first_person(question: str, me: str, other: str) -> str:
    """Return a question about two people as the first of them asks the second: names become I, my, you and your."""

    def said(found: re.Match[str]) -> str:
        is_me, is_owner = found[1].lower() == me.lower(), bool(found[2])
        return ("my" if is_owner else "I") if is_me else ("your" if is_owner else "you")

    names = rf"{re.escape(me)}|{re.escape(other)}"
    return re.sub(rf"\b({names})('s?)?(?=\W|$)", said, question, flags=re.IGNORECASE)


def _text(turn: Mapping[str, Any]) -> str:
    """Return what was said, with the caption of a picture that was shown."""
    text, caption = " ".join(turn["text"].split()), " ".join((turn.get("blip_caption") or "").split())
    return f"{text} [shares {caption}]" if caption else text


def _evidence(raw: Sequence[str], turns: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of turns, some of which are written oddly (``D8:6; D9:17``, ``D30:05``)."""
    found = re.findall(r"D:?(\d+):(\d+)", " ".join(raw))
    return frozenset(f"D{int(session)}:{int(turn)}" for session, turn in found) & turns.keys()


def _epoch(date: str) -> float:
    moment = datetime.strptime(date.strip(), "%I:%M %p on %d %B, %Y")
    return moment.replace(tzinfo=timezone.utc).timestamp()
