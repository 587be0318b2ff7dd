"""The folders and files of one OVOS user."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

PLUGIN = "ovos-chat-listening-plugin"
"""Name of the chat engine in listening_chat.py."""
TIMED = "ovos-memory-timed-plugin"
"""Name of the memory in timed_memory.py."""
PIPELINE = (
    "ovos-stop-pipeline-plugin-high",
    "ovos-persona-pipeline-plugin-high",
    "ovos-persona-pipeline-plugin-low",
)


class Home:
    """A user whose configuration, data and state lie below one folder."""

    def __init__(self, folder: Path, bus_port: int = 8181) -> None:
        self.folder = folder
        self.bus_port = bus_port
        self.personas = folder / "config" / "ovos_persona"
        self.personas.mkdir(parents=True, exist_ok=True)

    def variables(self) -> dict[str, str]:
        """Return the environment variables that point a process at this user's folders."""
        found = {
            f"XDG_{name}_HOME": str(self.folder / name.lower())
            for name in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        return found | {"HOME": str(self.folder)}

    def environment(self) -> dict[str, str]:
        """Return the whole environment of a process of this user."""
        return {**os.environ, **self.variables()}

    def configure(self, default_persona: str) -> None:
        """Write mycroft.conf: personas answer everything but "stop"."""
        persona = {
            "default_persona": default_persona,
            "handle_fallback": True,
            "ignore_plugin_personas": True,
            "personas_path": str(self.personas),
        }
        text = {
            "lang": "en-US",
            "websocket": {"host": "127.0.0.1", "port": self.bus_port},
            "intents": {
                "persona": persona,
                "ovos-persona-pipeline-plugin": persona,
                "pipeline": PIPELINE,
            },
        }
        file = self.folder / "config" / "mycroft" / "mycroft.conf"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(text), encoding="utf-8")

    def add_persona(self, name: str, memory: str | None = None, **settings: Any) -> None:
        """Write a persona that answers with the listening engine; no memory given is OVOS's default."""
        persona: dict[str, Any] = {"name": name, "handlers": [PLUGIN], PLUGIN: {"log": str(self.log(name))}}
        if memory:
            persona |= {"memory_module": memory, memory: settings}
        (self.personas / f"{name}.json").write_text(json.dumps(persona), encoding="utf-8")

    def log(self, name: str) -> Path:
        """Return the file in which a persona's engine writes down what it gets."""
        return self.folder / f"{name}.log"

    def heard(self, name: str) -> list[list[list[str]]]:
        """Return what a persona's engine got, call by call: [role, text] pairs."""
        lines = self.log(name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def heard_last(self, name: str, question: str) -> str:
        """Return all that the engine got in front of its newest call with this question, in one string."""
        calls = [call for call in self.heard(name) if call[-1][1].endswith(question)]
        texts = [text for _, text in calls[-1]]
        return "\n".join([*texts[:-1], texts[-1].removesuffix(question)])

    def go_on(self, name: str) -> None:
        """Let a persona that is counting go on."""
        self.log(name).with_name(f"{name}.log.go").touch()


def register_plugins(folder: Path) -> None:
    """Write into ``folder`` what pip would write when it installs a package with these entry points."""
    info = folder / "ovos_memory_e2e-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ovos-memory-e2e\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        f"[opm.agents.chat]\n{PLUGIN} = listening_chat:ListeningChat\n"
        f"[opm.agents.memory]\n{TIMED} = timed_memory:TimedMemory\n",
        encoding="utf-8",
    )
