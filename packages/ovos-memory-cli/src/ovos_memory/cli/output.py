"""What the command prints: tables for people, JSON for programs; stored text never drives the terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import IO, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Control characters (escape sequences begin with one), marks that turn the writing direction, half surrogates."""
_PIPE_WIDTH = 160


def safe(text: object, max_chars: int | None = None) -> str:
    r"""Return text that a terminal shows and does not obey: ``\\x1b`` is written out."""
    shown = _UNSAFE.sub(lambda found: _escaped(found[0]), str(text).replace("\r\n", "\n"))
    if max_chars is not None and len(shown) > max_chars:
        return f"{shown[: max_chars - 1]}…"
    return shown


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def cell(text: object) -> str:
    r"""Return text for a place that is one line: a line break is written out (``\\n``), so that it cannot fake a row."""
    return safe(text).replace("\n", "\\n").replace("\t", " ")


def one_line(text: object, max_chars: int = 100) -> str:
    """Return the beginning of a text on one line."""
    return safe(" ".join(str(text).split()), max_chars)


def size(count: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"


def moment(seconds: float | None) -> str:
    """Return a time for people, UTC."""
    if seconds is None:
        return "-"
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return str(seconds)


class Output:
    """Where results go.  Everything else that writes to stdout (logs, native libraries) is sent to stderr.

    Args:
        is_json: Print one JSON value instead of tables.
    """

    def __init__(self, *, is_json: bool) -> None:
        self.is_json = is_json
        self._file = _own_stdout()
        is_terminal = self._file.isatty()
        self.console = Console(
            file=self._file,
            markup=False,
            highlight=False,
            emoji=False,
            soft_wrap=not is_terminal,
            width=None if is_terminal else _PIPE_WIDTH,
        )

    def json(self, value: Any) -> None:
        """Print a JSON value, in ASCII."""
        self._file.write(json.dumps(value, indent=2, default=str) + "\n")
        self._file.flush()

    def line(self, text: object = "", style: str = "") -> None:
        """Print a line of text."""
        self.console.print(Text(safe(text), style=style))
        self._file.flush()

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
        """Print a table."""
        table = Table(title=Text(safe(title)) if title else None, header_style="bold", title_justify="left")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell(value)) for value in row))
        self.console.print(table)
        self._file.flush()

    def facts(self, facts: Mapping[str, object], indent: str = "") -> None:
        """Print names and values, nested ones indented."""
        for name, value in facts.items():
            if isinstance(value, Mapping) and value:
                self.line(f"{indent}{cell(name)}:")
                self.facts(value, f"{indent}  ")
                continue
            shown = moment(value) if str(name).endswith("_at") and isinstance(value, (int, float)) else value
            is_nothing = shown is None or shown == {}
            self.line(f"{indent}{cell(name)}: {'-' if is_nothing else cell(shown)}")


def _own_stdout() -> IO[str]:
    """Return the real stdout, and let file descriptor 1 lead to stderr from now on."""
    sys.stdout.flush()
    own = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    return own
