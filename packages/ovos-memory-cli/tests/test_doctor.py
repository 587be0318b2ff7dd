"""Each thing that makes memory silently useless is found, and what is in order is not."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.cli import checks_config, checks_handlers, checks_models, checks_store
from ovos_memory.cli.blocks import Block, blocks_of
from ovos_memory.cli.checking import findings
from ovos_memory.cli.target import Target
from ovos_memory.core.management_types import Trouble
from ovos_memory.testing.fakes.server import FakeServer

LEXICAL = "ovos-memory-plugin-lexical"
RECENCY = "ovos-memory-plugin-recency"
COMPOSITE = "ovos-memory-plugin-composite"
HANDLER = "parrot-of-tests"


def found(target: Target) -> dict[str, Trouble]:
    return {finding.check: finding for finding in findings(target, is_offline=True)}


def engine(**config: Any) -> dict[str, Any]:
    return {"handlers": ["ovos-chat-openai-plugin"], "ovos-chat-openai-plugin": config}


def test_what_is_in_order_is_left_alone(rosie: Any) -> None:
    done = rosie.run("doctor", "--offline")
    assert done.code == 0 and "nothing is wrong" in done.out
    assert rosie.run("doctor", "--offline", "--json").json == []


def test_a_problem_ends_with_one_and_says_how_to_mend_it(user: Any) -> None:
    user.persona("Rosie", user.block(), **engine())

    done = user.run("doctor", "--offline")
    assert done.code == 1 and "allow_system_prompts" in done.out
    told = user.run("doctor", "--offline", "--json").json
    assert told[0]["level"] == "problem" and told[0]["remedy"]


# ---------------------------------------------------------------------- who answers
@pytest.mark.parametrize("key", ["handlers", "solvers"])
def test_a_handler_that_is_not_installed(user: Any, key: str) -> None:
    user.persona("Rosie", user.block(), **{"handlers": [], key: ["nobody", HANDLER]})

    (finding,) = user.run("doctor", "--offline", "--json").json
    assert (finding["check"], finding["level"]) == ("handlers", "problem") and "'nobody'" in finding["what"]
    assert finding["remedy"] == "pip install nobody, or correct the name"


@pytest.mark.parametrize("group", checks_handlers.GROUPS)
def test_a_handler_of_every_kind_is_known(user: Any, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    user.install("mine", group)
    monkeypatch.syspath_prepend(str(user.installed))

    target = Target("Rosie", LEXICAL, {}, {"handlers": ["mine", "hers"]})
    assert ["'hers'" in finding.what for finding in checks_handlers.handler_findings(target)] == [True]


def test_the_package_of_a_chat_engine_is_named() -> None:
    target = Target("Rosie", LEXICAL, {}, {"handlers": ["ovos-chat-gguf-plugin"]})

    (finding,) = checks_handlers.handler_findings(target)
    assert finding.remedy.startswith("pip install ovos-gguf-plugin, ")


@pytest.mark.parametrize("persona", [{}, {"handlers": []}, {"handlers": None, "solvers": []}])
def test_a_persona_that_nothing_answers_for(persona: dict[str, Any]) -> None:
    (finding,) = checks_handlers.handler_findings(Target("Rosie", LEXICAL, {}, persona))

    assert "no handlers" in finding.what and "refuses to load" in finding.what
    assert '"handlers"' in finding.remedy
    assert not list(checks_handlers.handler_findings(Target(LEXICAL, LEXICAL)))  # a plugin alone


def test_handlers_that_are_no_list(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(user.installed))

    (finding,) = checks_handlers.handler_findings(Target("Rosie", LEXICAL, {}, {"handlers": HANDLER}))
    assert "list of names, got str" in finding.what


BROKEN = {
    "import a_module_that_is_missing": "ModuleNotFoundError: No module named 'a_module_that_is_missing'",
    "raise ImportError": "ImportError",
    "raise RuntimeError('no\\nroom')": "RuntimeError: no room",
    "Other = 1": "AttributeError: module ",
    "import sys; sys.exit('no licence')": "SystemExit: no licence",
}
"""What a plugin's module says, and how doctor tells of it."""


