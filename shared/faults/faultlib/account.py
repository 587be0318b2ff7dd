"""The account of a run: what was injected, what was survived, what was lost, what reached a caller."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


@dataclass
class Line:
    """One kind of attack.

    Attributes:
        injected: Faults that happened.
        survived: Those after which everything that was checked held.
        accepted: Exchanges that ``update_history`` returned for.
        lost: Those of them that were missing, twice there, or out of order afterwards.
        tried: Bad inputs given to a public method.
        escaped: Exceptions that reached the caller and are not in the contract.
    """

    injected: int = 0
    survived: int = 0
    accepted: int = 0
    lost: int = 0
    tried: int = 0
    escaped: int = 0


@dataclass
class Account:
    """Counts by kind of attack."""

    lines: dict[str, Line] = field(default_factory=dict)

    def line(self, kind: str) -> Line:
        """Return the counts of a kind."""
        return self.lines.setdefault(kind, Line())

    @contextlib.contextmanager
    def fault(self, kind: str, count: int = 1) -> Iterator[None]:
        """Count faults whose checks are inside."""
        self.line(kind).injected += count
        yield
        self.line(kind).survived += count

    def kept(
        self,
        kind: str,
        accepted: Sequence[Any],
        found: Sequence[Any],
        *,
        new: int | None = None,
        where: str = "",
    ) -> None:
        """Assert that what was accepted is there once and in order; more may be there, where it was cut off.

        Args:
            kind: The kind of attack.
            accepted: What the memory returned for, in order.
            found: What is there.
            new: How many of the accepted were not counted before; ``None``: all.
            where: Which store, for the message.
        """
        line, wanted = self.line(kind), set(accepted)
        there = [each for each in found if each in wanted]
        line.accepted += len(accepted) if new is None else new
        line.lost += len(wanted - set(there)) + len(there) - len(set(there))
        assert there == list(accepted), f"{where}: {_difference(accepted, there)}"
        assert len(set(found)) == len(found), f"more than once: {sorted(found)}"

    @contextlib.contextmanager
    def bad_input(self, kind: str) -> Iterator[None]:
        """Count a call with bad input; what it raises goes on, and is counted."""
        self.line(kind).tried += 1
        try:
            yield
        except Exception:
            self.line(kind).escaped += 1
            raise

    # ------------------------------------------------------------------ between processes, and to the page
    def as_dict(self) -> dict[str, dict[str, int]]:
        """Return JSON values, sorted by kind."""
        return {kind: asdict(line) for kind, line in sorted(self.lines.items())}

    def add(self, other: Mapping[str, Mapping[str, int]]) -> None:
        """Take another process's account in."""
        for kind, counts in other.items():
            line = self.line(kind)
            for name, count in counts.items():
                setattr(line, name, getattr(line, name) + count)

    def total(self) -> Line:
        """Return the sums."""
        sums = Line()
        for line in self.lines.values():
            for name, count in asdict(line).items():
                setattr(sums, name, getattr(sums, name) + count)
        return sums

    def as_markdown(self) -> str:
        """Return the tables of the page."""
        attacks = [
            (kind, line.injected, line.survived, line.accepted, line.lost)
            for kind, line in sorted(self.lines.items())
            if line.injected or line.accepted
        ]
        inputs = [(k, line.tried, line.escaped) for k, line in sorted(self.lines.items()) if line.tried]
        total = self.total()
        attacks.append(("**all**", total.injected, total.survived, total.accepted, total.lost))
        inputs.append(("**all**", total.tried, total.escaped))
        return "\n\n".join(
            [
                _table(("fault", "injected", "survived", "exchanges accepted", "exchanges lost"), attacks),
                _table(("bad input", "tried", "exceptions that reached a caller"), inputs),
            ]
        )


def _difference(accepted: Sequence[Any], there: Sequence[Any]) -> str:
    missing = [each for each in accepted if each not in set(there)]
    return f"accepted {len(accepted)}; missing: {missing[:20]}; found (in this order): {list(there)[:60]}"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    written = [
        [f"{cell:,}".replace(",", " ") if isinstance(cell, int) else str(cell) for cell in row]
        for row in rows
    ]
    rule = ["---", *(["---:"] * (len(head) - 1))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(head), rule, *written])


def write(account: Account, page: Path, facts: Mapping[str, Any]) -> None:
    """Put an account between the marks of a page, and beside it as JSON.

    Raises:
        ValueError: The page has no marks.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for the table: {BEGIN} … {END}")
    told = "\n".join(f"* {name}: {value}" for name, value in facts.items())
    page.write_text(f"{before}{BEGIN}\n{told}\n\n{account.as_markdown()}\n{END}{after}", encoding="utf-8")
    told_json = {**facts, "faults": account.as_dict(), "all": asdict(account.total())}
    page.with_suffix(".json").write_text(json.dumps(told_json, indent=2) + "\n", encoding="utf-8")
