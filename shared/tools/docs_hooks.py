"""What MkDocs does to a page of `shared/docs` before it is rendered: tables of keys come from the settings models.

A page says ``<!-- keys: ovos_memory.lexical.settings:LexicalSettings -->`` and gets the table of that model.
"""

from __future__ import annotations

import importlib
import json
import re
import typing
from collections.abc import Iterator
from typing import Any

MARK = re.compile(r"^<!-- keys: ([\w.]+):(\w+) -->$", re.MULTILINE)
LONGEST_DEFAULT = 40
"""Characters of a default that still fit into a table; longer ones are cut, and stand in the JSON Schema in full."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with its tables filled in.

    Raises:
        ImportError, AttributeError: A mark names no model.
    """
    return MARK.sub(lambda found: key_table(found[1], found[2]), markdown)


def key_table(module: str, name: str) -> str:
    """Return the Markdown table of a settings model: key, default, what it does."""
    model = getattr(importlib.import_module(module), name)
    rows = (f"| `{key}` | {default} | {text} |" for key, default, text in _rows(model))
    return "\n".join(["| key | default | what it does |", "|---|---|---|", *rows])


def _rows(model: Any, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    below = []
    for key, field in model.model_fields.items():
        if hasattr(field.annotation, "model_fields"):
            below.append((key, field.annotation))
            continue
        if not field.description:
            raise AttributeError(f"{model.__name__}.{key} has no description")
        yield f"{prefix}{key}", _default(field), field.description.replace("|", "\\|")
    for key, part in below:
        yield from _rows(part, f"{prefix}{key}.")


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = typing.cast("Any", field.get_default(call_default_factory=True))
    shown = json.dumps(value, ensure_ascii=False).replace("|", "\\|")
    if isinstance(value, str) and len(value) > LONGEST_DEFAULT:
        shown = f"{shown[:LONGEST_DEFAULT].rstrip()}…"
    return f"`{shown}`"
