"""What is measured: each retriever alone, as it comes, and the composites of the example personas."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import quality_score
from ovos_plugin_manager.agents import load_memory_plugin
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole
from quality_data import FORMS, Conversation

EXAMPLES = Path(__file__).parents[1] / "examples"
LEXICAL, DENSE, COMPOSITE = (f"ovos-memory-plugin-{name}" for name in ("lexical", "local-rag", "composite"))
_NIGHT_S = 86_400.0
"""Questions are asked a day after the last exchange."""
_PATIENCE_S = 120.0
"""How long a call waits for a model here: how fast the machine is has no part in the quality."""


@dataclass(frozen=True, slots=True)
class System:
    """A memory with its settings; ``{folder}`` in them stands for a fresh folder."""

    name: str
    module: str
    block: Mapping[str, Any]


def systems(embeddings_plugin: str, embeddings_config: Mapping[str, Any]) -> list[System]:
    """Return what is measured.

    Args:
        embeddings_plugin: Embeds for every local-rag, in place of what the examples name.
        embeddings_config: Its settings.
    """
    embedding = {"embeddings_plugin": embeddings_plugin, "embeddings_config": dict(embeddings_config)}
    rrf = {"members": [{"module": LEXICAL}, {"module": DENSE}]}
    hybrid = json.loads((EXAMPLES / "persona_hybrid.json").read_text(encoding="utf-8"))[COMPOSITE]
    chosen = [("lexical", LEXICAL, {}), ("local-rag", DENSE, {})]
    chosen += [
        (
            f"{member['module'].removeprefix('ovos-memory-plugin-')} of persona_hybrid",
            member["module"],
            member["config"],
        )
        for member in hybrid["members"]
        if member["module"] in (LEXICAL, DENSE)
    ]
    chosen += [("composite, rrf", COMPOSITE, rrf), ("composite, persona_hybrid", COMPOSITE, hybrid)]
    return [System(name, module, _placed(module, block, embedding)) for name, module, block in chosen]


def _placed(module: str, block: Mapping[str, Any], embedding: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block whose stores are in the fresh folder and whose embedder is the one that is measured with."""
    if module == COMPOSITE:
        members = [
            {**member, "config": _placed(member["module"], member.get("config", {}), embedding)}
            for member in block["members"]
        ]
        return {**block, "members": members, "member_timeout_s": _PATIENCE_S}
    placed = {**block, "db_path": f"{{folder}}/{module}.db"}
    if module == DENSE:
        # Exact search over the ledger's vectors: what a store finds is the store's quality.
        placed |= {**embedding, "embeddings_db_plugin": None, "embeddings_db_config": {}, "preload": False}
        placed["timeout_s"] = _PATIENCE_S
    return placed


def measure(
    system: System, conversations: Sequence[Conversation], told: Callable[[str], None] = lambda text: None
) -> dict[str, quality_score.Scores]:
    """Return a system's recall by form and question.

    Every conversation goes into a fresh memory, one exchange at a time, at the time it was held.
    """
    scores: dict[str, quality_score.Scores] = {form: {} for form in FORMS}
    for conversation in conversations:
        with tempfile.TemporaryDirectory() as folder:
            now = [0.0]
            memory = _built(system, folder, lambda now=now: now[0])  # type: ignore[misc]
            for exchange in conversation.exchanges:
                now[0] = exchange.when
                messages = [
                    AgentMessage(MessageRole.USER, exchange.question),
                    AgentMessage(MessageRole.ASSISTANT, exchange.answer),
                ]
                memory.update_history(messages, conversation.name)
            now[0] += _NIGHT_S
            turns = quality_score.Turns(conversation.turns)
            for question in conversation.questions:
                for form, text in question.forms.items():
                    hits = memory.search(text, session_id=conversation.name, top_k=max(quality_score.DEPTHS))
                    found = quality_score.recall([hit.content for hit in hits], question.evidence, turns)
                    scores[form][question.id] = found
            health = memory.health()
            memory.close()
        failed = _failures(health)
        if failed:
            raise RuntimeError(f"{system.name} on {conversation.name}: {json.dumps(failed)}")
        told(f"{system.name}: {conversation.name}")
    return scores


def _built(system: System, folder: str, clock: Callable[[], float]) -> Any:
    found = load_memory_plugin(system.module)
    if found is None:
        raise RuntimeError(f"{system.module} is not installed")
    return found(json.loads(json.dumps(system.block).replace("{folder}", folder)), clock=clock)


def _failures(health: Mapping[str, Any]) -> dict[str, Any]:
    """Return what went wrong, of a memory and of its members: a figure without a member is no figure."""
    failed = {name: each for name, each in health.get("operations", {}).items() if each.get("failures")}
    for name, member in health.get("members", {}).items():
        if member["state"] != "ready":
            failed[name] = member
        failed |= {f"{name}: {key}": value for key, value in _failures(member.get("health", {})).items()}
        failed |= {f"{name}: {key}": value for key, value in _failures(member).items()}
    return failed