@pytest.mark.parametrize("source", BROKEN)
def test_a_handler_that_is_installed_and_cannot_be_loaded(
    user: Any, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    user.install("broken", "opm.agents.chat", source)

    (finding,) = of_handlers(user, monkeypatch, handlers=["broken", HANDLER])

    assert (finding.check, finding.level) == ("handlers", "problem")
    assert f"'broken' is installed and cannot be loaded ({BROKEN[source]}" in finding.what
    assert finding.remedy == "install what it misses, or pip install --force-reinstall broken"


def test_doctor_tells_why_a_handler_cannot_be_loaded_without_a_traceback(user: Any) -> None:
    user.install("broken", "opm.agents.chat", "print('loading')\nimport a_module_that_is_missing")
    user.persona("Rosie", user.block(), handlers=["broken", HANDLER])

    done = user.run("doctor", "--offline", "--json")

    (finding,) = done.json
    assert done.code == 1 and "'a_module_that_is_missing'" in finding["what"]
    assert "Traceback" not in done.out + done.err


def test_a_handler_that_one_of_two_packages_can_load_is_in_order(
    user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.install(HANDLER, "opm.agents.chat", "raise ImportError", package="another")

    assert of_handlers(user, monkeypatch) == []


def test_a_memory_that_is_installed_and_cannot_be_loaded(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    user.install("broken-memory", "opm.agents.memory", "raise OSError('gone')")
    monkeypatch.syspath_prepend(str(user.installed))

    finding = found(Target("x", COMPOSITE, {"members": ["broken-memory"]}))["plugin"]

    assert "(OSError: gone), so nothing is remembered" in finding.what
    assert finding.remedy.split()[-1] == "broken-memory"


def of_handlers(user: Any, monkeypatch: pytest.MonkeyPatch, **persona: Any) -> list[Trouble]:
    monkeypatch.syspath_prepend(str(user.installed))
    return list(
        checks_handlers.handler_findings(Target("Rosie", LEXICAL, {}, {"handlers": [HANDLER], **persona}))
    )


@pytest.mark.parametrize("value", [False, 0, None, ""])
def test_a_handler_that_its_own_block_switches_off(
    user: Any, monkeypatch: pytest.MonkeyPatch, value: Any
) -> None:
    (finding,) = of_handlers(user, monkeypatch, **{HANDLER: {"enabled": value}})

    assert (finding.check, finding.level) == ("handlers", "problem")
    assert f"'{HANDLER}'" in finding.what and f'"enabled" is {json.dumps(value)}' in finding.what
    assert finding.remedy == f"take '{HANDLER}' out of the handlers, or \"enabled\" out of its block"


def test_doctor_tells_of_a_handler_that_is_switched_off(user: Any) -> None:
    user.persona("Rosie", user.block(), **{HANDLER: {"enabled": False}})

    done = user.run("doctor", "--offline")
    assert done.code == 1 and "no handler answers" in done.out


def test_ovos_persona_answers_no_turn_while_one_handler_is_switched_off() -> None:
    persona_module = pytest.importorskip("ovos_persona")
    name, session = "ovos-solver-failure-plugin", SimpleNamespace(session_id="s", lang="en", system_unit="")
    said = [AgentMessage(MessageRole.USER, "hello")]
    handlers = {"handlers": [name], "memory_module": None}

    assert persona_module.Persona("Rosie", handlers).chat(said, session)
    with pytest.raises(KeyError, match=name):
        persona_module.Persona("Rosie", {**handlers, name: {"enabled": False}}).chat(said, session)


@pytest.mark.parametrize("block", [{"enabled": True}, {"enabled": "no"}, {}, None])
def test_a_handler_that_is_not_switched_off(user: Any, monkeypatch: pytest.MonkeyPatch, block: Any) -> None:
    assert of_handlers(user, monkeypatch, **{HANDLER: block, "somebody-else": {"enabled": False}}) == []


def test_a_block_of_a_handler_that_is_no_object(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = of_handlers(user, monkeypatch, **{HANDLER: "gpt"})

    assert "must be an object, got str" in finding.what and f'"{HANDLER}": ' in finding.remedy


# ---------------------------------------------------------------------- what it is told
@pytest.mark.parametrize(
    ("config", "inject_mode", "is_problem"),
    [
        ({}, "system", True),
        ({"allow_system_prompts": False}, "system_prompt", True),
        ({"allow_system_prompts": True}, "system", False),
        ({}, "user", False),
        ({}, "tool", False),
        ({}, "developer", False),
    ],
)
def test_an_engine_that_drops_system_messages(
    user: Any, config: dict[str, Any], inject_mode: str, is_problem: bool
) -> None:
    block = {"db_path": str(user.home / "x.db"), "inject_mode": inject_mode}
    persona = {**engine(**config), LEXICAL: block}

    assert ("system messages" in found(Target("Rosie", LEXICAL, block, persona))) == is_problem


def test_a_system_prompt_is_lost_with_them(user: Any) -> None:
    block = {"db_path": str(user.home / "x.db"), "inject_mode": "user", "system_prompt": "You are Rosie."}

    finding = found(Target("Rosie", LEXICAL, block, engine()))["system messages"]
    assert "system_prompt" in finding.what and "recalled" not in finding.what


def test_members_that_share_a_file(user: Any) -> None:
    path = str(user.home / "same.db")
    members = [
        {"module": LEXICAL, "name": "one", "config": {"db_path": path}},
        {"module": LEXICAL, "name": "two", "config": {"db_path": path}},
    ]

    finding = found(Target("x", COMPOSITE, {"members": members}))["shared path"]
    assert "one and two" in finding.what
    members[1]["config"]["table"] = "other"
    assert "shared path" not in found(Target("x", COMPOSITE, {"members": members}))


def test_a_primary_that_keeps_no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    keeps = {"entity": False, "recency": True}
    monkeypatch.setattr(checks_config, "_keeps_turns", lambda block: keeps[block.module])
    block = Block(COMPOSITE, COMPOSITE, settings=blocks_of(Target("x", COMPOSITE, {}))[0].settings)
    members = [Block("", "entity", member="facts"), Block("", "recency", member="lately")]

    (finding,) = checks_config._primary([block, *members])
    assert "'facts'" in finding.what and '"primary": "lately"' in finding.remedy
    assert not list(checks_config._primary([block, *members[::-1]]))


def test_global_scope_where_a_server_is_installed(monkeypatch: pytest.MonkeyPatch, user: Any) -> None:
    monkeypatch.setattr(checks_config, "is_installed", lambda name: name == "ovos-persona-server")
    block: dict[str, Any] = {"db_path": str(user.home / "x.db")}

    assert "scope" in found(Target("x", LEXICAL, block, {}))
    assert "scope" not in found(Target("x", LEXICAL, {**block, "scope": "session"}, {}))


def test_missing_plugins_members_and_keys(user: Any) -> None:
    assert "pip install nobody" in found(Target("x", "nobody", {}))["plugin"].remedy
    members = {"members": [{"module": "nobody"}, RECENCY]}
    assert "plugin" in found(Target("x", COMPOSITE, members))
    misspelt = found(Target("x", RECENCY, {"max_histroy": 3}))["settings"]
    assert "max_histroy" in misspelt.what and "max_history" in misspelt.remedy
    assert "max_history" in found(Target("x", RECENCY, {"max_history": -3}))["settings"].what


def test_a_placeholder_that_nobody_fills(user: Any) -> None:
    block = {"db_path": str(user.home / "x.db"), "user_template": "{contxt} {utterance}"}

    finding = found(Target("x", COMPOSITE, {"members": [{"module": LEXICAL, "config": block}]}))["template"]
    assert (finding.level, finding.where) == ("problem", f"{COMPOSITE} > {LEXICAL}")
    assert "user_template" in finding.what and "{contxt}" in finding.what and "{utterance}" in finding.remedy
    block["user_template"] = '{context} as {"a": ["{}"]} {utterance}'
    assert "template" not in found(Target("x", LEXICAL, block))


def test_missing_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    block = Block(
        "x", "ovos-memory-plugin-local-rag", {"embeddings_plugin": "nowhere", "embeddings_db_plugin": None}
    )

    told = {finding.what: finding.remedy for finding in checks_config._embeddings(block)}
    assert ["pip install nowhere" in remedy for what, remedy in told.items() if "'nowhere'" in what] == [True]
    default = Block("x", "ovos-memory-plugin-local-rag", {})
    monkeypatch.setattr(checks_config.metadata, "entry_points", lambda group: ())
    remedies = [finding.remedy for finding in checks_config._embeddings(default)]
    assert "pip install 'ovos-memory-plugin-local-rag[default-stack]'" in remedies[0]


def test_sqlite_without_fts5(monkeypatch: pytest.MonkeyPatch, user: Any) -> None:
    class Bare(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> Any:
            if "fts5" in statement:
                raise sqlite3.OperationalError("no such module: fts5")
            return super().execute(statement, *values)

    bare = sqlite3.connect(":memory:", factory=Bare)
    monkeypatch.setattr(checks_config.sqlite3, "connect", lambda path: bare)
    assert [f.check for f in checks_config._fts5(Block("x", LEXICAL))] == ["fts5"]


def test_a_path_that_cannot_be_used(user: Any) -> None:
    (user.home / "file").write_text("no folder")

    finding = found(Target("x", RECENCY, {"db_path": str(user.home / "file" / "x.json")}))["path"]
    assert "cannot write" in finding.what


def test_a_folder_in_the_place_of_the_file(user: Any) -> None:
    (user.home / "x.json").mkdir()

    finding = found(Target("x", RECENCY, {"db_path": str(user.home / "x.json")}))["path"]
    assert "cannot write" in finding.what and "another db_path" in finding.remedy


def test_a_file_that_may_not_be_written(rosie: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(rosie.home / "data" / "lexical.db")
    real = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: mode != os.W_OK and real(p, mode))  # root may do all

    finding = found(Target("x", LEXICAL, {"db_path": path}))["path"]
    assert "cannot write" in finding.what and "make it writable" in finding.remedy


def test_a_file_of_another_user(rosie: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(rosie.home / "data" / "lexical.db")
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(path).st_uid + 1)

    finding = found(Target("x", LEXICAL, {"db_path": path}))["path"]
    assert "another user" in finding.what and "chown" in finding.remedy


def test_a_state_that_is_no_json(rosie: Any) -> None:
    path = rosie.home / "data" / "recency.json"
    path.write_bytes(path.read_bytes()[:-9])
    before = path.read_bytes()

    finding = found(Target("x", RECENCY, {"db_path": str(path)}))["damage"]
    assert "no JSON" in finding.what and "recover" in finding.remedy
    assert path.read_bytes() == before


def test_looking_leaves_no_file_behind(user: Any) -> None:
    user.persona("Rosie", user.block())

    assert user.run("doctor", "--offline").code == 0
    assert not (user.home / "data").exists()


def test_failures_are_told_of_while_they_are_news(rosie: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rosie.home / "data" / "lexical.db"
    memory = rosie.open(LEXICAL, {"db_path": str(path)})
    memory.get_history("kitchen")
    memory.boundary.failed("search", OSError())  # as its public methods do
    memory.close()

    target = Target("x", LEXICAL, {"db_path": str(path)})
    assert "search failed 1 times" in found(target)["failed search"].what
    monkeypatch.setattr(checks_store.time, "time", lambda: 1e11)
    assert "failed search" not in found(target)


def test_a_block_that_nobody_reads(user: Any) -> None:
    persona = {"memory_module": RECENCY, "ovos-memory-plugin-recncy": {"max_history": 3}}
    finding = found(Target("Rosie", RECENCY, {}, persona))["settings"]
    assert "'ovos-memory-plugin-recncy'" in finding.what and f"to '{RECENCY}'" in finding.remedy

    persona = {"memory_module": RECENCY, LEXICAL: {}}
    finding = found(Target("Rosie", RECENCY, {}, persona))["settings"]
    assert f'"memory_module": "{LEXICAL}"' in finding.remedy
    assert "settings" not in found(Target("Rosie", RECENCY, {}, {RECENCY: {}, LEXICAL: {}}))


def test_a_chat_engine_of_a_memory_that_is_not_installed() -> None:
    block = Block("facts", "entity", {"chat_engine": {"module": "nowhere"}})

    (finding,) = checks_config._chat_engine(block)
    assert "'nowhere'" in finding.what and "pip install nowhere" in finding.remedy


def test_a_file_that_others_can_read(rosie: Any) -> None:
    path = rosie.home / "data" / "lexical.db"
    path.chmod(0o644)

    assert "chmod 600" in found(Target("x", LEXICAL, {"db_path": str(path)}))["path"].remedy


@pytest.mark.parametrize("damage", ["none", "head", "middle"])
def test_a_damaged_file_is_found_and_left_as_it_is(rosie: Any, damage: str) -> None:
    path = rosie.home / "data" / "lexical.db"
    data = bytearray(path.read_bytes())
    if damage == "head":
        data[:16] = b"no database here"
    if damage == "middle":
        data[4096 * 3 : 4096 * 6] = b"\xff" * 4096 * 3
    path.write_bytes(data)

    assert ("damage" in found(Target("x", LEXICAL, {"db_path": str(path)}))) == (damage != "none")
    assert damage == "none" or path.read_bytes() == data


def test_a_locked_file(rosie: Any) -> None:
    path = rosie.home / "data" / "lexical.db"
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "lock" in found(Target("x", LEXICAL, {"db_path": str(path)}))
        other.execute("ROLLBACK")


def test_a_file_that_was_set_aside(rosie: Any) -> None:
    (rosie.home / "data" / "lexical.db.corrupt-1").write_bytes(b"x")

    done = rosie.run("doctor", "--offline", "--json")
    assert [f["check"] for f in done.json] == ["set aside"] and done.code == 0
    assert f"recover {rosie.home / 'data' / 'lexical.db.corrupt-1'}" in done.json[0]["remedy"]
    (rosie.home / "data" / "lexical.db").unlink()
    assert "set aside" in [f["check"] for f in rosie.run("doctor", "--offline", "--json").json]


def test_an_index_that_lags_behind(rosie: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from ovos_memory.lexical.store import LexicalStore

    monkeypatch.setattr(LexicalStore, "waiting", lambda self: 5_000)
    path = str(rosie.home / "data" / "lexical.db")
    assert "reindex" in found(Target("x", LEXICAL, {"db_path": path}))["index"].remedy


# ---------------------------------------------------------------------- models
class Models(BaseHTTPRequestHandler):
    """A server whose list of models is what its class says."""

    answer: bytes = b""
    status = 200

    heartbeat: str | None = None

    def do_GET(self) -> None:
        is_beat = self.path == self.heartbeat
        self.send_response(200 if is_beat else self.status)
        self.end_headers()
        self.wfile.write(b'{"nanosecond heartbeat": 1}' if is_beat else self.answer)

    def log_message(self, format: str, *values: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    running = HTTPServer(("127.0.0.1", 0), Models)
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


class Settings:
    def __init__(self, url: str, model: str = "") -> None:
        self.api_url, self.model, self.api_key, self.chat_engine = url, model, "", None


def model_findings(*blocks: Block, **persona: Any) -> list[Trouble]:
    return list(checks_models.model_findings(Target("Rosie", "entity", {}, persona), list(blocks)))


@pytest.mark.parametrize(
    ("answer", "status", "model", "expected"),
    [
        ({"data": [{"id": "llama3"}]}, 200, "", None),
        ({"data": [{"id": "llama3"}]}, 200, "llama3", None),
        ({"data": [{"id": "llama3"}]}, 200, "qwen", "no model 'qwen'"),
        ({"data": [{"id": "llama3:latest"}]}, 200, "llama3", None),
        ({"data": [{"id": "llama3"}]}, 200, "llama3:latest", None),
        ({"data": [{"id": "llama3:8b"}]}, 200, "llama3", "no model 'llama3'"),
        ({}, 401, "", "key is missing or wrong"),
        ({"data": [{"id": "nomic-embed-text"}]}, 200, "", "lists no language model"),
        ({"detail": "hello"}, 200, "", "lists no language model"),
        ("<html>", 200, "", "no JSON"),
        ({}, 404, "", "status 404"),
    ],
)
def test_a_model_server_is_asked(
    server: HTTPServer, answer: Any, status: int, model: str, expected: str | None
) -> None:
    Models.answer = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
    Models.status = status
    block = Block("facts", "entity", settings=Settings(f"http://127.0.0.1:{server.server_port}/v1", model))

    told = model_findings(block)
    assert [expected in finding.what for finding in told] == ([] if expected is None else [True])


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_server_of_chromadb_is_no_model(
    server: HTTPServer, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Models, "heartbeat", f"/api/{version}/heartbeat")
    monkeypatch.setattr(Models, "status", 404)
    monkeypatch.setattr(Models, "answer", b'{"detail": "Not Found"}')
    block = Block("facts", "entity", settings=Settings(f"http://127.0.0.1:{server.server_port}/v1"))

    (finding,) = model_findings(block)
    assert "chromadb's server answers" in finding.what and "api_url" in finding.remedy


def test_a_server_that_does_not_answer() -> None:
    block = Block("facts", "entity", settings=Settings("http://127.0.0.1:9/v1"))

    (finding,) = model_findings(block)
    assert "no server answers" in finding.what
    assert "chromadb" in checks_models._remedy("http://localhost:8000/v1", OSError())


# ---------------------------------------------------------------------- the chat engine's own server
@pytest.mark.parametrize(
    ("model", "expected"),
    [("", None), ("llama3.2", None), ("llama3.2:latest", None), ("qwen", "no model 'qwen'")],
)
def test_the_server_of_the_chat_engine_is_asked(model: str, expected: str | None) -> None:
    with FakeServer() as server:
        server.models = ["nomic-embed-text:latest", "llama3.2:latest"]
        told = model_findings(**engine(api_url=f"{server.url}/", model=model, key="secret"))

    assert [expected in finding.what for finding in told] == ([] if expected is None else [True])
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/models", "Bearer secret")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/v1", "http://localhost:port/v1", "llama", "file:///etc/hosts"]
)
def test_a_chat_engine_without_a_server(user: Any, url: str) -> None:
    persona = {**engine(api_url=url, allow_system_prompts=True), "memory_module": LEXICAL}
    target = Target("Rosie", LEXICAL, {"db_path": str(user.home / "x.db")}, persona)

    finding = {found.check: found for found in findings(target, is_offline=False)}["model"]
    assert finding.where == "ovos-chat-openai-plugin" and url in finding.what and "api_url" in finding.remedy
    assert "model" not in found(target)


def test_other_engines_and_such_without_an_address_are_not_asked() -> None:
    assert model_findings(**engine()) == []
    assert model_findings(handlers=["mine"], mine={"api_url": "http://127.0.0.1:9/v1"}) == []
    unused = engine(api_url="http://127.0.0.1:9/v1")
    assert model_findings(**{**unused, "handlers": ["mine"]}) == []


def test_memory_and_chat_engine_on_one_server_ask_it_once() -> None:
    with FakeServer() as server:
        blocks = [Block(name, "entity", settings=Settings(server.url, "qwen")) for name in ("facts", "gist")]
        (finding,) = model_findings(*blocks, **engine(api_url=server.url, model="qwen", key="none"))
        other = model_findings(*blocks, **engine(api_url=server.url, model="fake-chat"))

    assert finding.where == "facts, gist, ovos-chat-openai-plugin"
    assert [finding.where for finding in other] == ["facts, gist"]
    assert len(server.requests) == 2


def test_a_key_that_only_some_have_is_found(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(url: str, key: str) -> Any:
        return {"data": [{"id": "m"}]} if key == "right" else HTTPError(url, 401, "", Message(), None)

    monkeypatch.setattr(checks_models, "_answer", answer)
    block = Block("facts", "entity", settings=Settings("http://there/v1"))

    (finding,) = model_findings(block, **engine(api_url="http://there/v1", key="right"))
    assert finding.where == "facts" and "`api_key`" in finding.remedy


def test_the_chat_engine_of_a_memory_has_its_server_asked() -> None:
    chat = {"module": "ovos-chat-openai-plugin", "config": {"api_url": "http://127.0.0.1:9/v1"}}
    block = Block("facts", "entity", {"api_url": "http://127.0.0.1:1/v1", "chat_engine": chat})

    (finding,) = model_findings(block)
    assert finding.where == "facts > chat_engine" and ":9/v1" in finding.what


@pytest.mark.parametrize("chat", ["ovos-chat-openai-plugin", "ovos-chat-gguf-plugin"])
@pytest.mark.parametrize("inject_mode", ["system", "system_prompt", "developer", "user", "tool"])
def test_roles_that_do_not_arrive_everywhere(user: Any, chat: str, inject_mode: str) -> None:
    block = {"db_path": str(user.home / "x.db"), "inject_mode": inject_mode}
    persona = {"handlers": [chat], chat: {"allow_system_prompts": True}, LEXICAL: block}

    told = found(Target("Rosie", LEXICAL, block, persona)).get("roles")

    refused = {"ovos-chat-openai-plugin": {"developer", "tool"}, "ovos-chat-gguf-plugin": {"tool"}}
    assert (told is not None) == (inject_mode in refused[chat])
    assert told is None or (told.level, "inject_mode" in told.remedy) == ("advice", True)


def test_a_persona_without_a_memory_is_told_how_to_get_one(user: Any) -> None:
    finding = found(Target("Ada", "ovos-agents-short-term-memory-plugin", {}, {"name": "Ada"}))["memory"]

    assert "forgets everything" in finding.what and '"memory_module"' in finding.remedy
    assert "memory" not in found(Target("Ada", RECENCY, {}, {"name": "Ada", "memory_module": RECENCY}))
