"""Damaged files of every persistent kind: a persona starts, what can be read is read, what is new is kept."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from faultlib.account import Account
from faultlib.kinds import KINDS, PERSISTENT, numbers, opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ovos_memory.testing.messages import pair

pytestmark = pytest.mark.faults
SHAPES = [
    *("[]", "{}", "null", "3", '"x"', "[[1]]", '{"s": 3}', '{"s": null}', '{"s": []}', '{"s": {}}'),
    *('{"s": {"buffer": 3}}', '{"s": {"facts": "x"}}', '{"s": {"recent": [3]}}', '{"sessions": {"s": 1}}'),
    *("[" * 5_000, '{"a":' * 5_000, '{"s": {"buffer": [null, 3, {"ts": "x"}]}}', '{"s": 1e999}', "NaN"),
]
Damage = Callable[[Path, random.Random], None]


def _bytes(change: Callable[[bytes, random.Random], bytes]) -> Damage:
    return lambda path, dice: _put(path, change(path.read_bytes(), dice))


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _bits(content: bytes, dice: random.Random) -> bytes:
    """Flip bits; not in a database's header, whose version number would make it one of a newer version."""
    changed, first = bytearray(content), 100 if content.startswith(b"SQLite format 3") else 0
    for _ in range(30):
        changed[dice.randrange(first, len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _pages(content: bytes, dice: random.Random) -> bytes:
    changed = bytearray(content)
    start = dice.randrange(0, len(changed), 4096)
    changed[start : start + 4096] = dice.randbytes(min(4096, len(changed) - start))
    return bytes(changed)


def _stale_wal(path: Path, dice: random.Random) -> None:
    """Leave the log of another database beside it."""
    other = path.with_name("other.db")
    connection = sqlite3.connect(other)
    connection.executescript(
        "PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(9000));"
    )
    shutil.copy(f"{other}-wal", f"{path}-wal")
    connection.close()
    for left in path.parent.glob("other.db*"):
        left.unlink()


def _own_stale_wal(path: Path, dice: random.Random) -> None:
    """Leave the beginning of a log, as a torn write does."""
    Path(f"{path}-wal").write_bytes(b"\x37\x7f\x06\x82" + dice.randbytes(20_000))


DAMAGES: dict[str, Damage] = {
    "empty": _bytes(lambda content, dice: b""),
    "half": _bytes(lambda content, dice: content[: len(content) // 2]),
    "a few bytes": _bytes(lambda content, dice: content[: dice.randrange(1, 99)]),
    "zeros": _bytes(lambda content, dice: bytes(len(content))),
    "random bytes": _bytes(lambda content, dice: dice.randbytes(len(content))),
    "flipped bits": _bytes(_bits),
    "a random page": _bytes(_pages),
    "the last byte missing": _bytes(lambda content, dice: content[:-1]),
    "a page too many": _bytes(lambda content, dice: content + dice.randbytes(4096)),
    "a folder": lambda path, dice: (path.unlink(), path.mkdir())[0],
    "a link to nowhere": lambda path, dice: (path.unlink(), path.symlink_to("nowhere/at/all"))[0],
    "a link to itself": lambda path, dice: (path.unlink(), path.symlink_to(path.name))[0],
}
SQLITE_DAMAGES: dict[str, Damage] = {
    "another database's log": _stale_wal,
    "a torn log": _own_stale_wal,
    "JSON": _bytes(lambda content, dice: b'{"s": {"buffer": []}}'),
}


def left_behind(kind: str, folder: Path) -> list[Path]:
    """Leave a healthy store and return its files."""
    with opened(kind, folder) as memory:
        for number in range(20):
            memory.update_history(pair(f"question {number} " + "x" * 300, "answer"), "s")
    for spare in (*folder.rglob("*-wal"), *folder.rglob("*-shm")):
        spare.unlink()
    return [
        p.relative_to(folder)
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.suffix in (".db", ".json")
    ]


@pytest.mark.parametrize("kind", PERSISTENT)
def test_a_damaged_file_stops_no_persona(
    kind: str, account: Account, dice: random.Random, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    for file in left_behind(kind, model):
        for damage, spoil in {**DAMAGES, **(SQLITE_DAMAGES if file.suffix == ".db" else {})}.items():
            folder = tmp_path / f"{file.name} {damage}"
            shutil.copytree(model, folder)
            spoil(folder / file, dice)
            with account.fault("a damaged file"):
                _works(account, kind, folder, f"{kind}: {file} is {damage}")


def _works(account: Account, kind: str, folder: Path, where: str) -> None:
    """A turn works, is there afterwards, and again after a restart."""
    with opened(kind, folder) as memory:
        context = memory.build_conversation_context("question", "s")
        assert context[-1].content.endswith("question"), where
        for number in (1000, 1001):
            memory.update_history(pair(f"question {number}", "answer"), "s")
        if not is_obstructed(folder):
            for store, found in numbers(memory).items():
                # Damage may come to light between the two; what was written beside it went with the file.
                expected = [1001] if set_aside_now(folder) and 1000 not in found else [1000, 1001]
                assert [n for n in found if n >= 1000] == expected, f"{where} {store}: {found[-5:]}"
        elif KINDS[kind].keeps_history:
            assert "question 1001" in [m.content for m in memory.get_history("s")], where
        memory.build_conversation_context("question", "s")
    with opened(kind, folder) as memory:
        memory.get_history("s")
        if not is_obstructed(folder) and not set_aside_now(folder):
            for store, found in numbers(memory).items():
                is_kept = [n for n in found if n >= 1000]
                account.kept("a damaged file", [1000, 1001], is_kept, where=f"{where} {store}")


def set_aside_now(folder: Path) -> bool:
    """Tell whether damage came to light only at the second look: what was written beside it went with the file."""
    return len(list(folder.glob("*.corrupt-*"))) > 0


def is_obstructed(folder: Path) -> bool:
    """Tell whether something that is no file is where a store should be: nothing can be kept there."""
    return any((folder / name).is_dir() or os.path.islink(folder / name) for name in os.listdir(folder))


@pytest.mark.parametrize("kind", ["recency-json", "entity-json", "longterm-json"])
def test_json_of_another_shape_stops_no_persona(kind: str, account: Account, tmp_path: Path) -> None:
    for number, shape in enumerate(SHAPES):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"{kind.partition('-')[0]}.json").write_text(shape, encoding="utf-8")
        with account.fault("JSON of another shape"):
            _works(account, kind, folder, f"{kind}: {shape[:60]}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        **{
            n: JSON
            for n in ("buffer", "turns", "facts", "history", "summary", "covered", "updated_at", "recent")
        },
        **{
            n: JSON
            for n in ("worker", "worker_until", "next", "book", "version", "messages", "next_id", "gone")
        },
    },
)


@pytest.mark.parametrize(
    "kind", ["recency-json", "recency-sqlite", "entity-json", "longterm-json", "longterm-sqlite"]
)
def test_records_of_another_shape_stop_no_persona(
    kind: str, account: Account, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The file is ours, a record in it is not: another program, an earlier fault."""
    serial = iter(range(10**9))

    @settings(max_examples=25, suppress_health_check=list(HealthCheck), database=None, deadline=None)
    @given(record=FIELDS | JSON, name=st.sampled_from(["s", "\x00shared", "t"]))
    def attack(record: object, name: str) -> None:
        folder = tmp_path / str(next(serial))
        family = kind.partition("-")[0]
        _leave_record(kind, folder, name, record)
        with account.bad_input("stored records"), opened(kind, folder) as memory:
            assert memory.build_conversation_context("question", "s")[-1].content.endswith("question")
            memory.update_history(pair("question 1000", "answer"), "s")
            list(memory.export())
            assert numbers(memory)[""][-1:] == [1000], family
        shutil.rmtree(folder)

    attack()


def _leave_record(kind: str, folder: Path, name: str, record: object) -> None:
    with opened(kind, folder) as memory:
        memory.update_history(pair("question 0", "answer"), "s")
        state = getattr(memory, "_state", None) or memory.workplace.state
        state.update("s", lambda old: old or {})
    family, ending = kind.split("-")
    if ending == "json":
        path = folder / f"{family}.json"
        found = json.loads(path.read_text(encoding="utf-8"))
        found["sessions"][name] = record
        path.write_text(json.dumps(found), encoding="utf-8")
    else:
        with sqlite3.connect(folder / f"{family}.db") as connection:
            (table,) = [
                row[0]
                for row in connection.execute(
                    "SELECT name FROM sqlite_master WHERE name LIKE 'state!_%' ESCAPE '!'"
                )
            ]
            values = (name.encode(), json.dumps(record))
            connection.execute(f"INSERT OR REPLACE INTO {table}(session, record) VALUES (?, ?)", values)
        connection.close()


@pytest.mark.parametrize("kind", PERSISTENT)
def test_a_file_of_a_newer_version_is_not_touched(kind: str, account: Account, tmp_path: Path) -> None:
    """After a downgrade nothing of the newer version's is lost, and the persona goes on in RAM."""
    files = [tmp_path / file for file in left_behind(kind, tmp_path)]
    for file in files:
        if file.suffix == ".db":
            with sqlite3.connect(file) as connection:
                connection.execute("PRAGMA user_version=99")
            connection.close()
        else:
            found = json.loads(file.read_text(encoding="utf-8"))
            file.write_text(json.dumps({**found, "version": 99}), encoding="utf-8")
    before = {file: file.read_bytes() for file in files}
    with account.fault("a file of a newer version"):
        with opened(kind, tmp_path) as memory:
            memory.update_history(pair("question 1000", "answer"), "s")
            assert memory.build_conversation_context("question", "s")[-1].content.endswith("question")
            memory.get_history("s")
        assert {file: file.read_bytes() for file in files} == before
