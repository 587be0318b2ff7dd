"""Exports as files: private, whole, exact; and what 1.x left."""

from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.core.errors import StoreTooNew
from ovos_memory.core.export_files import dump_line, read_export, write_export

TEXT = st.text(alphabet=st.characters(codec=None))
LINES = st.lists(
    st.fixed_dictionaries(
        {"kind": st.just("text"), "session_id": TEXT, "text": TEXT, "created_at": st.floats(0, 2e9)}
    ),
    max_size=4,
)


@given(LINES)
def test_a_line_comes_back_as_it_was(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        data = dump_line(line)
        data.decode("utf-8")
        assert data.count(b"\n") == 1 and json.loads(data) == line


def test_a_file_is_private_and_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("before")
    path.chmod(0o644)

    def broken() -> Any:
        yield {"kind": "text"}
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        write_export(path, broken())
    assert path.read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["x.jsonl"]

    told: list[int] = []
    lines = [{"kind": "text", "n": n} for n in range(1200)]
    assert write_export(path, lines, progress=lambda done, of: told.append(done)) == 1200
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and told == [500, 1000]
    assert list(read_export(path)) == lines


def test_a_file_without_a_header_or_with_blank_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"kind": "text"}\n\n  \n{"kind": "fact"}')

    assert [line["kind"] for line in read_export(path)] == ["text", "fact"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "hello",
        "[]",
        "{}",
        '{"s": 1}',
        '{"s": {"other": []}}',
        '{"kind": "text"}\nbroken',
        '{"kind": 1}\n[]',
    ],
)
def test_anything_else_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x"
    path.write_text(content)
    with pytest.raises(ValueError, match="x"):
        list(read_export(path))


def test_newer_files_and_stores_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"format": "ovos-memory/export", "version": 2}\n')
    with pytest.raises(StoreTooNew):
        list(read_export(path))
    path.write_text('{"format": "ovos-memory/recency", "version": 1, "sessions": {}}')
    with pytest.raises(ValueError, match="not an export"):
        list(read_export(path))
    with closing(sqlite3.connect(tmp_path / "y.db")) as other:
        other.execute("CREATE TABLE t (a)")
        other.commit()
    with pytest.raises(ValueError, match="none of version 1"):
        list(read_export(tmp_path / "y.db"))


# ---------------------------------------------------------------------- 1.x
def test_1x_json_files(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None}, {"role": "system"}]
    found = {
        "a": {"buffer": [{"ts": 7, **turns[0]}]},
        "b": {"facts": ["likes tea", "", 3]},
        "c": {"summary": " they met ", "recent": turns, "exchange_count": 2, "updated_at": 9.5},
    }
    path.write_text(json.dumps(found))

    lines = list(read_export(path))
    assert [(x["session_id"], x["kind"]) for x in lines] == [
        ("a", "message"), ("b", "fact"), ("c", "summary"), ("c", "message"), ("c", "message"),
    ]  # fmt: skip
    assert lines[0]["created_at"] == 7 and lines[2]["text"] == "they met" and lines[2]["created_at"] == 9.5
    assert lines[4]["message"] == {"role": "assistant", "content": ""}
    assert lines[1]["created_at"] == path.stat().st_mtime


def test_1x_databases(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "l.db")) as old:
        old.execute("CREATE VIRTUAL TABLE words USING fts5(doc_id, session_id, content)")
        rows = [("s_0", "s", "Q: a\nA: b\nA: c"), ("s_0", "s", "plain"), ("d_0", None, "Q: only")]
        old.executemany("INSERT INTO words VALUES (?, ?, ?)", rows)
        old.commit()
    lines = list(read_export(tmp_path / "l.db"))
    assert [(x["id"], x["kind"]) for x in lines] == [
        ("s_0", "exchange"),
        ("s_1", "text"),
        ("default_0", "text"),
    ]
    assert (lines[0]["question"], lines[0]["answer"]) == ("a", "b\nA: c")

    with closing(sqlite3.connect(tmp_path / "s.db")) as old:
        old.execute("CREATE TABLE sessions (session_id, summary, recent, exchange_count, updated_at)")
        recent = json.dumps([{"role": "user", "content": "hi"}])
        old.executemany(
            "INSERT INTO sessions VALUES (?, ?, ?, 1, ?)", [("s", "gist", recent, "x"), ("t", "", "{", 5)]
        )
        old.commit()
    assert [(x["session_id"], x["kind"]) for x in read_export(tmp_path / "s.db")] == [
        ("s", "summary"),
        ("s", "message"),
    ]
