"""What the memories cost, beside the package that a user would pick instead and beside the bare engines.

    python bench.py --theirs PYTHON [--data LOCOMO.json] [--model MODEL.gguf] [--only NAME ...] [--quick]

PYTHON is the interpreter of an environment with ``ovos-memory-plugins`` 1.2.3a1; both sides run the same script in
processes of their own and are asked in turns.  Prints a table, writes it as ``bench.json`` and
``bench.md``, and draws the curves as SVG.  ``--stores``
keeps filled stores for later runs.  Exit status 1 when a target is missed, unless the run is a quick one: its sizes are
not those that the targets are about.  ``--write`` puts table and curves of a whole run into the documentation.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from corpus import Corpus
from curves import svg
from harness import Bench, Row

BENCHES = {
    "lexical-context": "lexical:context",
    "lexical-session": "lexical:session",
    "lexical-update": "lexical:update",
    "lexical-open": "lexical:opening",
    "lexical-recall": "recall:noise",
    "plain-update": "plain:update",
    "plain-slow-model": "plain:slow_model",
    "composite-waiting": "composite:waiting",
    "composite-real": "composite:real",
    "hybrid-search": "hybrid:search",
    "rag-search": "local_rag:search",
    "rag-background": "local_rag:background",
    "rag-exact": "local_rag:exact",
    "imports": "imports:plugins",
    "growth": "growth:sessions",
}
"""Where each bench is: module and function."""
SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUICK = 100
"""A quick run divides counts by this."""
DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
IMAGES = {
    "a-context-from-the-lexical-memory--median": "lexical-context-median",
    "a-context-from-the-lexical-memory--95-of-100": "lexical-context-p95",
    "recording-to-the-entity-memory": "recording-to-the-entity-memory",
    "recording-to-the-longterm-memory": "recording-to-the-longterm-memory",
}
"""Of the curves those that the page shows, and what they are called there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.write and (options.only or options.quick or options.scale or options.sizes):
        parser.error("--write takes a whole run: without --only, --quick, --scale and --sizes")
    scale = options.scale or (QUICK if options.quick else 1)
    sizes = options.sizes or ([size // scale for size in SIZES if size >= 100 * scale])
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=options.work)))
        stores = Path(options.stores) if options.stores else work / "stores"
        corpus = Corpus(options.data)
        bench = Bench(sorted(sizes), corpus, options.theirs, work, stores, scale=scale, model=options.model)
        rows: list[Row] = []
        for name in options.only or BENCHES:
            print(name, file=sys.stderr, flush=True)
            told = len(bench.notes)
            found = _function(name)(bench)
            rows += found
            print(table(found), flush=True)
            for note in bench.notes[told:]:
                print(f"  {note}", flush=True)
    _write(out, rows, bench)
    if options.write:
        write_page(PAGE, rows, bench.notes)
        for drawn, shown in IMAGES.items():
            shutil.copy(out / f"{drawn}.svg", DOCS / "images" / f"{shown}.svg")
    missed = [row for row in rows if not row.is_met]
    print(
        f"\n{len(rows) - len(missed)} of {len(rows)} targets met",
        *(f"  missed: {row.name}" for row in missed),
        sep="\n",
    )
    return 1 if missed and scale == 1 else 0


def table(rows: Sequence[Row]) -> str:
    """Return rows as lines of text."""
    return "\n".join(_line(row) for row in rows)


def _line(row: Row) -> str:
    verdict = "met   " if row.is_met else "MISSED"
    figures = f"{_figure(row.ours):>9} : {_figure(row.theirs):<9} {row.unit:<6}"
    return f"{verdict} {row.name:<78} {figures} {_value(row):>12}   target {row.target}"


def markdown(rows: Sequence[Row]) -> str:
    """Return rows as a table for a page."""
    lines = ["| work | ours | beside | measured | target |", "|---|---|---|---|---|"]
    for row in rows:
        beside = "" if row.theirs is None else f"{_figure(row.theirs)} {row.unit}"
        measured = _value(row) if row.is_met else f"**{_value(row)}**, missed"
        lines.append(
            f"| {row.name} | {_figure(row.ours)} {row.unit} | {beside} | {measured} | {row.target} |"
        )
    return "\n".join(lines) + "\n"


def write_page(page: Path, rows: Sequence[Row], notes: Sequence[str]) -> None:
    """Put what was measured between the marks of a page.

    Raises:
        ValueError: The page has no marks.
    """
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for the table: {BEGIN} … {END}")
    missed = sum(not row.is_met for row in rows)
    told = (
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, Python {platform.python_version()}, {platform.machine()},"
        f" {os.cpu_count()} processors; {len(rows) - missed} of {len(rows)} targets met."
    )
    listed = "\n".join(f"* {note}" for note in notes)
    table = markdown(rows)
    page.write_text(f"{before}{begin}\n{told}\n\n{table}\n{listed}\n{end}{after}", encoding="utf-8")


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f}" if value < 100 else f"{value:,.1f}"


def _value(row: Row) -> str:
    if row.value == row.ours or row.unit == "%":
        return f"{row.value:.2f} {row.unit}"
    return f"1 : {1 / row.value:.2f}" if 0 < row.value < 1 else f"{row.value:.2f} x"


def _function(name: str) -> Callable[[Bench], list[Row]]:
    module, _, function = BENCHES[name].partition(":")
    found: Callable[[Bench], list[Row]] = getattr(import_module(module), function)
    return found


def _write(out: Path, rows: Sequence[Row], bench: Bench) -> None:
    told = {
        "machine": {
            "processor": platform.machine(),
            "system": platform.system(),
            "python": platform.python_version(),
        },
        "text": "LoCoMo" if bench.corpus.path else "made up, words by Zipf's law",
        "scale": bench.scale,
        "notes": bench.notes,
        "rows": [{**asdict(row), "is_met": row.is_met} for row in rows],
        "curves": bench.curves,
    }
    (out / "bench.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    (out / "bench.md").write_text(markdown(rows), encoding="utf-8")
    for title, lines in bench.curves.items():
        stem = "".join(letter if letter.isalnum() else "-" for letter in title.lower())
        label = "sessions stored" if title.startswith("Recording") else "exchanges stored"
        drawing = svg(title, lines, x_label=label)
        (out / f"{stem}.svg").write_text(drawing, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--theirs", help="interpreter of the other package's environment; without: only ours")
    parser.add_argument("--data", help="a LoCoMo file; without: made-up text")
    parser.add_argument("--model", help="a GGUF embeddings model, for what needs one")
    parser.add_argument("--only", nargs="+", choices=list(BENCHES), metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--sizes", nargs="+", type=int, help="of the lexical stores")
    parser.add_argument("--quick", action="store_true", help="a hundredth of everything")
    parser.add_argument("--scale", type=int, help="divide every count by this")
    parser.add_argument("--stores", help="folder that keeps filled stores for later runs")
    parser.add_argument("--work", help="folder on the disk that is measured; default: the temporary one")
    parser.add_argument(
        "--write", action="store_true", help=f"write the results of a whole run into {PAGE.name}"
    )
    parser.add_argument("--out", default="bench-results", help="folder for bench.json and the curves")
    return parser


if __name__ == "__main__":
    sys.exit(main())
