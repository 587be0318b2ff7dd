from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage

from ovos_memory.testing.discovery import Subject, stand_ins
from ovos_memory.testing.fakes import PlainMember, install_plugin
from ovos_memory.testing.managed_reference import ManagedReference
from ovos_memory.testing.processes import environment
from ovos_memory.testing.reference import ReferenceMemory

NAME = "memory-of-somebody"
OTHER = f'''
from ovos_memory.testing.reference import ReferenceMemory

class Forgetful(ReferenceMemory):
    plugin_name = "{NAME}"

    def get_history(self, session_id=None):
        return super().get_history(session_id)[1:]

class Excused(Forgetful):
    memory_contract = {{"expected_failures": {{"test_an_exchange_is_kept_as_it_was_said": "forgets the first"}}}}

class Odd(Forgetful):
    memory_contract = {{"retrievs": True}}
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "somebodys.py").write_text(OTHER)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def _check(*arguments: str) -> subprocess.CompletedProcess[str]:
    is_installed = any(point.name == "ovos-memory" for point in entry_points(group="pytest11"))
    loading = [] if is_installed else ["-p", "ovos_memory.testing.plugin"]
    options = ["-c", "/dev/null", "-p", "no:cacheprovider", "--pyargs", "ovos_memory.testing.selfcheck"]
    command = [sys.executable, "-m", "pytest", *loading, *options, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=250, check=False
    )


def test_an_installed_plugin_is_checked_without_a_line_of_test_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin(folder, monkeypatch, ReferenceMemory.plugin_name, ReferenceMemory)
    found = _check(
        "--memory-plugin",
        ReferenceMemory.plugin_name,
        "-k",
        "kept_as_it_was_said or settings_are_read or sources_are_numbered or goes_on_after",
    )

    assert found.returncode == 0, found.stdout
    assert f"memory plugin: {ReferenceMemory.plugin_name}" in found.stdout
    assert "path_key: db_path" in found.stdout and "store_format: sqlite" in found.stdout


def test_a_broken_plugin_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(folder, monkeypatch, NAME, "somebodys:Forgetful")
    found = _check("--memory-plugin", NAME, "-k", "kept_as_it_was_said")

    assert found.returncode == 1 and "1 failed" in found.stdout


def test_a_plugin_may_declare_a_known_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(folder, monkeypatch, NAME, "somebodys:Excused")
    found = _check("--memory-plugin", NAME, "-k", "kept_as_it_was_said", "-rx")

    assert found.returncode == 0 and "1 xfailed" in found.stdout and "forgets the first" in found.stdout


def test_a_wrong_declaration_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(folder, monkeypatch, NAME, "somebodys:Odd")
    found = _check("--memory-plugin", NAME)

    assert found.returncode != 0 and "names no declarations: retrievs" in found.stdout + found.stderr


def test_a_plugin_that_is_not_installed_is_named() -> None:
    found = _check("--memory-plugin", "nobodys-memory")

    assert found.returncode != 0
    assert "no memory plugin 'nobodys-memory' is installed" in found.stdout + found.stderr


def test_the_plugin_must_be_named() -> None:
    assert "--memory-plugin NAME" in _check().stdout


@pytest.mark.parametrize(
    "content",
    [{"max_history": 4}, {"memory_module": NAME, NAME: {"max_history": 4}}],
)
def test_settings_come_from_a_block_or_a_persona(
    folder: Path, monkeypatch: pytest.MonkeyPatch, content: dict[str, Any]
) -> None:
    install_plugin(folder, monkeypatch, NAME, "somebodys:Forgetful")
    file = folder / "persona.json"
    file.write_text(json.dumps(content))
    options = {"--memory-plugin": NAME, "--memory-config": str(file), "--memory-real": False}

    class Config:
        getoption = staticmethod(options.get)

    assert Subject.chosen(Config()).declared()["config"] == {"max_history": 4}  # type: ignore[arg-type]


@pytest.mark.parametrize("content", ["{", "[1]"])
def test_a_file_that_is_no_configuration_is_named(folder: Path, content: str) -> None:
    file = folder / "persona.json"
    file.write_text(content)
    found = _check("--memory-plugin", "ovos-memory-plugin-reference", "--memory-config", str(file))

    assert found.returncode != 0


def test_a_class_is_what_it_offers() -> None:
    declared = Subject("x", ManagedReference, {}, False).declared()

    offered = (
        "keeps_history",
        "retrieves",
        "scopes",
        "thresholds",
        "reports_health",
        "manages",
        "persistent",
    )
    assert [name for name in offered if not declared[name]] == []
    assert declared["configure"](Path("/data"))["db_path"] == "/data/memory.db"


def test_a_memory_that_writes_while_its_folder_is_removed_is_checked_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rmdir = os.rmdir

    def written_into(path: str, **more: Any) -> None:
        if Path(path).name == "probe":
            raise OSError(errno.ENOTEMPTY, "Directory not empty", path)
        rmdir(path, **more)

    monkeypatch.setattr(os, "rmdir", written_into)

    assert Subject("x", ManagedReference, {}, False).declared()["persistent"]


def test_a_class_that_tells_nothing_is_held_to_the_three_methods() -> None:
    declared = Subject("x", PlainMember, {}, False).declared()

    assert [name for name, value in declared.items() if value is True] == ["keeps_history"]


def test_stand_ins_go_where_a_constructor_takes_them() -> None:
    class Asking(PlainMember):
        def __init__(self, config: Mapping[str, Any] | None = None, *, chat: Any = None) -> None:
            super().__init__(config)
            self.chat = chat

    assert list(stand_ins(Asking)) == ["chat"] and stand_ins(PlainMember) == {}
    assert Subject("x", Asking, {}, False).make({}).chat is not None
    assert Subject("x", Asking, {}, True).make({}).chat is None


def test_a_declaration_overrules_what_is_offered() -> None:
    class Modest(ReferenceMemory):
        memory_contract: ClassVar[dict[str, Any]] = {"persistent": False, "stores_texts": False}

        def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
            return super().get_history(session_id)

    declared = Subject("x", Modest, {}, False).declared()
    assert not declared["persistent"] and not declared["stores_texts"] and declared["retrieves"]


def test_the_module_imports_outside_of_a_check() -> None:
    code = "import sys, ovos_memory.testing.selfcheck as s; sys.exit(hasattr(s, 'TestMemoryPlugin'))"

    assert subprocess.run([sys.executable, "-c", code], env=environment(), check=False).returncode == 0


def test_a_second_name_of_a_plugin_is_held_to_the_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin(folder, monkeypatch, ReferenceMemory.plugin_name, ReferenceMemory)
    install_plugin(folder, monkeypatch, "another-name", ReferenceMemory)

    for name in (ReferenceMemory.plugin_name, "another-name"):
        declared = Subject(name, ReferenceMemory, {}, False).declared()
        assert declared["plugin"] == ReferenceMemory.plugin_name
    assert Subject("x", PlainMember, {}, False).declared()["plugin"] == "x"


def test_files_that_the_settings_place_are_kept_in_the_folder_of_a_test() -> None:
    settings = {"members": [{"module": "x", "config": {"db_path": "{folder}/x.db"}}, "y"], "max_history": 4}

    declared = Subject("x", PlainMember, settings, False).declared()

    placed = {"module": "x", "config": {"db_path": "/data/x.db"}}
    assert declared["persistent"] and declared["configure"](Path("/data"))["members"] == [placed, "y"]
    assert not Subject("x", PlainMember, {"max_history": 4}, False).declared()["persistent"]
