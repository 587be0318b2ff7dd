"""What doctor finds in stores: paths, damage, locks, indexes that lag behind, failures that were noted."""

from __future__ import annotations

import glob
import json
import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovos_memory.cli.blocks import Block, advice, problem
from ovos_memory.cli.output import moment
from ovos_memory.cli.target import plugin_names

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Trouble

_MANY_WAITING = 512
"""Documents that may wait for an index without anything being wrong."""
_LOCK_WAIT_S = 0.3
_RECENT_S = 7 * 86_400.0
"""How long a failure that was noted is told of."""
_RESTORE = (
    "restore a copy, or let it be set aside at the next use, and `ovos-memory recover` what can be read of it"
)


def store_findings(memory: Any, blocks: list[Block], *, is_offline: bool) -> Iterator[Trouble]:
    """Yield what is wrong with a memory's files; they are looked at before the memory opens them."""
    seen: set[tuple[str, str]] = set()
    for found in _findings(memory, blocks, is_offline=is_offline):
        if (found.check, found.where) not in seen:
            seen.add((found.check, found.where))
            yield found


def _findings(memory: Any, blocks: list[Block], *, is_offline: bool) -> Iterator[Trouble]:
    owners = list(_owners(memory))
    yield from _shared(owners, blocks)
    is_damaged = False
    for name, path in owners:
        for found in _file(name, path):
            is_damaged |= found.check == "damage"
            yield found
    if not is_damaged:  # opening would set a damaged file aside, which is not doctor's to do
        state = list(_state(memory))  # before a model is loaded: with another one work would begin
        if callable(getattr(memory, "examine", None)):
            yield from memory.examine(is_offline=is_offline)
        yield from state
    yield from _not_loaded(memory, blocks)


def _owners(memory: Any) -> Iterator[tuple[str, Path]]:
    members = getattr(memory, "members", None)
    if members is None:
        yield from ((memory.plugin_name, path) for path in getattr(memory, "files", list)())
        return
    for member in members:
        yield from ((member.name, path) for path in getattr(member.memory, "files", list)())


def _shared(owners: list[tuple[str, Path]], blocks: list[Block]) -> Iterator[Trouble]:
    by_path: dict[str, list[str]] = defaultdict(list)
    for name, path in owners:
        by_path[os.path.realpath(path)].append(name)
    by_member = {block.member or block.module: block for block in blocks}
    for place, names in by_path.items():
        tables = {(by_member[name].get("table") if name in by_member else None) for name in names}
        if len(names) > 1 and (len(tables) < len(names) or None in tables):
            what = f"{' and '.join(names)} keep their records in the same file"
            yield problem("shared path", place, what, "give each member a db_path of its own")
    yield from _shared_collections(blocks)


def _shared_collections(blocks: list[Block]) -> Iterator[Trouble]:
    seen: dict[str, str] = {}
    for block in blocks:
        store = block.get("embeddings_db_plugin", "")
        if block.module != "ovos-memory-plugin-local-rag" or store is None:
            continue
        config = dict(block.get("embeddings_db_config") or {})
        if isinstance(config.get("path"), str):
            config["path"] = os.path.realpath(os.path.expandvars(os.path.expanduser(config["path"])))
        place = f"{store} {block.get('collection')} {sorted(config.items(), key=str)}"
        if place in seen:
            what = f"it uses the same collection as {seen[place]}"
            yield problem("shared path", block.where, what, "give each a collection of its own")
        seen.setdefault(place, block.where)


# ---------------------------------------------------------------------- one file
def _file(name: str, path: Path) -> Iterator[Trouble]:
    yield from _set_aside(name, path)
    yield from _access(name, path)
    if not path.is_file() or not os.access(path, os.R_OK):
        return
    with open(path, "rb") as file:
        start = file.read(16)
    if start == b"SQLite format 3\0":
        yield from _database(name, path)
    elif path.suffix in (".db", ".sqlite", ".sqlite3") and start:
        what = f"the file of {name} is no SQLite database"
        yield problem("damage", str(path), what, _RESTORE)
    elif path.suffix == ".json" and start.strip() and not _is_json(path):
        what = f"the file of {name} is damaged: it is no JSON"
        yield problem("damage", str(path), what, _RESTORE)


def _set_aside(name: str, path: Path) -> Iterator[Trouble]:
    aside = sorted(path.parent.glob(f"{glob.escape(path.name)}.corrupt-*"))
    files = [each for each in aside if not each.name.endswith(("-wal", "-shm"))]
    if files:
        what = f"a damaged file of {name} was set aside: {', '.join(each.name for each in files)}"
        remedy = f"`ovos-memory recover {files[-1]}` brings back what can be read; then delete it"
        yield advice("set aside", str(path), what, remedy)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return True


