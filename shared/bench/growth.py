"""What many sessions leave in memory."""

from __future__ import annotations

from typing import Any

from harness import Bench, Row, limit

from ovos_memory.testing.fakes.server import FakeServer

TOUCHED = 20_000
SETTLE_S = 3.0
PLUGINS = ("short-term", "recency", "lexical", "entity", "longterm", "composite")
IN_RAM = ("recency", "entity")
"""Of these a second one, without a file."""


def sessions(bench: Bench) -> list[Row]:
    """Touch 20 000 sessions, then as many more, then ask for some that do not exist."""
    rows: list[Row] = []
    count = bench.scaled(TOUCHED, 200)
    with FakeServer(['["likes tea"]']) as server:
        for kind in (*PLUGINS, *(f"{plugin} in RAM" for plugin in IN_RAM)):
            plugin = kind.split()[0]
            with bench.worker("ours") as worker:
                config = {} if kind == "recency in RAM" else _config(bench, plugin, server)
                config |= {"backend": "memory"} if kind == "entity in RAM" else {}
                worker("load", name="m", plugin=f"ovos-memory-plugin-{plugin}", config=config)
                worker("touch", name="m", first=-100, count=100)
                megabytes = [worker("resident")["mb"]]
                for first in (0, count):
                    worker("touch", name="m", first=first, count=count)
                    megabytes.append(worker("resident", settle_s=SETTLE_S / bench.scale)["mb"])
                worker("look", name="m", first=-100, count=100)
                blocks = worker("look", name="m", first=0, count=count)["blocks"]
            before, first_mb, second_mb = megabytes
            name = f"{kind}, {count:,} sessions"
            rows += [
                limit(f"{name}: memory", first_mb - before, 25, "MB"),
                limit(f"{name} more: memory", second_mb - first_mb, 2, "MB"),
                limit(f"{kind}, a session that does not exist: blocks kept", blocks, 0.05, "blocks"),
            ]
    return rows


def _config(bench: Bench, plugin: str, server: FakeServer) -> dict[str, Any]:
    path = {"db_path": str(bench.work / f"growth-{plugin}.db")}
    if plugin == "short-term":
        return {}
    if plugin in ("entity", "longterm"):
        return {**path, "api_url": server.url, "model": "fake-chat"}
    if plugin == "composite":
        names = ("recency", "lexical")
        return {
            "members": [
                {
                    "module": f"ovos-memory-plugin-{name}",
                    "config": {"db_path": str(bench.work / f"growth-{name}-member.db")},
                }
                for name in names
            ]
        }
    return path
