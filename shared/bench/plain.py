"""What the memories without recall cost to record to, with many sessions stored and with a model that takes its time."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from harness import Bench, Row, Worker, in_turns, limit, median, percentile, ratio

from ovos_memory.testing.fakes.server import FakeServer

PLUGINS = ("recency", "entity", "longterm")
SESSIONS = (100, 1_000, 10_000)
UPDATES = 40
MODEL_S = (2.0, 10.0)
SLOW_TURNS = 200


def update(bench: Bench) -> list[Row]:
    """``update_history`` with many sessions stored: the other package on its JSON file, ours on that and on SQLite."""
    rows: list[Row] = []
    sizes = [bench.scaled(size) for size in SESSIONS]
    with FakeServer([_new_fact()]) as server:
        for plugin in PLUGINS:
            spent = _all_sizes(bench, plugin, list(dict.fromkeys(sizes)), server)
            for size, sides in spent.items():
                for side, ms in sides.items():
                    curves = bench.curves.setdefault(f"Recording to the {plugin} memory", {})
                    curves.setdefault(side, []).append((size, ms))
            most, least = spent[sizes[-1]], spent[sizes[0]]
            name = f"{plugin} update_history, {sizes[-1]:,} sessions"
            if "theirs, json" in most:
                rows += [
                    ratio(f"{name}, sqlite : their json", most["ours, sqlite"], most["theirs, json"], 1 / 50),
                    ratio(f"{name}, json : their json", most["ours, json"], most["theirs, json"], 1 / 2.5),
                ]
            rows.append(
                ratio(
                    f"{name} : {sizes[0]}, sqlite",
                    most["ours, sqlite"],
                    least["ours, sqlite"],
                    1.5,
                    target="flat (<= 1.5 x)",
                )
            )
    return rows


def slow_model(bench: Bench) -> list[Row]:
    """A turn while a model takes its time for each answer, beside a bare durable commit and a bare fsync."""
    rows: list[Row] = []
    for plugin in PLUGINS[1:]:
        for ending, sizes in (("db", (1, bench.scaled(10_000))), ("json", (1, bench.scaled(1_000)))):
            for size in sizes:
                path = bench.work / f"slow-{plugin}-{size}.{ending}"
                _fill_fast(bench, plugin, path, size)
                for takes_s in MODEL_S:  # each begins with the same store
                    folder = bench.work / f"slow-{plugin}-{size}-{ending}-{takes_s:g}"
                    folder.mkdir()
                    for file in bench.work.glob(f"{path.name}*"):
                        shutil.copy(file, folder / file.name)
                    rows += _slow_turns(bench, plugin, folder / path.name, size, takes_s)
    return rows


def _slow_turns(bench: Bench, plugin: str, path: Path, size: int, takes_s: float) -> list[Row]:
    is_over = threading.Event()

    def reply(payload: dict[str, Any]) -> str:
        is_over.wait(takes_s)
        return '["likes tea"]'

    with FakeServer([reply]) as server, bench.worker("ours") as worker:
        worker("load", name="m", **_memory(plugin, path, server))
        figures = in_turns(
            {
                "ours": lambda batch: worker("turns", name="m", exchanges=batch),
                "bare": lambda batch: worker(
                    "commit", path=f"{path}.bare-{takes_s:g}", texts=[f"{q} {a}" for q, a, _ in batch]
                ),
            },
            _exchanges(bench.scaled(SLOW_TURNS, 20) + 10, size),
        )
        is_over.set()
    found = {name: figure for side in figures.values() for name, figure in side.items()}
    p99 = {name: percentile(figure, 0.99) for name, figure in found.items()}
    kind = "sqlite" if path.suffix == ".db" else "json"
    what = f"model takes {takes_s:g} s, {kind}, {size:,} session{'s' * (size > 1)}"
    bench.notes.append(
        f"{plugin}, {what}: p50 / p99 of "
        + ", ".join(f"{name[:-3]} {median(found[name]):.2f} / {p99[name]:.2f} ms" for name in found)
    )
    bare = p99["commit_ms"]
    return [
        limit(
            f"{plugin} update_history p99, {what} (beside: a bare commit)", p99["update_ms"], 5, "ms", bare
        ),
        limit(f"{plugin} context p99, {what}", p99["context_ms"], 10, "ms"),
    ]


def _all_sizes(
    bench: Bench, plugin: str, sizes: list[int], server: FakeServer
) -> dict[int, dict[str, float]]:
    """Return for each size the median milliseconds of each side and kind of store, all asked in turns."""
    kinds = [("ours", "db"), ("ours", "json")]
    if "theirs" in bench.sides:
        kinds.insert(0, ("theirs", "json"))
    with ExitStack() as stack:
        calls = {}
        for size in sizes:
            for side, ending in kinds:
                path = bench.work / f"{side}-{plugin}-{size}.{ending}"
                worker = stack.enter_context(bench.worker(side))
                if ending == "json":
                    path.write_text(json.dumps(_stored(plugin, size), indent=2), encoding="utf-8")
                else:
                    _fill(bench, worker, plugin, path, size, server)
                worker("load", name="m", **_memory(plugin, path, server))
                kind = "sqlite" if ending == "db" else ending
                calls[f"{size} {side}, {kind}"] = lambda batch, worker=worker: _told(worker, batch)
        times = in_turns(calls, _exchanges(bench.scaled(UPDATES, 20) + 10, min(sizes)))
    found: dict[int, dict[str, float]] = {size: {} for size in sizes}
    for name, figures in times.items():
        size, _, side = name.partition(" ")
        found[int(size)][side] = median(figures["ms"])
    return found


def _told(worker: Worker, batch: list[Any]) -> dict[str, Any]:
    """Let a memory hear something; it has the machine to itself, and whose turn is next has it as well."""
    times = worker("tell", name="m", exchanges=batch)
    worker("rest", name="m")
    return times


def _memory(plugin: str, path: Path, server: FakeServer) -> dict[str, Any]:
    model = {} if plugin == "recency" else {"api_url": server.url, "model": "fake-chat"}
    return {"plugin": f"ovos-memory-plugin-{plugin}", "config": {"db_path": str(path), **model}}


def _exchanges(count: int, sessions: int) -> list[list[str]]:
    return [
        [f"I saw {n} birds in the garden today", "How nice!", f"visitor-{n * 37 % sessions}"]
        for n in range(count)
    ]


def _fill(bench: Bench, worker: Worker, plugin: str, path: Path, size: int, server: FakeServer) -> None:
    """Let a memory of ours hear something in each session, and wait until its model has nothing more to do."""
    worker("load", name="filling", **_memory(plugin, path, server))
    worker("touch", name="filling", first=0, count=size)
    worker("rest", name="filling", most_s=600.0)
    worker("close", name="filling")


def _fill_fast(bench: Bench, plugin: str, path: Path, size: int) -> None:
    """Fill a store in memory, where commits cost nothing, and move it to the disk that is measured."""
    with (
        tempfile.TemporaryDirectory(dir=bench.fast_folder, prefix="bench-") as fast,
        FakeServer([_new_fact()]) as server,
        bench.worker("ours") as worker,
    ):
        _fill(bench, worker, plugin, Path(fast) / path.name, size, server)
        for file in Path(fast).iterdir():
            shutil.copy(file, path.parent / file.name)


def _stored(plugin: str, sessions: int) -> dict[str, Any]:
    """Return a JSON store as the other package writes it; ours takes it over as it is."""
    said = [{"role": "user", "content": "hello there"}, {"role": "assistant", "content": "good morning"}]
    now = time.time()
    record: dict[str, Any] = {
        "recency": {"buffer": [{"ts": now, **message} for message in said]},
        "entity": {"facts": ["the user says hello"]},
        "longterm": {"summary": "They greeted.", "recent": said, "exchange_count": 1, "updated_at": now},
    }[plugin]
    return {f"visitor-{number}": record for number in range(sessions)}


def _new_fact() -> Any:
    """Return a reply of a model that finds another fact each time."""
    counted = iter(range(10**9))
    return lambda payload: json.dumps([f"saw bird number {next(counted)}"])