def _access(name: str, path: Path) -> Iterator[Trouble]:
    nearest = path
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    is_folder = path.is_dir() or (nearest != path and not nearest.is_dir())
    if is_folder or not os.access(nearest, os.W_OK):
        what = f"{name} cannot write {path}"
        yield problem("path", str(nearest), what, "make it writable, or name another db_path")
    if not path.exists():
        return
    if not os.access(path, os.R_OK):
        yield problem("path", str(path), f"{name} cannot read {path}", "make it readable")
    if hasattr(os, "geteuid") and path.stat().st_uid != os.geteuid():
        what = f"the file of {name} belongs to another user"
        yield problem("path", str(path), what, "chown it to the user that runs OVOS")
    if path.stat().st_mode & 0o077 and not path.is_dir():
        what = f"other users can read what {name} keeps"
        yield advice("path", str(path), what, f"chmod 600 {path}")


def _database(name: str, path: Path) -> Iterator[Trouble]:
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
            yield problem("damage", str(path), what, "look at permissions and room on the disk")
            return
        what = f"the file of {name} is locked by another process, and new turns wait in its memory"
        yield problem("lock", str(path), what, "end the process that holds it (fuser, lsof)")
    except sqlite3.DatabaseError:
        what = f"the file of {name} is damaged"
        yield problem("damage", str(path), what, _RESTORE)


# ---------------------------------------------------------------------- what the memory says itself
def _state(memory: Any) -> Iterator[Trouble]:
    from ovos_memory.core.errors import OvosMemoryError

    for name, each in _opened(memory):
        try:
            told, health = each.stats(), each.health()
        except OvosMemoryError as error:
            yield problem("store", name, str(error), "see the message")
            continue
        waiting = told.get("waiting") or 0
        if waiting > _MANY_WAITING:
            what = f"{waiting} records are not in its index yet"
            yield problem("index", name, what, "ovos-memory reindex")
        yield from _failures(name, told.get("failures") or {})
        yield from _health(name, health)


def _failures(name: str, failures: dict[str, Any]) -> Iterator[Trouble]:
    for operation, facts in failures.items():
        if time.time() - (facts.get("last_at") or 0.0) < _RECENT_S:
            when = moment(facts.get("last_at"))
            what = f"{operation} failed {facts.get('failures')} times, last at {when} ({facts.get('last_error')})"
            yield advice(f"failed {operation}", name, what, "see the log of that time")


def _not_loaded(memory: Any, blocks: list[Block]) -> Iterator[Trouble]:
    """Yield members that are installed and set up, and did not load all the same."""
    if getattr(memory, "members", None) is None:
        return
    loaded = {member.name for member in memory.members}
    for block in blocks[1:]:
        if block.member not in loaded and not block.error and block.module in plugin_names():
            remedy = "`ovos-memory -v list` shows why in its log"
            yield problem(
                "member", block.where, "it did not load, so nothing is kept or recalled by it", remedy
            )


def _opened(memory: Any) -> Iterator[tuple[str, Any]]:
    """Yield the memories whose files there are: opening would create the others'."""
    members = getattr(memory, "members", None)
    named = (
        [(getattr(memory, "plugin_name", type(memory).__name__), memory)]
        if members is None
        else [(m.name, m.memory) for m in members]
    )
    for name, each in named:
        files: list[Path] = getattr(each, "files", list)()
        if callable(getattr(each, "stats", None)) and any(path.exists() for path in files):
            yield name, each


def _health(name: str, health: dict[str, Any]) -> Iterator[Trouble]:
    """Yield what a memory says of its own state."""
    if health.get("store_error"):
        yield problem("store", name, str(health["store_error"]), "see the message")
    if health.get("lost"):
        what = f"{health['lost']} exchanges never reached the disk"
        yield problem("lost", name, what, "mend the store")
    for work, facts in (("vectors", health.get("vectors")), ("work", health.get("work"))):
        yield from _work(name, work, facts or {})


def _work(name: str, work: str, facts: dict[str, Any]) -> Iterator[Trouble]:
    if facts.get("parked"):
        what = f"{facts['parked']} records were given up after repeated failures ({work})"
        yield problem("given up", name, what, "mend the model, then ovos-memory reindex")
    if (facts.get("pending") or 0) > _MANY_WAITING:
        yield problem("index", name, f"{facts['pending']} records wait ({work})", "ovos-memory reindex")
