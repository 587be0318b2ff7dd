"""Every backend on every kind of store, made by name, so that another process can make the same one."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ovos_memory.composite import CompositeMemory
from ovos_memory.entity import EntityMemory
from ovos_memory.lexical import LexicalMemory
from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.longterm import LongTermMemory
from ovos_memory.recency import RecencyMemory
from ovos_memory.short_term import BasicShortTermMemory
from ovos_memory.testing.fakes.chat import RestingChat
from ovos_memory.testing.fakes.embedder import FakeEmbedder
from ovos_memory.testing.fakes.store import FakeStore

NUMBER = re.compile(r"question (\d+)")
NOTHING_IN_COMMON = 0.001
"""A text without a word of the query is no hit to the tests; to vectors alone everything is one, far away."""
_RESTING = RestingChat()
"""One for all: memories share a worker when their model is the same."""


def _light(config: Mapping[str, Any], **seams: Any) -> LocalRAGMemory:
    return LocalRAGMemory(config, **{"embedder": FakeEmbedder(), **seams})


def _stored(config: Mapping[str, Any], **seams: Any) -> LocalRAGMemory:
    parts = {"embedder": FakeEmbedder(), "embeddings_db": FakeStore({"path": config["db_path"]})}
    return LocalRAGMemory(config, **{**parts, **seams})


def _entity(config: Mapping[str, Any], **seams: Any) -> EntityMemory:
    return EntityMemory(config, **{"chat": _RESTING, **seams})


def _longterm(config: Mapping[str, Any], **seams: Any) -> LongTermMemory:
    return LongTermMemory(config, **{"chat": _RESTING, **seams})


_MEMBERS: dict[str, Callable[..., Any]] = {
    "recency": RecencyMemory,
    "lexical": LexicalMemory,
    "rag": _light,
    "entity": _entity,
    "longterm": _longterm,
}


def _composite(config: Mapping[str, Any], **seams: Any) -> CompositeMemory:
    """Return a composite whose members are made as the kinds are."""
    with patch("ovos_memory.composite.members.load_memory_plugin", _MEMBERS.get):
        return CompositeMemory(config, **seams)


def _members(folder: Path) -> dict[str, Any]:
    vectors = {"embeddings_db_plugin": None, "retrieval": {"min_score": NOTHING_IN_COMMON}}
    settings: dict[str, dict[str, Any]] = {
        "recency": {"max_history": 0, "db_path": str(folder / "recency.json")},
        "lexical": {"max_history": 0, "db_path": str(folder / "lexical.db")},
        "rag": {"max_history": 0, "db_path": str(folder / "rag.db"), **vectors},
        "entity": {"db_path": str(folder / "entity.json")},
        "longterm": {"db_path": str(folder / "longterm.db")},
    }
    return {"members": [{"module": name, "config": config} for name, config in settings.items()]}


@dataclass(frozen=True)
class Kind:
    """A backend on one kind of store.

    Attributes:
        factory: Makes it from settings; seams as keyword arguments.
        settings: The settings for a folder.
        is_persistent: Whether it keeps files.
        keeps_history: Whether ``get_history`` returns what was said.
        retrieves: Whether it has ``search``, ``scope`` and ``inject_mode``.
    """

    factory: Callable[..., Any]
    settings: Callable[[Path], dict[str, Any]]
    is_persistent: bool = True
    keeps_history: bool = True
    retrieves: bool = False


def _at(name: str, **more: Any) -> Callable[[Path], dict[str, Any]]:
    return lambda folder: {"db_path": str(folder / name), **more}


_ALL: dict[str, Any] = {"max_history": 0}
_VECTORS = {**_ALL, "embeddings_db_plugin": None, "retrieval": {"min_score": NOTHING_IN_COMMON}}
_STORE = {**_ALL, "retrieval": {"min_score": NOTHING_IN_COMMON}}

KINDS: dict[str, Kind] = {
    "short-term": Kind(BasicShortTermMemory, lambda folder: dict(_ALL), is_persistent=False),
    "recency-json": Kind(RecencyMemory, _at("recency.json", **_ALL)),
    "recency-sqlite": Kind(RecencyMemory, _at("recency.db", **_ALL)),
    "lexical": Kind(LexicalMemory, _at("lexical.db", **_ALL), retrieves=True),
    "local-rag": Kind(_light, _at("vectors.db", **_VECTORS), retrieves=True),
    "local-rag-store": Kind(_stored, _at("ledger.db", **_STORE), retrieves=True),
    "entity-json": Kind(_entity, _at("entity.json"), keeps_history=False),
    "entity-sqlite": Kind(_entity, _at("entity.db"), keeps_history=False),
    "longterm-json": Kind(_longterm, _at("longterm.json")),
    "longterm-sqlite": Kind(_longterm, _at("longterm.db")),
    "composite": Kind(_composite, _members, retrieves=True),
}
PERSISTENT = [name for name, kind in KINDS.items() if kind.is_persistent]
RETRIEVERS = [name for name, kind in KINDS.items() if kind.retrieves]


def make(name: str, folder: Path | str, changes: Mapping[str, Any] | None = None, **seams: Any) -> Any:
    """Return a memory of a kind that keeps its files in a folder."""
    kind = KINDS[name]
    return kind.factory({**kind.settings(Path(folder)), **(changes or {})}, **seams)


@contextlib.contextmanager
def opened(
    name: str, folder: Path | str, changes: Mapping[str, Any] | None = None, **seams: Any
) -> Iterator[Any]:
    """Return a memory for a while; it is closed afterwards."""
    memory = make(name, folder, changes, **seams)
    try:
        yield memory
    finally:
        getattr(memory, "close", lambda: None)()


def numbers(memory: Any, session_id: str = "s") -> dict[str, list[int]]:
    """Return the numbers of the ``question <n>`` exchanges of a session, in order, for each store that keeps them."""
    found: dict[str, list[int]] = {}
    for record in memory.records(session_id=session_id):
        member = record.id.partition("/")[0] if hasattr(memory, "members") else ""
        said = str(record.details.get("question") or record.text)
        number = NUMBER.search(said)
        if number and record.details.get("message", {}).get("role", "user") == "user":
            found.setdefault(member, []).append(int(number[1]))
    names = [member.name for member in getattr(memory, "members", ())] or [""]
    return {name: found.get(name, []) for name in names}


def wait_until(is_true: Callable[[], bool], *, timeout_s: float = 20.0) -> bool:
    """Wait for something that happens behind the back of a call; False when it did not."""
    deadline = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
