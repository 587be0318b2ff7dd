"""A user with a persona whose memory has real stores, and the command as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from ovos_plugin_manager.agents import load_memory_plugin
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.testing.commands import Ended, run_command

COMPOSITE = "ovos-memory-plugin-composite"
LEXICAL = "ovos-memory-plugin-lexical"
RECENCY = "ovos-memory-plugin-recency"
HANDLER = "parrot-of-tests"
"""What answers for a persona here: it is installed, and no chat engine."""

PLUGIN = "class Plugin:\n    def __init__(self, *_, **__):\n        raise SystemExit('an object was made')\n"


class Done(Ended):
    """How a command ended."""

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class User:
    """Somebody with a home of their own."""

    home: Path

    @property
    def installed(self) -> Path:
        """A folder with a plugin of theirs, for ``sys.path``."""
        return self.home / "installed"

    def install(self, name: str, group: str, source: str = PLUGIN, *, package: str = "") -> None:
        """Install a plugin whose module is ``source``; making an object of its class ends the process."""
        package = package or name
        stem = package.replace("-", "_")
        folder = self.installed / f"{stem}-1.0.dist-info"
        folder.mkdir(parents=True)
        module = f"{stem}_{crc32(source.encode())}"
        (self.installed / f"{module}.py").write_text(source)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:Plugin\n")

    @property
    def environment(self) -> dict[str, str]:
        folders = {f"XDG_{name}_HOME": str(self.home / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
        paths = os.pathsep.join([str(self.installed), *(path for path in sys.path if path)])
        clean = {k: v for k, v in os.environ.items() if not k.startswith("OVOS_")}
        return {**clean, **folders, "HOME": str(self.home), "PYTHONPATH": paths, "COLUMNS": "200"}

    def run(self, *arguments: str, stdin: str = "", editor: str = "false") -> Done:
        """Run the command in a process whose imports are paid for."""
        environment = {**self.environment, "EDITOR": editor, "VISUAL": editor}
        preload = ["ovos_memory.testing.all_plugins", "ovos_memory.lexical.store"]
        ended = run_command(
            "ovos_memory.cli.main:main", arguments, environment=environment, stdin=stdin, preload=preload
        )
        return Done(ended.code, ended.out, ended.err)

    def run_afresh(self, *arguments: str, stdin: str = "") -> Done:
        """Run the command as a shell does."""
        command = [sys.executable, "-m", "ovos_memory.cli.main", *arguments]
        ended = subprocess.run(
            command, capture_output=True, text=True, input=stdin, env=self.environment, timeout=120
        )
        return Done(ended.returncode, ended.stdout, ended.stderr)

    def persona(self, name: str, block: Mapping[str, Any], *, module: str = COMPOSITE, **more: Any) -> Path:
        folder = self.home / "config" / "ovos_persona"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name.lower()}.json"
        persona = {"name": name, "handlers": [HANDLER], "memory_module": module, module: dict(block), **more}
        path.write_text(json.dumps(persona), encoding="utf-8")
        return path

    def block(self) -> dict[str, Any]:
        data = self.home / "data"
        return {
            "members": [
                {"module": RECENCY, "name": "lately", "config": {"db_path": str(data / "recency.json")}},
                {"module": LEXICAL, "name": "words", "config": {"db_path": str(data / "lexical.db")}},
            ],
            "primary": "lately",
        }

    def open(self, module: str = COMPOSITE, block: Mapping[str, Any] | None = None) -> Any:
        """Return the memory in this process, as a running persona has it."""
        return load_memory_plugin(module)(config=dict(self.block() if block is None else block))

    @staticmethod
    def tell(memory: Any, question: str, answer: str = "noted", session_id: str = "kitchen") -> None:
        said = [AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer)]
        memory.update_history(said, session_id)

    def files_with(self, text: str) -> list[Path]:
        files = [file for file in (self.home / "data").rglob("*") if file.is_file()]
        return [file for file in files if text.encode() in file.read_bytes()]


@pytest.fixture
def user(tmp_path: Path) -> User:
    """Return somebody without any persona."""
    user = User(tmp_path)
    user.install(HANDLER, "opm.solver.question")
    return user


@pytest.fixture
def rosie(user: User) -> User:
    """Return somebody whose only persona remembers some things."""
    user.persona("Rosie", user.block())
    memory = user.open()
    user.tell(memory, "my door code is 4512")
    user.tell(memory, "I drink tea at five")
    user.tell(memory, "coffee for me", session_id="hall")
    memory.close()
    return user
