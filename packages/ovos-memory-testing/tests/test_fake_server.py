from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, RemoteDisconnected
from typing import Any

import pytest

from ovos_memory.testing.fakes import FakeServer

REPLY = '["likes tea"]'


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer([REPLY]) as running:
        yield running


def _ask(server: FakeServer, payload: dict[str, Any] | None = None, *, timeout_s: float = 5.0) -> Any:
    host = server.url.removeprefix("http://").partition("/")[0]
    connection = HTTPConnection(host, timeout=timeout_s)
    try:
        if payload is None:
            connection.request("GET", "/v1/models")
        else:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/chat/completions", json.dumps(payload), headers)
        response = connection.getresponse()
        return response.status, response.read().decode(), dict(response.headers)
    finally:
        connection.close()


def _content(server: FakeServer) -> Any:
    status, body, _ = _ask(server, {"messages": [{"role": "user", "content": "facts?"}]})
    assert status == 200
    return json.loads(body)["choices"][0]["message"]["content"]


def test_models_are_listed(server: FakeServer) -> None:
    assert [m["id"] for m in json.loads(_ask(server)[1])["data"]] == ["nomic-embed-text", "fake-chat"]
    server.models = None
    assert "data" not in json.loads(_ask(server)[1])


def test_replies_come_in_turn_and_the_last_one_again(server: FakeServer) -> None:
    server.replies = ["one", lambda payload: f"{len(payload['messages'])} message", "three"]

    assert [_content(server) for _ in range(4)] == ["one", "1 message", "three", "three"]


def test_prompts_are_kept(server: FakeServer) -> None:
    _ask(server)
    _content(server)

    assert server.prompts == ["facts?"] and len(server.requests) == 2 and len(server.chats) == 1


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("good", REPLY),
        ("fenced", f"```json\n{REPLY}\n```"),
        ("truncated", REPLY[: len(REPLY) * 2 // 3]),
        ("null_content", None),
        ("reasoning_content", None),
    ],
)
def test_a_reply_is_shaped_as_told(server: FakeServer, mode: Any, expected: str | None) -> None:
    server.mode = mode

    assert _content(server) == expected


@pytest.mark.parametrize(
    ("mode", "around"), [("think", "</think>"), ("unclosed_think", "<think>"), ("prose", "Sure")]
)
def test_chatter_surrounds_a_reply(server: FakeServer, mode: Any, around: str) -> None:
    server.mode = mode

    assert around in _content(server) and REPLY in _content(server)


@pytest.mark.parametrize(
    ("mode", "status", "part"),
    [
        ("error_object", 200, '"error"'),
        ("html", 200, "<html>"),
        ("500", 500, "fire"),
        ("redirect_loop", 307, ""),
        ("sse", 200, "data: [DONE]"),
    ],
)
def test_a_server_is_broken_as_told(server: FakeServer, mode: Any, status: int, part: str) -> None:
    server.mode = mode
    found = _ask(server, {"messages": []})

    assert found[0] == status and part in found[1]


def test_schemas_are_refused_as_told(server: FakeServer) -> None:
    schema = {"messages": [], "response_format": {"type": "json_schema"}}
    plain = {"messages": [], "response_format": {"type": "json_object", "schema": {}}}
    refused = {}
    for mode in ("good", "json_object_schema", "no_response_format"):
        server.mode = mode  # type: ignore[assignment]
        refused[mode] = [_ask(server, payload)[0] for payload in (schema, plain, {"messages": []})]

    assert refused == {
        "good": [200, 200, 200],
        "json_object_schema": [400, 200, 200],
        "no_response_format": [400, 400, 200],
    }


@pytest.mark.parametrize("mode", ["no_answer", "drip"])
def test_a_slow_server_outlasts_its_client_and_closes_at_once(mode: Any) -> None:
    with FakeServer([REPLY], mode=mode) as server, pytest.raises((socket.timeout, RemoteDisconnected)):
        _ask(server, {"messages": []}, timeout_s=0.1)
