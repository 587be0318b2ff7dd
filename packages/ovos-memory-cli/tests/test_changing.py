"""``forget``, ``edit``, ``reindex``, ``export``, ``import`` on a real store."""

from __future__ import annotations

import json
import sqlite3
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

LEXICAL = "ovos-memory-plugin-lexical"


def test_forget_asks_first_and_shows_what_goes(rosie: Any) -> None:
    done = rosie.run("forget", "--query", "door code", stdin="n\n")

    assert done.code == 1 and "my door code is 4512" in done.out
    assert rosie.files_with("4512")


def test_forget_removes_it_from_every_member_and_file(rosie: Any) -> None:
    copy = rosie.home / "data" / "lexical.db.corrupt-1"
    copy.write_bytes(b"my door code is 4512")

    done = rosie.run("forget", "--query", "DOOR CODE", "--yes", "--json")
    assert done.code == 0
    assert done.json["counts"] == {"lately": 2, "words": 1} and done.json["files"] == [str(copy)]
    assert not rosie.files_with("4512") and not rosie.files_with("door")
    assert rosie.run("search", "door code").code == 3
    assert {r["session_id"] for r in rosie.run("list", "--json").json} == {"kitchen", "hall"}
    assert rosie.run("forget", "--query", "door code", "--yes").code == 3


def test_forget_asks_and_does_it(rosie: Any) -> None:
    done = rosie.run("forget", "--session", "hall", stdin="y\n")

    assert done.code == 0 and "words" in done.out
    assert not rosie.files_with("coffee") and not rosie.files_with("hall")


def test_a_dry_run_changes_nothing(rosie: Any) -> None:
    assert len(rosie.run("forget", "--session", "kitchen", "--dry-run", "--json").json) == 6
    assert len(rosie.run("list", "--json").json) == 9


def test_forget_of_one_record(rosie: Any) -> None:
    assert rosie.run("forget", "--id", "words/kitchen_1", "--yes", "--json").json["forgotten"] == 3
    assert not rosie.files_with("tea at five")
    assert rosie.run("forget", "--id", "words/kitchen_1", "--yes").code == 3


def test_forget_without_a_condition_is_a_wrong_call(rosie: Any) -> None:
    for options in ([], ["--query", "ab"]):
        assert rosie.run("forget", "--yes", *options).code == 2
    assert len(rosie.run("list", "--json").json) == 9


def test_what_cannot_be_cleaned_is_said(rosie: Any) -> None:
    with sqlite3.connect(rosie.home / "data" / "lexical.db", isolation_level=None) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        done = rosie.run("forget", "--query", "door code", "--yes", "--json")
        reader.execute("ROLLBACK")

    assert done.code == 4 and "repeat the call" in done.json["leftovers"][0]
    assert rosie.run("forget", "--query", "door code", "--yes").code == 3
    assert not rosie.files_with("4512")


def test_edit_corrects_the_exchange_in_every_member(rosie: Any) -> None:
    done = rosie.run("edit", "words/kitchen_0", "--question", "my door code is secret")

    assert done.code == 0 and "Q: my door code is secret" in done.out
    assert not rosie.files_with("4512")
    texts = [r["text"] for r in rosie.run("list", "--json", "--query", "secret").json]
    assert texts == ["my door code is secret", "Q: my door code is secret\nA: noted"]
    assert rosie.run("edit", "words/kitchen_77", "--question", "x").code == 3
    assert rosie.run("edit", "words/kitchen_0", "--text", "x").code == 2


def test_edit_opens_an_editor(rosie: Any) -> None:
    editor = rosie.home / "editor.py"
    editor.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text().replace('five', 'six'))"
    )
    done = rosie.run("edit", "words/kitchen_1", editor=f"{sys.executable} {editor}")
    assert done.code == 0 and "tea at six" in done.out


def test_reindex_builds_the_index_anew(rosie: Any) -> None:
    assert rosie.run("reindex", "--json").json == {"indexed": 3}
    assert rosie.run("search", "tea").code == 0


