"""What recall by words costs: by size of the store, in one session of many, to record, to open."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from harness import LEXICAL, Bench, Row, Worker, in_turns, limit, median, percentile, ratio

QUESTIONS = 100
CURVE = "A context from the lexical memory"


def context(bench: Bench) -> list[Row]:
    """Contexts from stores of every size; global scope."""
    rows: list[Row] = []
    spread: dict[int, dict[str, float]] = {}
    for size in bench.sizes:
        sides = [side for side in bench.sides if side == "ours" or size <= bench.largest_of_theirs]
        times = _contexts(bench, sides, size, many_sessions(size), "global")
        for side in sides:
            middle, late = median(times[side]["ms"]), percentile(times[side]["ms"], 0.95)
            bench.curves.setdefault(f"{CURVE}, median", {}).setdefault(side, []).append((size, middle))
            bench.curves.setdefault(f"{CURVE}, 95 of 100", {}).setdefault(side, []).append((size, late))
            if side == "ours":
                spread[size] = {"p50": middle, "p95": late}
        bound = {10_000: 1.0, 100_000: 1 / 8}.get(size)
        if "theirs" in sides and bound is not None:
            ours, theirs = (median(times[side]["ms"]) for side in ("ours", "theirs"))
            rows.append(ratio(f"lexical context, {size:,} exchanges", ours, theirs, bound))
    if {100_000, 1_000_000} <= set(spread):
        for which, bound in (("p50", 2.0), ("p95", 4.0)):
            million, hundred = spread[1_000_000][which], spread[100_000][which]
            name = f"lexical context, 1,000,000 : 100,000 exchanges, {which}"
            rows.append(ratio(name, million, hundred, bound))
    return rows


def session(bench: Bench) -> list[Row]:
    """Contexts under ``scope: session``: one session of a thousand, and one that holds everything."""
    size = bench.scaled(100_000, 200)
    sessions = many_sessions(size)
    times = _contexts(bench, list(bench.sides), size, sessions, "session")
    rows: list[Row] = []
    if "theirs" in bench.sides:
        ours, theirs = (median(times[side]["ms"]) for side in ("ours", "theirs"))
        rows.append(
            ratio(f"lexical context, scope session, {size:,} in {sessions:,} sessions", ours, theirs, 1 / 20)
        )
    rows.append(_own_hits(bench, size, sessions))
    rows.append(_everything_in_one(bench, size))
    return rows


def update(bench: Bench) -> list[Row]:
    """Recording an exchange, on disk when the call returns."""
    count = bench.scaled(1_000, 30)
    exchanges = [[*bench.corpus.exchange(number), f"user-{number % 10}"] for number in range(count)]
    with ExitStack() as stack:
        calls = {}
        for side in bench.sides:
            worker = stack.enter_context(bench.worker(side))
            worker(
                "load", name="m", plugin=LEXICAL, config={"db_path": str(bench.work / f"update-{side}.db")}
            )
            calls[side] = lambda batch, worker=worker: worker("tell", name="m", exchanges=batch)
        times = in_turns(calls, exchanges)
    if "theirs" not in times:
        return []
    ours, theirs = (median(times[side]["ms"]) for side in ("ours", "theirs"))
    return [ratio("lexical update_history, on disk", ours, theirs, 1 / 1.5)]


def opening(bench: Bench) -> list[Row]:
    """From the construction to the first context of a large store, in a process that has the code loaded."""
    size = max(bench.sizes)
    path = bench.lexical_store("ours", size, many_sessions(size))
    question = bench.corpus.questions(1, size)[0]
    times = []
    for _ in range(5):
        with bench.worker("ours") as worker:
            worker(
                "load", name="other", plugin=LEXICAL, config={"db_path": ":memory:"}, first_question=question
            )
            config = {"db_path": str(path)}
            opened = worker("load", name="m", plugin=LEXICAL, config=config, first_question=question)
            times.append(opened["ms"])
    return [limit(f"opening a lexical store of {size:,}, first context included", median(times), 100, "ms")]


def many_sessions(size: int) -> int:
    """Return among how many sessions a store is dealt out: a hundred exchanges each."""
    return max(1, size // 100)


def _contexts(bench: Bench, sides: list[str], size: int, sessions: int, scope: str) -> dict[str, Any]:
    asked = bench.corpus.questions(bench.scaled(QUESTIONS, 20) + 10, size)
    questions = [[text, f"user-{place % sessions}"] for place, text in enumerate(asked)]
    with ExitStack() as stack:
        calls = {}
        for side in sides:
            worker = stack.enter_context(bench.worker(side))
            _load(worker, bench.lexical_store(side, size, sessions), scope)
            calls[side] = lambda batch, worker=worker: worker("ask", name="m", questions=batch)
        return in_turns(calls, questions)


def _load(worker: Worker, path: Path, scope: str, name: str = "m") -> None:
    config = {"db_path": str(path), "scope": scope, "max_history": 10}
    worker("load", name=name, plugin=LEXICAL, config=config)


def _own_hits(bench: Bench, size: int, sessions: int) -> Row:
    """Compare what a session finds in the large store with what it finds where nobody else ever spoke."""
    place = min(3, sessions - 1)
    name = f"user-{place}"
    own = [[*bench.corpus.exchange(number), name] for number in range(place, size, sessions)]
    questions = [[text, name] for text in bench.corpus.questions(bench.scaled(QUESTIONS, 20), size)]
    with bench.worker("ours") as worker:
        _load(worker, bench.lexical_store("ours", size, sessions), "session", "large")
        worker("load", name="alone", plugin=LEXICAL, config={"db_path": ":memory:", "scope": "session"})
        worker("tell", name="alone", exchanges=own)
        large, alone = (
            worker("search", name=which, questions=questions, top_k=5)["found"]
            for which in ("large", "alone")
        )
    complete = sum(a == b for a, b in zip(large, alone, strict=True)) / len(questions)
    what = "lexical, scope session: lists equal to those of a store without the others"
    return Row(what, "all", 100 * complete, None, "%", 100 * complete, 100, is_least=True)


def _everything_in_one(bench: Bench, size: int) -> Row:
    asked = [[text, "user-0"] for text in bench.corpus.questions(bench.scaled(QUESTIONS, 20) + 10, size)]
    with bench.worker("ours") as worker:
        path = bench.lexical_store("ours", size, 1)
        for scope in ("session", "global"):
            _load(worker, path, scope, scope)
        times = in_turns(
            {
                scope: lambda batch, scope=scope: worker("ask", name=scope, questions=batch)
                for scope in ("session", "global")
            },
            asked,
        )
    ours, plain = (median(times[scope]["ms"]) for scope in ("session", "global"))
    target = "the same (<= 1.1 x)"
    return ratio(f"lexical, one session of {size:,}: scope session : global", ours, plain, 1.1, target=target)
