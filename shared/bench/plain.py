"""What the memories without recall cost to record to, with many sessions stored and with a model that takes its time."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from harness import Bench, Row, Worker, in_turns, limit, median, percentile, ratio

from ovos_memory.testing.fakes.server import FakeServer

PLUGINS = ("recency", "entity", "longterm")
SESSIONS = (100, 1_000, 10_000)
UPDATES = 40
MODEL_S = 2.0
SLOW_UPDATES = 300


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
    """``update_history`` while a model takes two seconds for each answer."""
    rows: list[Row] = []

    def reply(payload: dict[str, Any]) -> str:
        time.sleep(MODEL_S)
        return '["likes tea"]'

    for plugin in PLUGINS[1:]:
        for ending, size in (("db", bench.scaled(10_000)), ("json", bench.scaled(1_000))):
            path = bench.work / f"slow-{plugin}.{ending}"
            with FakeServer([_new_fact()]) as quick, bench.worker("ours") as worker:
                _fill(bench, worker, plugin, path, size, quick)
            with FakeServer([reply]) as server, bench.worker("ours") as worker:
                worker("load", name="m", **_memory(plugin, path, server))
                exchanges = _exchanges(bench.scaled(SLOW_UPDATES, 20), size)
                worker("tell", name="m", exchanges=exchanges[:10])
                ms = worker("tell", name="m", exchanges=exchanges)["ms"]
            kind = "sqlite" if ending == "db" else "json"
            name = f"{plugin} update_history, model takes {MODEL_S:g} s, {kind}, {size:,} sessions, p99"
            rows.append(limit(name, percentile(ms, 0.99), 5, "ms"))
    return rows


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
                calls[f"{size} {side}, {kind}"] = lambda batch, worker=worker: worker(
                    "tell", name="m", exchanges=batch
                )
        times = in_turns(calls, _exchanges(bench.scaled(UPDATES, 20) + 10, min(sizes)))
    found: dict[int, dict[str, float]] = {size: {} for size in sizes}
    for name, figures in times.items():
        size, _, side = name.partition(" ")
        found[int(size)][side] = median(figures["ms"])
    return found


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
    if path.suffix == ".json":
        path.write_text(json.dumps(_stored(plugin, size)), encoding="utf-8")
        return
    worker("load", name="filling", **_memory(plugin, path, server))
    worker("touch", name="filling", first=0, count=size)
    asked = -1
    while asked < len(server.requests):
        asked = len(server.requests)
        time.sleep(0.5)
    worker("close", name="filling")


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