def test_a_server_says_what_it_cannot_prove(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from ovos_memory.cli import changing
    from ovos_memory.cli.output import Output
    from ovos_memory.core.management_types import Forgotten

    monkeypatch.setattr("ovos_memory.cli.output._own_stdout", lambda: sys.stdout)
    changing._tell(Output(is_json=False), Forgotten({"meaning": 1}, unproven=("deleted by key on x",)))
    assert "not to be proven from here: deleted by key on x" in capfd.readouterr().out


def test_export_and_import_make_the_same_records_again(rosie: Any) -> None:
    file = rosie.home / "all.jsonl"
    assert rosie.run("export", str(file), "--json").json["exported"] == 9
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = rosie.run("list", "--json").json
    for session in ("kitchen", "hall"):
        rosie.run("forget", "--session", session, "--yes")

    told = rosie.run("import", str(file), "--json").json
    assert told == {
        "added": 9,
        "counts": {"lately": 6, "words": 3},
        "known": 0,
        "renumbered": 0,
        "refused": {},
    }
    assert rosie.run("list", "--json").json == before
    assert rosie.run("import", str(file), "--json").json["known"] == 9
    assert rosie.run("search", "door code").code == 0


def test_export_replaces_a_file_only_when_told(rosie: Any) -> None:
    file = rosie.home / "all.jsonl"
    file.write_text("mine")

    assert rosie.run("export", str(file)).code == 2 and file.read_text() == "mine"
    assert rosie.run("export", str(file), "--force").code == 0
    assert json.loads(file.read_text().splitlines()[0]) == {"format": "ovos-memory/export", "version": 1}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_import_reads_what_1x_left(rosie: Any, tmp_path: Path) -> None:
    database = tmp_path / "old.db"
    with sqlite3.connect(database) as old:
        old.execute("CREATE VIRTUAL TABLE lexical_memory USING fts5(doc_id, session_id, content)")
        rows = [("s_0", "s", "Q: one\nA: two"), ("s_0", "s", "Q: three\nA: four"), ("t_0", "t", "verbatim")]
        old.executemany("INSERT INTO lexical_memory VALUES (?, ?, ?)", rows)
    recency = tmp_path / "old.json"
    recency.write_text(json.dumps({"r": {"buffer": [{"ts": 5.5, "role": "user", "content": "hello"}]}}))

    assert rosie.run("import", str(database)).code == 0
    assert rosie.run("import", str(recency)).code == 0
    records = {r["id"]: r for r in rosie.run("list", "--json").json}
    assert records["words/s_1"]["question"] == "three" and records["words/t_0"]["text"] == "verbatim"
    assert records["lately/r_5500"]["created_at"] == 5.5


def test_a_damaged_store_is_recovered_into_its_member(rosie: Any) -> None:
    path = rosie.home / "data" / "lexical.db"
    aside = path.with_name("lexical.db.corrupt-1")
    path.rename(aside)
    assert rosie.run("list", "--json", "-q", "door code").json[0]["origin"] == "lately"

    told = rosie.run("recover", str(aside), "--json").json
    assert told["read"] == 3 and told["missing"] == told["unreadable"] == 0
    assert told["counts"] == {"lately": 0, "words": 3}
    assert rosie.run("show", "words/kitchen_0").code == 0 and rosie.run("search", "door code").code == 0
    done = rosie.run("recover", str(aside))
    assert done.code == 0 and "3 records read" in done.out and "3 were there already" in done.out
    assert aside.exists()
    assert rosie.run("forget", "-q", "door code", "--yes").code == 0
    assert not rosie.files_with("4512")


def test_what_nothing_can_be_read_of_is_said(rosie: Any) -> None:
    aside = rosie.home / "data" / "lexical.db.corrupt-1"
    aside.write_bytes(b"\xff" * 9_000)

    done = rosie.run("recover", str(aside))
    assert done.code == 1 and "nothing that can be recognised" in done.err


def test_import_of_something_else_is_an_error(rosie: Any, tmp_path: Path) -> None:
    for name, content in (
        ("a.txt", "hello"),
        ("b.json", '{"a": 1}'),
        ("c.jsonl", '{"kind": "exchange"}\nnothing'),
    ):
        (tmp_path / name).write_text(content)
        done = rosie.run("import", str(tmp_path / name))
        assert done.code == 1 and done.err.strip().startswith("Error:") and "Traceback" not in done.err
    assert len(rosie.run("list", "--json").json) == 9


def test_a_plugin_with_its_configuration_is_a_memory_too(user: Any) -> None:
    block = {"db_path": str(user.home / "data" / "words.db")}
    memory = user.open(LEXICAL, block)
    user.tell(memory, "my door code is 4512")
    memory.close()
    config = user.home / "block.json"
    config.write_text(json.dumps(block))

    options = ["-m", LEXICAL, "--config", str(config)]
    assert user.run("list", *options, "--json").json[0]["id"] == "kitchen_0"
    assert user.run("forget", *options, "-q", "door code", "--yes").code == 0
    assert not user.files_with("4512")


def test_a_running_persona_sees_the_change_on_its_next_turn(rosie: Any) -> None:
    memory = rosie.open()
    assert "4512" in str(memory.build_conversation_context("what is my door code", "kitchen"))

    assert rosie.run("forget", "--query", "door code", "--yes").code == 0
    assert "4512" not in str(memory.build_conversation_context("what is my door code", "kitchen"))
    rosie.tell(memory, "good night")
    assert not rosie.files_with("4512")

    assert rosie.run("edit", "words/kitchen_1", "--question", "I drink milk").code == 0
    assert "I drink milk" in str(memory.build_conversation_context("what do I drink", "kitchen"))
    memory.close()
