"""Every file in shared/examples works as it stands; a persona's server is the only thing replaced."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ovos_bus_client.session import Session
from ovos_persona import Persona

from ovos_memory.testing.fakes.server import FakeServer

MODEL = "all-minilm-l6-v2.gguf"
EXAMPLES = Path(__file__).parents[1] / "examples"
PERSONAS = sorted(EXAMPLES.glob("persona_*.json"))
FORGETS = {"persona_short_term.json"}  # by its nature


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home folder of the test's own; the examples write to ``~``."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def server():
    with FakeServer(["POL-358, I think."]) as running:
        yield running


def read(path, server):
    config = json.loads(path.read_text(encoding="utf-8"))
    assert "ovos-chat-openai-plugin" in config["handlers"]
    config["ovos-chat-openai-plugin"]["api_url"] = server.url
    return config


def turn(persona, utterance, session="kitchen"):
    session = Session(session)
    answer = persona.chat(persona.get_messages(utterance, session), session)
    persona.remember(utterance, answer, session)
    return answer


def run(*command, models=None):
    """Run an example; without ``models``, the folder of a real one, it embeds as where no model is installed."""
    environment = {**os.environ, "NO_COLOR": "1", "OVOS_MEMORY_TEST_MODELS": models or os.devnull}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("path", PERSONAS, ids=lambda path: path.stem)
def test_a_persona_of_the_examples_remembers(path, server, home):
    persona = Persona("Rosie", read(path, server))
    assert turn(persona, "My parcel is in locker POL-358.") == "POL-358, I think."

    if path.name not in FORGETS:
        persona = Persona("Rosie", read(path, server))  # as after a restart
    turn(persona, "Which locker is my parcel in?")

    sent = server.chats[-1].payload["messages"]
    assert any("POL-358" in message["content"] for message in sent[:-1])
    assert sent[0] == {"role": "system", "content": persona.memory.system_prompt}
    assert sent[-1] == {"role": "user", "content": "Which locker is my parcel in?"}


@pytest.mark.parametrize("path", PERSONAS, ids=lambda path: path.stem)
def test_a_persona_of_the_examples_writes_below_home_alone(path, server, home, tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    turn(Persona("Rosie", read(path, server)), "My parcel is in locker POL-358.")

    assert list(work.iterdir()) == []
    kept = list((home / ".local" / "share" / "ovos").glob("rosie_*"))
    assert bool(kept) is (path.name not in FORGETS)


def test_every_backend_has_an_example():
    modules = {json.loads(path.read_text(encoding="utf-8"))["memory_module"] for path in PERSONAS}
    backends = {path.name for path in (EXAMPLES.parents[1] / "packages").glob("ovos-memory-plugin-*")}

    assert modules == backends


@pytest.fixture(params=["stand-in", pytest.param("model", marks=pytest.mark.models)])
def models(request):
    """Folder of the embeddings model; ``None`` for the demos' stand-in."""
    return os.environ["OVOS_MEMORY_TEST_MODELS"] if request.param == "model" else None


def test_the_composite_example_is_the_one_of_the_documentation():
    config = json.loads((EXAMPLES / "persona_composite.json").read_text(encoding="utf-8"))
    block = config["ovos-memory-plugin-composite"]

    retrievers = [member["module"] for member in block["members"]]
    assert retrievers == ["ovos-memory-plugin-local-rag", "ovos-memory-plugin-lexical"]
    assert (block["fusion"], block["primary"]) == ("rrf", retrievers[0])


def test_the_demo_remembers_what_another_process_was_told(models):
    screen = run(EXAMPLES / "demo.py", models=models)

    assert f"embedded by {MODEL if models else 'a stand-in'}" in screen
    first, second = re.findall(r"process (\d+): ", screen)
    assert first != second
    asked = screen.split("started anew, is asked")[1]
    expected = {
        "Which locker is my parcel in?": "POL-358",
        "Who was it that repaired our boiler?": "Achterberg",
        "What colour is the kitchen?": "Lichen 19",
        "When is my hospital appointment, for the knee?": "ninth of June",
        "What do we need for the appel cake?": "butter",
    }
    for question, answer in expected.items():
        best = asked.split(f"\n  {question}\n")[1].split("\n   2. ")[0].split("to the chat engine")[0]
        assert "   1. " in best and answer in best, question
        assert re.search(r"(local-rag|lexical|spelling) ranks it \d", best), question
    assert "local-rag ranks it 2 · lexical ranks it 2 · no member ranks it first" in asked
    assert asked.count("<recalled-memory>") == len(expected)


def test_the_demo_lets_a_model_answer_that_sees_what_was_recalled(server):
    server.replies = [lambda payload: f"I was sent {len(payload['messages'])} messages."]

    screen = run(EXAMPLES / "demo.py", "--api-url", server.url)

    last = server.chats[-1].payload
    assert last["model"] == "fake-chat"  # not the embedding model that the server lists first
    assert any(m["role"] == "system" and "butter" in m["content"] for m in last["messages"])
    assert f"I was sent {len(last['messages'])} messages." in screen


def test_the_demo_keeps_its_memory_where_it_is_told(tmp_path):
    run(EXAMPLES / "demo.py", "--folder", tmp_path / "kept")

    assert {"local-rag.db", "lexical.db", "spelling.db"} <= {
        path.name for path in (tmp_path / "kept").iterdir()
    }


def test_the_composite_demo_finds_what_neither_member_ranks_first(models):
    screen = run(EXAMPLES / "demo_composite.py", models=models)

    assert f"embedded by {MODEL if models else 'a stand-in'}" in screen
    best = dict(re.findall(r"^(\w+ alone|fusion: \w+)\n  1\. (.*?)  ", screen, flags=re.MULTILINE))
    assert best["fusion: rrf"].startswith("Jansen will look at my knee")
    assert not best["meaning alone"].startswith("Jansen")
    assert not best["words alone"].startswith("Jansen")
    assert best["fusion: priority"] == best["meaning alone"]
    assert len(best) == 7
