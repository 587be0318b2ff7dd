"""The walk-throughs of shared/docs/set-up.md, word for word, in an empty home folder.

The commands are read from the page and run as they stand there, in one shell.  Two things are given, and nothing else
is changed: the port numbers of the page (11434 of the language model, 8337 of the server) are replaced by free ones,
since a port may be taken here; and the environment says where pip finds the wheels of this checkout and which port the
message bus takes.  The language model is a small one on llama.cpp's server.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from hivemind_persona_agent_plugin import PersonaAgentProtocol
from processes import free_port

PAGE = Path(__file__).parents[1] / "docs" / "set-up.md"
WALKS = {
    "box": ["One assistant that remembers across restarts", "A memory for each member of the family"],
    "server": ["A server with many users"],
}
MARK = "--- end of block"


def blocks(title: str) -> list[tuple[str, str]]:
    """Return the code blocks of a chapter in order: language, text."""
    text = PAGE.read_text(encoding="utf-8")
    chapter = re.split(r"^## ", text, flags=re.M)
    (found,) = [part for part in chapter if part.startswith(title + "\n")]
    return re.findall(r"^```(\w+)\n(.*?)^```$", found, flags=re.M | re.S)


def own_environment(home: Path, bus_port: int) -> dict[str, str]:
    """Return the environment of a fresh user."""
    system = home / "system" / "mycroft" / "mycroft.conf"
    system.parent.mkdir(parents=True)
    system.write_text(json.dumps({"websocket": {"host": "127.0.0.1", "port": bus_port}}), encoding="utf-8")
    links = " ".join(
        filter(None, [os.environ["OVOS_MEMORY_TEST_DIST"], os.environ.get("PIP_FIND_LINKS", "")])
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTHON"))}
    kept.pop("OVOS_DEFAULT_LOG_LEVEL", None)
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_DIRS": str(home / "system"),
        "PIP_FIND_LINKS": links,
    }


def run(script: str, env: dict[str, str], timeout_s: float) -> str:
    """Run a script in a shell of its own, end what it started, and return its output."""
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        env=env,
        cwd=env["HOME"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=timeout_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)
    assert shell.returncode == 0, output[-6000:]
    return output


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_through_does_what_the_page_says(walk, tmp_path, api_url):
    found = [block for title in WALKS[walk] for block in blocks(title)]
    commands = [text for language, text in found if language == "bash"]
    script = f"\necho '{MARK}'\n".join(commands)
    script += "\nkill $(jobs -p) || true\n"
    script = script.replace("11434", api_url.split(":")[2].split("/")[0]).replace("8337", str(free_port()))

    output = run(script, own_environment(tmp_path, free_port()), timeout_s=420).split(MARK)

    number = -1
    for language, text in found:
        if language == "bash":
            number += 1
        elif language == "text":
            for line in text.splitlines():
                assert line in output[number], f"after block {number + 1} of {walk}"


def test_the_hivemind_host_of_the_page_loads_its_persona(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    found = blocks("A server with many users")
    (persona,) = re.findall(r"Rosie\.json <<'EOF'\n(.*?)^EOF$", found[0][1], flags=re.M | re.S)
    (tmp_path / "personas").mkdir()
    (tmp_path / "personas" / "Rosie.json").write_text(persona, encoding="utf-8")
    (config,) = [json.loads(text)["agent_protocol"] for language, text in found if language == "json"]

    agent = PersonaAgentProtocol(config=config[config["module"]])

    assert agent.persona.memory.health()["plugin"] == "ovos-memory-plugin-composite"
