"""The fenced blocks of the documentation, for the tests that run them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("packages/*/README.md"), *ROOT.glob("shared/docs/**/*.md")])
_FENCE = re.compile(r'^([ ]*)```(\w*)(?: title="([^"]+)")?[^\n]*\n(.*?)^\1```[ ]*$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, its title (``""``: none) and its text."""

    page: Path
    line: int
    language: str
    title: str
    text: str

    @property
    def place(self) -> str:
        """Return ``shared/docs/index.md:12``."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str, pages: list[Path] | None = None) -> Iterator[Block]:
    """Yield the blocks in these languages, in the order of the pages."""
    for page in PAGES if pages is None else pages:
        text = page.read_text(encoding="utf-8")
        for found in _FENCE.finditer(text):
            margin, language, title, body = found.groups()
            if language in languages:
                body = re.sub(rf"^{margin}", "", body, flags=re.MULTILINE)
                yield Block(page, text.count("\n", 0, found.start()) + 1, language, title or "", body)
