"""How much of what answers a question is recalled, per retriever and for the composites, on recorded conversations.

    python quality.py --data locomo10.json --model MODEL.gguf [--stored RESULT.json] [--out RESULT.json]

A figure is recall: of the turns that answer a question, the share within the first 5 and the first 10 hits, in per
cent.  Questions come in two forms: as written (*What did Anna paint?*), and as a user would ask (*What did I paint?*).
With a stored result each difference is printed with its 95 % interval; the exit status is 1 when one is certainly
worse.  The data is no part of the repository.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import quality_score
from quality_data import FORMS, read_conversations
from quality_systems import System, measure, systems

GGUF = "ovos-gguf-embeddings-plugin"
Result = dict[str, dict[str, quality_score.Scores]]
"""By system and form of the questions."""


def table(result: Result, stored: Result | None) -> tuple[list[str], list[str]]:
    """Return the lines of the table, and what is certainly worse than in the stored result."""
    lines = ["| system | questions | R@5 | R@10 |" + (" R@5 before | R@10 before |" if stored else "")]
    lines.append("|---|---|---|---|" + ("---|---|" if stored else ""))
    worse: list[str] = []
    for system, forms in result.items():
        for form, scores in forms.items():
            cells = [system, f"{form}, {len(scores)}"]
            cells += [f"{quality_score.mean(scores, depth):.1f}" for depth in quality_score.DEPTHS]
            before = (stored or {}).get(system, {}).get(form)
            for depth in quality_score.DEPTHS if stored else ():
                if before is None:
                    cells.append("-")
                    continue
                mean, low, high, _ = quality_score.difference(scores, before, depth)
                cells.append(f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]")
                if high < 0:
                    worse.append(f"{system}, {form}: R@{depth} {mean:+.1f} [{low:+.1f}, {high:+.1f}]")
            lines.append("| " + " | ".join(cells) + " |")
    return lines, worse


def read_result(path: Path) -> Result:
    """Return a stored result.

    Raises:
        ValueError: The file is none.
    """
    try:
        found: Result = json.loads(path.read_text(encoding="utf-8"))["scores"]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no result of this benchmark ({error!r})") from error
    return found


def write_result(path: Path, result: Result, about: Mapping[str, Any]) -> None:
    """Write a result, without a word of the data: figures to four places, one line per system and form."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{json.dumps(system)}: {{\n "
        + ",\n ".join(f"{json.dumps(form)}: {_compact(scores)}" for form, scores in forms.items())
        + "}"
        for system, forms in result.items()
    ]
    text = f'{{"about": {json.dumps(dict(about))},\n"scores": {{\n' + ",\n".join(lines) + "}}\n"
    path.write_text(text, encoding="utf-8")


def _compact(scores: quality_score.Scores) -> str:
    rounded = {name: {depth: round(each[depth], 4) for depth in each} for name, each in scores.items()}
    return json.dumps(rounded, separators=(",", ":"))


def chosen(every: Sequence[System], names: Sequence[str]) -> list[System]:
    """Return the systems with one of these words in their name; all without a word."""
    return [system for system in every if not names or any(name in system.name for name in names)]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="conversations in the form of LoCoMo")
    parser.add_argument("--model", help="model file or name for the embeddings plugin")
    parser.add_argument("--embeddings-plugin", default=GGUF)
    parser.add_argument("--stored", type=Path, help="a result to compare with")
    parser.add_argument("--out", type=Path, help="where to write the result")
    parser.add_argument("--only", action="append", default=[], help="systems with this word in their name")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    args = parsed(arguments)
    stored = read_result(args.stored) if args.stored else None
    conversations = read_conversations(args.data)
    embeddings_config = {"model": args.model} if args.model else {}
    result: Result = {}
    for system in chosen(systems(args.embeddings_plugin, embeddings_config), args.only):
        result[system.name] = measure(
            system, conversations, lambda text: print(text, file=sys.stderr, flush=True)
        )
    lines, worse = table(result, stored)
    print("\n".join(lines))
    if args.out:
        model = Path(args.model).name if args.model else None
        write_result(args.out, result, {"data": args.data.name, "model": model, "forms": list(FORMS)})
    for line in worse:
        print(f"worse than stored: {line}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
