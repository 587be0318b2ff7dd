"""The question to the model and what its answer changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ovos_memory.core.llm.scan import find_values
from ovos_memory.core.text import fill, truncate
from ovos_memory.core.types import Document
from ovos_memory.entity.facts import KINDS, Fact
from ovos_memory.entity.tokens import content, is_among, word_set

DEFAULT_PROMPT = """You keep the list of lasting facts about the user of a voice assistant.

Known facts, each with its number:
{facts}

New conversation. Only the lines that begin with USER are the user's own words:
{exchange}

Which facts did the USER state about themselves that will still matter in a month? Name, home, family, pets,
health, diet, work, likes and dislikes, fixed dates. Leave out questions, commands, small talk and what only
the assistant said. Write each fact short, in the user's language and with the user's own words, names and
numbers.

Answer with JSON only, in this form:
{"add": [{"fact": "...", "kind": "..."}], "replace": [{"old": 0, "fact": "...", "kind": "..."}], \
"remove": [0]}
"add": facts that are new. "replace": facts that take the place of a known fact, with its number as "old". \
"remove": numbers of known facts that the user took back. "kind": one of name, address, health, family, work,
preference, other. Nothing new: {"add": [], "replace": [], "remove": []}"""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "add": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"fact": {"type": "string"}, "kind": {"type": "string", "enum": list(KINDS)}},
                "required": ["fact", "kind"],
                "additionalProperties": False,
            },
        },
        "replace": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "old": {"type": "integer"},
                    "fact": {"type": "string"},
                    "kind": {"type": "string", "enum": list(KINDS)},
                },
                "required": ["old", "fact", "kind"],
                "additionalProperties": False,
            },
        },
        "remove": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["add", "replace", "remove"],
    "additionalProperties": False,
}

MAX_QUESTION_CHARS = 1_500
MAX_ANSWER_CHARS = 300
MAX_KNOWN_CHARS = 3_000
MAX_PROPOSALS = 200
"""Facts of one answer that are looked at."""

_FACT_KEYS = ("fact", "text", "new", "value", "content", "statement")
_QUOTE_KEYS = ("said", "quote", "evidence", "source")
_OLD_KEYS = ("old", "id", "number", "replaces", "index")
_ADD_KEYS = ("add", "added", "additions", "facts", "new_facts", "new", "user_facts", "result", "items")
_REPLACE_KEYS = ("replace", "replaced", "replacements", "update", "updates", "changed")
_REMOVE_KEYS = ("remove", "removed", "removals", "delete", "deleted")


@dataclass(frozen=True)
class Proposal:
    """A fact as the model proposes it, not checked yet.

    Attributes:
        text: The fact.
        kind: What the model says it is about; ``""``: nothing.
        quote: The user's words that the model gives as evidence; ``""``: none.
        replaces: Number or text of the known fact that it takes the place of; ``None``: none.
    """

    text: str
    kind: str = ""
    quote: str = ""
    replaces: int | str | None = None


@dataclass
class Proposals:
    """What an answer says.

    Attributes:
        facts: New facts and replacements, in order.
        removals: Numbers or texts of known facts that are said to be no longer true.
        is_usable: The answer held a list or an object at all.
        is_cut: It ended before its last list did; what was complete is here.
    """

    facts: list[Proposal] = field(default_factory=list)
    removals: list[int | str] = field(default_factory=list)
    is_usable: bool = False
    is_cut: bool = False


def make_prompt(template: str, documents: Sequence[Document], known: Sequence[Fact]) -> str:
    """Return the question about some exchanges; its length is bounded whatever was said.

    A template without ``{exchange}`` gets the exchanges appended.
    """
    exchange = "\n".join(_lines(documents))
    if "{exchange}" not in template:
        template += "\n\n{exchange}"
    return fill(template, exchange=exchange, facts=_known_lines(known, exchange))


def read_answer(text: str) -> Proposals:
    """Return what an answer says, whatever its form; it never raises.

    Understood are our own form, ``{"facts": […]}``, a plain array of texts or objects, one level of nesting,
    and several of them behind each other.
    """
    result = Proposals()
    for found in find_values(text):
        result.is_usable = True
        result.is_cut = result.is_cut or found.is_cut
        _collect(found.value, result)
    result.facts = result.facts[:MAX_PROPOSALS]
    return result


def _lines(documents: Sequence[Document]) -> Iterator[str]:
    for document in documents:
        said = document.question if document.text is None else document.text
        if said.strip():
            yield f"USER: {truncate(_one_line(said), MAX_QUESTION_CHARS)}"
        if document.answer.strip():
            yield f"ASSISTANT: {truncate(_one_line(document.answer), MAX_ANSWER_CHARS)}"


def _known_lines(known: Sequence[Fact], exchange: str) -> str:
    """Return the known facts, one per line; of too many those that the exchange touches, and the newest."""
    spoken = word_set(exchange)
    by_use = sorted(
        known, key=lambda f: (any(is_among(t, spoken) for t in content(f.text)), f.confirmed_at), reverse=True
    )
    chosen: list[Fact] = []
    left = MAX_KNOWN_CHARS
    for fact in by_use:
        left -= len(fact.text) + 8
        if left < 0:
            break
        chosen.append(fact)
    lines = [f"{fact.id}. {fact.text}" for fact in sorted(chosen, key=lambda f: f.id)]
    return "\n".join(lines) or "(none)"


def _collect(value: Any, result: Proposals) -> None:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, list):
                _collect_facts(item, result)
            elif isinstance(item, dict) and not _text_of(item, _FACT_KEYS):
                _collect(item, result)
            else:
                _collect_facts([item], result)
    elif isinstance(value, dict):
        if _text_of(value, _FACT_KEYS):
            _collect_facts([value], result)
            return
        for key, part in value.items():
            name = key.lower().strip()
            if name in _REMOVE_KEYS:
                meant = (_reference(item) for item in _as_list(part))
                result.removals += [reference for reference in meant if reference is not None]
            elif name in _REPLACE_KEYS or name in _ADD_KEYS:
                _collect_facts(_as_list(part), result)


def _collect_facts(items: list[Any], result: Proposals) -> None:
    for item in items:
        if isinstance(item, str):
            if item.strip():
                result.facts.append(Proposal(item.strip()))
        elif isinstance(item, dict):
            text = _text_of(item, _FACT_KEYS)
            if text:
                old = next((item[key] for key in _OLD_KEYS if key in item), None)
                result.facts.append(
                    Proposal(
                        text,
                        _text_of(item, ("kind", "type", "category")),
                        _text_of(item, _QUOTE_KEYS),
                        _reference(old),
                    )
                )
        elif isinstance(item, list):
            result.facts += [
                Proposal(text.strip()) for text in item if isinstance(text, str) and text.strip()
            ]


def _reference(value: Any) -> int | str | None:
    """Return the number or the text that a known fact is meant by."""
    if isinstance(value, dict):
        value = next((value[key] for key in (*_OLD_KEYS, *_FACT_KEYS) if key in value), None)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    text = str(value).strip().lstrip("#").rstrip(".")
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    return text or None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text_of(item: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next(
        (item[key].strip() for key in keys if isinstance(item.get(key), str) and item[key].strip()), ""
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
