"""What doctor finds in stores: paths, damage, locks, indexes that lag behind, failures that were noted."""

from __future__ import annotations

import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ovos_memory.cli.blocks import Block, Finding
from ovos_memory.cli.output import moment

_MANY_WAITING = 512
"""Documents that may wait for an index without anything being wrong."""
_LOCK_WAIT_S = 0.3


def store_findings(memory: Any, blocks: list[Block]) -> Iterator[Finding]:
    """Yield what is wrong with a memory's files; they are looked at before the memory opens them."""
    owners = list(_owners(memory))
    yield from _shared(owners, blocks)
    damaged = False
    for name, path in owners:
        found = list(_file(name, path))
        damaged |= any(each.check == "damage" for each in found)
        yield from found
    if not damaged:  # opening would set a damaged file aside, which is not doctor's to do
        yield from _state(memory)


def _owners(memory: Any) -> Iterator[tuple[str, Path]]:
    members = getattr(memory, "members", None)
    if members is None:
        yield from ((memory.plugin_name, path) for path in getattr(memory, "files", list)())
        return
    for member in members:
        yield from ((member.name, path) for path in getattr(member.memory, "files", list)())


def _shared(owners: list[tuple[str, Path]], blocks: list[Block]) -> Iterator[Finding]:
    by_path: dict[str, list[str]] = defaultdict(list)
    for name, path in owners:
        by_path[os.path.realpath(path)].append(name)
    by_member = {block.member or block.module: block for block in blocks}
    for place, names in by_path.items():
        tables = {(by_member[name].get("table") if name in by_member else None) for name in names}
        if len(names) > 1 and (len(tables) < len(names) or None in tables):
            what = f"{' and '.join(names)} keep their records in the same file"
            yield Finding("problem", "shared path", place, what, "give each member a db_path of its own")
    yield from _shared_collections(blocks)


def _shared_collections(blocks: list[Block]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for block in blocks:
        if block.module != "ovos-memory-plugin-local-rag":
            continue
        place = (
            f"{block.get('collection')} {sorted((block.get('embeddings_db_config') or {}).items(), key=str)}"
        )
        if place in seen:
            what = f"it uses the same collection as {seen[place]}"
            yield Finding("problem", "shared path", block.where, what, "give each a collection of its own")
        seen.setdefault(place, block.where)


# ---------------------------------------------------------------------- one file
def _file(name: str, path: Path) -> Iterator[Finding]:
    yield from _access(name, path)
    if not path.exists():
        return
    aside = sorted(each.name for each in path.parent.glob(f"{path.name}.corrupt-*"))
    if aside:
        what = f"a damaged file of {name} was set aside: {', '.join(aside)}"
        yield Finding("advice", "set aside", str(path), what, "rescue what you need from it, then delete it")
    with open(path, "rb") as file:
        is_database = file.read(16) == b"SQLite format 3\0"
    if is_database:
        yield from _database(name, path)
    elif path.suffix in (".db", ".sqlite", ".sqlite3") and path.stat().st_size:
        what = f"the file of {name} is no SQLite database"
        yield Finding(
            "problem", "damage", str(path), what, "restore it; else it is set aside at the next use"
        )


def _access(name: str, path: Path) -> Iterator[Finding]:
    nearest = path
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not os.access(nearest, os.W_OK) or (nearest != path and not nearest.is_dir()):
        what = f"{name} cannot write {path}"
        yield Finding("problem", "path", str(nearest), what, "make it writable, or name another db_path")
    if hasattr(os, "geteuid") and path.exists() and path.stat().st_uid != os.geteuid():
        what = f"the file of {name} belongs to another user"
        yield Finding("problem", "path", str(path), what, "chown it to the user that runs OVOS")
    if path.exists() and path.stat().st_mode & 0o077:
        what = f"other users can read what {name} keeps"
        yield Finding("advice", "path", str(path), what, f"chmod 600 {path}")


def _database(name: str, path: Path) -> Iterator[Finding]:
    try:
        uri = f"{path.resolve().as_uri()}?mode={'rw' if os.access(path, os.W_OK) else 'ro'}"
        with closing(
            sqlite3.connect(uri, uri=True, timeout=_LOCK_WAIT_S, isolation_level=None)
        ) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
            if found is None or found[0] != "ok":
                raise sqlite3.DatabaseError("quick_check")
            if os.access(path, os.W_OK):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error) and "busy" not in str(error):
            what = f"the file of {name} cannot be opened ({type(error).__name__})"
            yield Finding("problem", "damage", str(path), what, "look at permissions and room on the disk")
            return
        what = f"the file of {name} is locked by another process, and new turns wait in its memory"
        yield Finding("problem", "lock", str(path), what, "end the process that holds it (fuser, lsof)")
    except sqlite3.DatabaseError:
        what = f"the file of {name} is damaged"
        remedy = "export what can be read, or restore a copy; else it is set aside at the next use"
        yield Finding("problem", "damage", str(path), what, remedy)


# ---------------------------------------------------------------------- what the memory says itself
def _state(memory: Any) -> Iterator[Finding]:
    from ovos_memory.core.errors import OvosMemoryError

    try:
        told = memory.stats() if callable(getattr(memory, "stats", None)) else {}
        health = memory.health() if callable(getattr(memory, "health", None)) else {}
    except OvosMemoryError as error:
        yield Finding("problem", "store", memory.plugin_name, str(error), "see the message")
        return
    for name, facts in (told.get("members") or {told.get("plugin", "memory"): told}).items():
        waiting = facts.get("waiting") or 0
        if waiting > _MANY_WAITING:
            what = f"{waiting} records are not in its index yet"
            yield Finding("problem", "index", str(name), what, "ovos-memory reindex")
    for name, reason in ((n, m) for n, m in (health.get("members") or {}).items() if m["state"] == "missing"):
        yield Finding(
            "problem", "member", str(name), f"it did not load: {reason['reason']}", "see the message"
        )
    yield from _health(memory.plugin_name, health)


def _health(name: str, health: dict[str, Any]) -> Iterator[Finding]:
    """Yield what a memory, or a member, says of its own failures."""
    for member, facts in (health.get("members") or {}).items():
        yield from _health(str(member), facts.get("health") or {})
    if health.get("store_error"):
        yield Finding("problem", "store", name, str(health["store_error"]), "see the message")
    if health.get("lost"):
        what = f"{health['lost']} exchanges never reached the disk"
        yield Finding("problem", "lost", name, what, "mend the store")
    for work, facts in (("vectors", health.get("vectors")), ("work", health.get("work"))):
        yield from _work(name, work, facts or {})
    for operation, facts in {**(health.get("failures") or {}), **(health.get("operations") or {})}.items():
        when = moment(facts.get("last_at"))
        what = f"{operation} failed {facts.get('failures')} times, last at {when} ({facts.get('last_error')})"
        yield Finding("advice", "failures", name, what, "see the log of that time")


def _work(name: str, work: str, facts: dict[str, Any]) -> Iterator[Finding]:
    if facts.get("parked"):
        what = f"{facts['parked']} records were given up after repeated failures ({work})"
        yield Finding("problem", "index", name, what, "mend the model, then ovos-memory reindex")
    if (facts.get("pending") or 0) > _MANY_WAITING:
        yield Finding(
            "problem", "index", name, f"{facts['pending']} records wait ({work})", "ovos-memory reindex"
        )
