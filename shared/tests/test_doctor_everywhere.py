"""What makes recall by meaning silently useless is found by ``ovos-memory doctor``, and a healthy persona is left alone."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ovos_plugin_manager.utils as opm
import pytest
from ovos_persona.solvers import get_utterance_handler_plugins

from ovos_memory.cli import checks_handlers
from ovos_memory.cli.checking import findings
from ovos_memory.cli.target import Target
from ovos_memory.core.management_types import Trouble
from ovos_memory.testing.fakes.members import install_plugin
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.household import COMPOSITE, Household
from ovos_memory.testing.messages import pair

RAG = "ovos-memory-plugin-local-rag"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeServer) -> Household:
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    home = Household(tmp_path, facts_url=server.url, summary_url=server.url, chat_url=server.url)
    monkeypatch.syspath_prepend(str(home.installed))
    return home


def block(home: Household, **more: Any) -> dict[str, Any]:
    path = str(home.data / "vectors.db")
    return {
        "embeddings_plugin": "words-of-tests",
        "embeddings_db_plugin": None,
        "db_path": path,
        "preload": False,
        **more,
    }


def found(config: dict[str, Any], *, module: str = RAG, is_offline: bool = False) -> dict[str, Trouble]:
    told = findings(Target("x", module, config), is_offline=is_offline)
    return {
        finding.check: finding
        for finding in told
        if finding.check != "embeddings" or "extra" not in finding.what
    }


def fill(config: dict[str, Any], count: int = 10) -> None:
    from ovos_memory.local_rag import LocalRAGMemory

    memory = LocalRAGMemory(config)
    for number in range(count):
        memory.update_history(pair(f"fact {number}", "noted"), "s")
    memory.close()


def test_a_healthy_persona_of_all_backends_gives_nothing(home: Household) -> None:
    memory = home.open()
    home.tell(memory, ["I drink tea", "my dog is called Rex"], "s")
    memory.close()

    done = home.run("doctor")
    assert (done.code, done.out) == (0, "Rosie: nothing is wrong\n"), done.err


def test_all_of_it_on_one_model_server_asks_it_once(home: Household, server: FakeServer) -> None:
    server.requests.clear()

    assert home.run("doctor").code == 0
    assert [request.path for request in server.requests] == ["/v1/models"]


def test_a_chat_engine_whose_model_is_missing(home: Household, server: FakeServer) -> None:
    persona = json.loads(home.persona.read_text())
    persona["ovos-chat-openai-plugin"]["model"] = "llama3.2"
    home.persona.write_text(json.dumps(persona))

    done = home.run("doctor", "--json")
    (finding,) = json.loads(done.out)
    assert done.code == 1 and finding["where"] == "ovos-chat-openai-plugin"
    assert "has no model 'llama3.2'" in finding["what"]
    server.models = ["llama3.2:latest"]
    assert home.run("doctor").code == 0


def test_a_chat_engine_that_is_installed_and_cannot_be_loaded(
    home: Household, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    install_plugin(theirs, monkeypatch, "broken-chat", "broken_chat:Plugin", group="opm.agents.chat")
    (theirs / "broken_chat.py").write_text("raise OSError('gone')")
    config = {"chat_engine": {"module": "broken-chat"}, "db_path": str(tmp_path / "e.json")}

    finding = found(config, module="ovos-memory-plugin-entity", is_offline=True)["model"]

    assert "(OSError: gone), so nothing is learned" in finding.what
    assert finding.remedy.split()[-1] == "broken-chat"


def test_handlers_are_looked_for_where_ovos_persona_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    monkeypatch.setattr(opm, "_iter_plugins", lambda group: asked.add(getattr(group, "value", group)) or ())

    get_utterance_handler_plugins()
    assert asked == set(checks_handlers.GROUPS)


def test_another_embeddings_model(home: Household) -> None:
    fill(block(home))
    other = block(home, embeddings_config={"salt": "another model"})
    before = (home.data / "vectors.db").read_bytes()

    finding = found(other)["embedding model"]
    assert "10 exchanges have no vectors" in finding.what and "ovos-memory reindex" in finding.remedy
    assert (home.data / "vectors.db").read_bytes() == before
    assert "embedding model" not in found(other, is_offline=True)
    assert found(block(home)) == {}


def test_vectors_that_are_missing(home: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    from ovos_memory.core.worker import Worker

    monkeypatch.setattr(Worker, "wake", lambda self: None)  # nobody is at work on them just now
    fill(block(home, embeddings_config={"mode": "raises"}), 12)

    finding = found(block(home))["index"]
    assert "12 of 12 exchanges have no vectors" in finding.what and "ovos-memory reindex" in finding.remedy


def test_a_model_that_does_not_load(home: Household) -> None:
    finding = found(block(home, embeddings_config={"mode": "raises"}))["embeddings"]

    assert "could not load its model" in finding.what and "embeddings_config" in finding.remedy
    assert found(block(home, embeddings_config={"mode": "raises"}), is_offline=True) == {}


def test_plugins_that_are_not_installed(home: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = found(block(home, embeddings_plugin="ovos-nowhere-plugin"))["embeddings"]
    assert "'ovos-nowhere-plugin'" in finding.what and "pip install ovos-nowhere-plugin" in finding.remedy
    finding = found(block(home, embeddings_db_plugin="ovos-nowhere-db"))["embeddings"]
    assert "'ovos-nowhere-db'" in finding.what and "pip install ovos-nowhere-db" in finding.remedy


def test_a_served_store_cannot_be_proven_clean(home: Household) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=server.accept, daemon=True).start()
        port = server.getsockname()[1]
        config = block(
            home,
            embeddings_db_plugin="ovos-chromadb-embeddings-plugin",
            embeddings_db_config={"host": "127.0.0.1", "port": port},
        )
        told = found(config)
        assert f"127.0.0.1:{port}" in told["served store"].what and told["served store"].level == "advice"
        assert "backups" in told["served store"].remedy and "vector store" not in told
    finding = found(config)["vector store"]
    assert "no vector store answers" in finding.what and "start the server" in finding.remedy


def test_a_vector_store_that_is_damaged_or_was_set_aside(home: Household) -> None:
    folder = home.data / "vectors"
    folder.mkdir(parents=True)
    config = block(
        home,
        embeddings_db_plugin="ovos-chromadb-embeddings-plugin",
        embeddings_db_config={"path": str(folder)},
    )
    (folder / "chroma.sqlite3.corrupt-1").write_text("x")
    told = found(config)
    assert "delete it" in told["set aside"].remedy and "damage" not in told
    (folder / "chroma.sqlite3").write_bytes(b"no database" * 500)
    finding = found(config)["damage"]
    assert "is damaged" in finding.what and "filled again from the ledger" in finding.remedy
    assert (folder / "chroma.sqlite3").exists()


def test_members_that_share_a_collection(home: Household) -> None:
    def members(*configs: dict[str, Any]) -> dict[str, Any]:
        return {"members": [{"module": RAG, "name": f"m{n}", "config": c} for n, c in enumerate(configs)]}

    def at(path: str, ledger: str) -> dict[str, Any]:
        store = {
            "embeddings_db_plugin": "ovos-chromadb-embeddings-plugin",
            "embeddings_db_config": {"path": path},
        }
        return block(home, db_path=str(home.data / ledger), **store)

    finding = found(members(at("~/v", "a.db"), at(str(Path("~/v").expanduser()), "b.db")), module=COMPOSITE)
    assert "same collection" in finding["shared path"].what
    assert "collection of its own" in finding["shared path"].remedy
    own = found(members(at("~/v", "a.db"), at("~/w", "b.db")), module=COMPOSITE)
    alone = members(*(block(home, db_path=str(home.data / name)) for name in ("a.db", "b.db")))
    assert "shared path" not in own and "shared path" not in found(alone, module=COMPOSITE)


def test_a_primary_without_turns(home: Household) -> None:
    entity = next(m for m in home.block["members"] if m["name"] == "facts")
    others = [m for m in home.block["members"] if m["name"] != "facts"]

    finding = found({"members": [entity, *others]}, module=COMPOSITE, is_offline=True)["primary"]
    assert "'facts'" in finding.what and '"primary": "lately"' in finding.remedy


def test_an_engine_that_drops_what_is_known(home: Household) -> None:
    persona = json.loads(home.persona.read_text())
    persona["ovos-chat-openai-plugin"]["allow_system_prompts"] = False
    home.persona.write_text(json.dumps(persona))

    done = home.run("doctor", "--json")
    assert done.code == 1
    (finding,) = json.loads(done.out)
    assert finding["check"] == "system messages" and "what 'facts' knows" in finding["what"]
    assert '"allow_system_prompts": true' in finding["remedy"]
