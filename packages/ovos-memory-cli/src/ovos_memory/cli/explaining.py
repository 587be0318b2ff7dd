"""``explain``: why a memory would recall this and not that."""

from __future__ import annotations

from typing import Any

import click

from ovos_memory.cli.chatting import show_messages
from ovos_memory.cli.options import caller_option, json_option, memory_option
from ovos_memory.cli.output import Output, cell, one_line
from ovos_memory.cli.target import Target


@click.command()
@click.argument("query")
@memory_option
@caller_option
@json_option
def explain(target: Target, query: str, session: str | None, is_json: bool) -> None:
    """Show what each member finds, why hits are dropped, and what the engine gets."""
    out = Output(is_json=is_json)
    memory = target.open()
    told: dict[str, Any] = {"query": query, "lists": [], "fused": []}
    if callable(getattr(memory, "explain", None)):
        told = memory.explain(query, session)
    messages = memory.build_conversation_context(query, session)
    if is_json:
        from ovos_memory.core.exchanges import message_as_dict

        out.json({**told, "messages": [message_as_dict(message) for message in messages]})
        return
    out.line(f"searched for: {told['query']}")
    for found in told["lists"]:
        if not found["hits"]:
            out.line(f"{cell(found['member'])}: {cell(found['error'] or 'nothing found')}")
            continue
        columns = ("rank", "score", "source", "text", "dropped")
        out.table(columns, [_row(hit, hit["dropped"]) for hit in found["hits"]], title=cell(found["member"]))
    if not told["lists"]:
        out.line("this memory recalls nothing by query")
    if len(told["lists"]) > 1 and told["fused"]:
        rows = [(*_row(hit, _origin(hit)), hit["dropped"] or "") for hit in told["fused"]]
        out.table(("rank", "score", "source", "text", "from", "dropped"), rows, title="fused")
    out.line("the messages for the engine:", style="bold")
    show_messages(out, messages)


def _row(hit: dict[str, Any], last: str | None) -> tuple[object, ...]:
    return hit["rank"], f"{hit['score']:.4g}", hit["source"], one_line(hit["content"], 70), last or ""


def _origin(hit: dict[str, Any]) -> str:
    return ", ".join(f"{name} #{facts['rank']}" for name, facts in hit.get("retrievers", {}).items())
