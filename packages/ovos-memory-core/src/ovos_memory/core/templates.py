"""Settings that are templates: which placeholders they have, and what else is written like one.

How a template is filled is :func:`ovos_memory.core.text.fill`'s: what it does not know stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pydantic import BaseModel

_LIKE_ONE = re.compile(r"\{\{\w+\}\}|\{([^\W\d]\w*)\}")
"""``{name}``; JSON and ``{}`` are plain text, and so is ``{{name}}``, as many template languages write braces."""


class Placeholders:
    """Says of a setting that it is a template: ``Annotated[str, Placeholders("exchange", "facts")]``.

    Args:
        names: The documented placeholders, without braces.
        aliases: Others that are filled too.
    """

    def __init__(self, *names: str, aliases: Iterable[str] = ()) -> None:
        self.names = names
        self._known = frozenset((*names, *aliases))

    def unknown(self, template: str) -> list[str]:
        """Return what is written like a placeholder and is none, each once, without braces."""
        found = dict.fromkeys(match[1] for match in _LIKE_ONE.finditer(template))
        return [name for name in found if name is not None and name not in self._known]


def unknown_placeholders(settings: BaseModel) -> list[tuple[str, str, str]]:
    """Return the templates with placeholders that nobody fills: key path, those placeholders, the known ones."""
    found = []
    for prefix, section in sections(settings):
        for name, field in type(section).model_fields.items():
            for allowed in field.metadata:
                if isinstance(allowed, Placeholders):
                    unknown = allowed.unknown(getattr(section, name) or "")
                    if unknown:
                        found.append((prefix + name, _in_braces(unknown), _in_braces(allowed.names)))
    return found


def sections(settings: BaseModel, prefix: str = "") -> Iterator[tuple[str, BaseModel]]:
    """Yield settings and all that are parts of them, each with what stands in front of its keys."""
    yield prefix, settings
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        parts = value if isinstance(value, (list, tuple)) else [value]
        for position, part in enumerate(parts):
            if isinstance(part, BaseModel):
                where = f"{prefix}{name}[{position}]" if part is not value else f"{prefix}{name}"
                yield from sections(part, f"{where}.")


def _in_braces(names: Iterable[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)
