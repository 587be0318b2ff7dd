"""What is done to the records of every member: forgetting, correcting and taking in what says the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ovos_memory.core.errors import DocumentGone, OvosMemoryError
from ovos_memory.core.management import Management
from ovos_memory.core.management_types import Forgotten, Imported, Progress, Trace
from ovos_memory.core.record_types import Record

Managed = Sequence[tuple[str, Management]]
"""Members by name."""


def forget_everywhere(
    managed: Managed, first: Callable[[str, Management], Forgotten], leftovers: Sequence[str]
) -> Forgotten:
    """Forget in every member, and in the others what says the same or was made of it.

    Args:
        managed: The members.
        first: Forgets in one member what was asked for.
        leftovers: What is known beforehand to stay.

    Returns:
        Counts by member; ``leftovers`` names members that failed as well.
    """
    parts = {name: _tried(first, name, memory) for name, memory in managed}
    rounds = list(parts.items())
    for name, memory in managed:
        others = tuple(t for other, part in parts.items() if other != name for t in part.traces)
        if others:
            rounds.append((name, _tried(partial(_forget_related, others), name, memory)))
    counts = {name: 0 for name, _ in managed}
    for name, part in rounds:
        counts[name] += part.total
    return Forgotten(
        counts,
        tuple(trace for _, part in rounds for trace in part.traces),
        tuple(dict.fromkeys(file for _, part in rounds for file in part.files)),
        (*leftovers, *dict.fromkeys(sentence for _, part in rounds for sentence in part.leftovers)),
        tuple(dict.fromkeys(sentence for _, part in rounds for sentence in part.unproven)),
    )


def import_everywhere(
    managed: Managed, lines: Iterable[Mapping[str, Any]], progress: Progress | None
) -> Imported:
    """Hand exported records to their members; what names none goes to all that keep its kind.

    Raises:
        ValueError: A line is no record.
        StoreError: A store cannot be written.
    """
    sorted_lines: dict[str, list[dict[str, Any]]] = {name: [] for name, _ in managed}
    refused: dict[str, int] = {}
    for line in lines:
        inner = dict(line)
        member = inner.pop("member", None)
        if member is not None and member not in sorted_lines:
            refused[f"member {member}"] = refused.get(f"member {member}", 0) + 1
            continue
        for name in sorted_lines if member is None else [member]:
            sorted_lines[name].append(inner)
    parts = [memory.import_records(sorted_lines[n], progress=progress) for n, memory in managed]
    return Imported(
        {name: part.total for (name, _), part in zip(managed, parts, strict=True)},
        sum(part.known for part in parts),
        sum(part.renumbered for part in parts),
        {**refused, **_refused_by_all(parts)},
    )


def _tried(step: Callable[[str, Management], Forgotten], name: str, memory: Management) -> Forgotten:
    """Return what a member did; one that fails must not keep the others from forgetting."""
    try:
        return step(name, memory)
    except OvosMemoryError as error:
        return Forgotten({name: 0}, leftovers=(f"member '{name}': {error}",))
    except Exception as error:
        return Forgotten({name: 0}, leftovers=(f"member '{name}' failed ({type(error).__name__})",))


def _forget_related(traces: Sequence[Trace], name: str, memory: Management) -> Forgotten:
    return memory.forget_related(traces)


def edit_same(memory: Management, old: Record, texts: Mapping[str, str]) -> None:
    """Correct another member's copy of an exchange or text, and forget what it made of the old words."""
    said = {"question": ("user", "question"), "answer": ("assistant", "answer")}
    is_derived = False
    for record in list(memory.records(old.session_id)):
        is_derived |= record.kind in ("fact", "summary")
        if record.kind == old.kind and record.text == old.text:
            _corrected(memory, record, texts)
        elif record.kind == "message" and old.kind == "exchange":
            role = record.details.get("message", {}).get("role")
            for part, (speaker, key) in said.items():
                if part in texts and role == speaker and record.text == old.details.get(key):
                    _corrected(memory, record, {"text": texts[part]})
    if is_derived:
        trace = Trace(
            old.session_id,
            old.text,
            old.details.get("question"),
            old.details.get("answer"),
            created_at=old.created_at,
        )
        memory.forget_related([trace])


def _corrected(memory: Management, record: Record, texts: Mapping[str, str]) -> None:
    try:
        memory.edit(record.id, **texts)
    except (DocumentGone, ValueError):
        return  # gone meanwhile, or of another shape: nothing of the old words is left in it to correct


def _refused_by_all(parts: Sequence[Imported]) -> dict[str, int]:
    """Return the kinds that no member keeps."""
    kinds = set.intersection(*(set(part.refused) for part in parts)) if parts else set()
    return {kind: min(part.refused[kind] for part in parts) for kind in sorted(kinds)}
