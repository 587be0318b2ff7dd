from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ovos_memory.core.errors import BadReply, ModelUnavailable
from ovos_memory.core.llm.reply import ServerFailed
from ovos_memory.core.llm.server import ServerChat, first_chat_model

SCHEMA = {"type": "object", "properties": {"facts": {"type": "array", "items": {"type": "string"}}}}
Handler = Callable[[str, dict[str, Any]], "bytes | Drip | None"]


class Drip:
    """One byte every few milliseconds, for ever."""

    def __init__(self, head: bytes = b"") -> None:
        self.head = head


class RawServer:
    """A server that answers whatever its handler returns; ``requests`` holds path, body, headers of each."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.requests: list[tuple[str, dict[str, Any], str]] = []
        self._closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self.dropped = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            first = stream.readline().decode()
            headers = b"".join(iter(stream.readline, b"\r\n")).decode()
            length = next(
                (int(h[15:]) for h in headers.splitlines() if h.lower().startswith("content-length:")), 0
            )
            body = json.loads(stream.read(length) or b"{}")
            self.requests.append((first.split()[1], body, headers))
            answer = self.handler(first.split()[1], body)
            try:
                if isinstance(answer, bytes):
                    connection.sendall(answer)
                elif answer is None:
                    self._closing.wait(20)
                else:
                    connection.sendall(answer.head)
                    while not self._closing.wait(0.02):
                        connection.sendall(b"x")
            except OSError:
                self.dropped.set()

    def close(self) -> None:
        self._closing.set()
        self._listener.close()


def http(body: bytes | str, status: str = "200 OK", kind: str = "application/json", more: str = "") -> bytes:
    data = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{more}\r\n"
    return head.encode() + data


def says(text: str | None, finish: str = "stop", **message: Any) -> bytes:
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return http(json.dumps({"choices": [choice]}))


@pytest.fixture
def serve() -> Iterator[Callable[[Handler], RawServer]]:
    servers: list[RawServer] = []

    def start(handler: Handler) -> RawServer:
        servers.append(RawServer(handler))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def chat_to(server: RawServer, **settings: Any) -> ServerChat:
    return ServerChat(server.url, **{"model": "m", "pauses_s": (0.0,), **settings})


def ask(chat: ServerChat, **arguments: Any) -> Any:
    return chat.ask("question", **{"max_tokens": 32, "timeout_s": 2.0, **arguments})


def test_the_answer_of_a_good_server_is_returned(serve: Any) -> None:
    server = serve(lambda path, body: says("hello"))

    reply = ask(chat_to(server, api_key="k3y"))

    (path, body, headers) = server.requests[0]
    assert (reply.text, reply.is_cut) == ("hello", False)
    assert (path, body["model"], body["max_tokens"]) == ("/v1/chat/completions", "m", 32)
    assert body["messages"] == [{"role": "user", "content": "question"}]
    assert "Authorization: Bearer k3y" in headers


FOREVER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Drip(),
        Drip(b"HTTP/1.1 200 OK\r\nX: "),
        Drip(FOREVER),
        Drip(FOREVER.replace(b"application/json", b"text/event-stream")),
    ],
    ids=["silence", "dripping status", "dripping header", "dripping body", "dripping events"],
)
def test_a_call_ends_at_its_deadline_whatever_the_server_does(serve: Any, answer: Any) -> None:
    server = serve(lambda path, body: answer)
    started = time.monotonic()

    with pytest.raises(ModelUnavailable):
        ask(chat_to(server), timeout_s=0.4)

    assert time.monotonic() - started < 0.9


def test_a_call_that_is_given_up_closes_its_connection(serve: Any) -> None:
    server = serve(lambda path, body: Drip(FOREVER))

    with pytest.raises(ModelUnavailable):
        ask(chat_to(server), timeout_s=0.2)

    assert server.dropped.wait(5)


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (http("", "302 Found", more="Location: /v1/chat/completions\r\n"), ModelUnavailable, "api_url"),
        (http("<html>hi</html>", kind="text/html; charset=utf-8"), ModelUnavailable, "text/html"),
        (http('{"error": {"message": "my secret"}}'), ModelUnavailable, "error"),
        (http('{"choices": []}'), ModelUnavailable, "choices"),
        (http("[" * 100_000), ModelUnavailable, "JSON"),
        (http("", "401 Unauthorized"), ModelUnavailable, "api_key"),
        (http("", "404 Not Found"), ModelUnavailable, "model"),
        (http("", "500 Oops"), ServerFailed, "500"),
        (http("", "503 Busy"), ServerFailed, "503"),
        (http("too long", "400 Bad Request"), BadReply, "400"),
        (b"garbage\r\n\r\n", ModelUnavailable, "no answer"),
        (b"", ModelUnavailable, "no answer"),
        (http("data: {}\n\n", kind="text/event-stream"), ModelUnavailable, "event stream"),
    ],
)
def test_what_is_no_answer_is_an_error_that_names_the_remedy(
    serve: Any, answer: bytes, kind: type[Exception], message: str
) -> None:
    server = serve(lambda path, body: answer)

    with pytest.raises(kind, match=message) as caught:
        ask(chat_to(server))

    assert "secret" not in str(caught.value)


def test_a_closed_port_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(ModelUnavailable, match=rf"127.0.0.1:{port}"):
        ServerChat(f"http://127.0.0.1:{port}/v1", model="m").ask("q", max_tokens=1, timeout_s=2)


def test_an_event_stream_nobody_asked_for_is_read(serve: Any) -> None:
    events = "".join(
        f"data: {json.dumps({'choices': [{'delta': {'content': part}, 'finish_reason': None}]})}\n\n"
        for part in ("he", "llo")
    )
    server = serve(lambda path, body: http(f": hi\n\n{events}data: [DONE]\n\n", kind="text/event-stream"))

    assert ask(chat_to(server)).text == "hello"


def test_an_event_stream_is_over_at_its_last_event_though_the_connection_stays_open(serve: Any) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    events = b'data: {"choices": [{"delta": {"content": "hello"}}]}\n\ndata: [DONE]\n\n'
    server = serve(lambda path, body: Drip(head + events))

    assert ask(chat_to(server), timeout_s=5).text == "hello"


@pytest.mark.parametrize(
    ("understood", "expected"),
    [
        ("json_schema", ["json_schema"]),
        ("json_object", ["json_schema", "json_object"]),
        (None, ["json_schema", "json_object", None]),
    ],
)
@pytest.mark.parametrize(
    "refusal", ["500 Internal Server Error", "400 Bad Request", "422 Unprocessable Entity"]
)
def test_the_form_of_json_output_is_found_once_and_remembered(
    serve: Any, understood: str | None, expected: list[str | None], refusal: str
) -> None:
    def handle(path: str, body: dict[str, Any]) -> bytes:
        form = body.get("response_format", {}).get("type")
        return says("[]") if form == understood else http("", refusal)

    server = serve(handle)
    chat = chat_to(server)

    ask(chat, schema=SCHEMA)
    ask(chat, schema=SCHEMA)

    forms = [body.get("response_format", {}).get("type") for _, body, _ in server.requests]
    assert forms == [*expected, understood]


def test_a_form_that_a_restarted_server_no_longer_takes_is_searched_anew(serve: Any) -> None:
    refused: set[str | None] = set()

    def handle(path: str, body: dict[str, Any]) -> bytes:
        form = body.get("response_format", {}).get("type")
        return http("", "500 Oops") if form in refused else says("[]")

    server = serve(handle)
    chat = chat_to(server)
    ask(chat, schema=SCHEMA)
    refused.add("json_schema")

    ask(chat, schema=SCHEMA)

    assert chat.health()["form"] == "json_object"


def test_after_three_failures_the_server_is_left_alone_and_then_asked_once(serve: Any) -> None:
    server = serve(lambda path, body: http("", "500 Oops"))
    chat = chat_to(server, pauses_s=(0.0, 0.0, 0.2))

    for _ in range(30):
        with pytest.raises(ModelUnavailable):
            ask(chat, schema=SCHEMA)
    assert len(server.requests) == 3
    time.sleep(chat.ready_in_s())
    for _ in range(30):
        with pytest.raises(ModelUnavailable):
            ask(chat, schema=SCHEMA)

    assert len(server.requests) == 4


def test_a_server_says_itself_how_long_to_wait(serve: Any) -> None:
    server = serve(lambda path, body: http("", "429 Too Many Requests", more="Retry-After: 60\r\n"))
    chat = chat_to(server)

    with pytest.raises(ModelUnavailable):
        ask(chat)

    assert 55 < chat.ready_in_s() <= 60


def test_an_answer_ends_the_pauses(serve: Any) -> None:
    answers = iter([http("", "503 Busy"), says("a"), http("", "503 Busy")])
    chat = chat_to(serve(lambda path, body: next(answers)))

    with pytest.raises(ModelUnavailable):
        ask(chat)
    ask(chat)
    with pytest.raises(ModelUnavailable):
        ask(chat)

    assert chat.breaker.failures == 1


def test_the_model_is_the_first_that_is_no_embedding_model(serve: Any) -> None:
    listed = {"data": [{"id": "nomic-embed-text"}, {"id": "bge-m3"}, {"id": "qwen2.5-0.5b"}, {"id": "other"}]}

    def handle(path: str, body: dict[str, Any]) -> bytes:
        return http(json.dumps(listed)) if path == "/v1/models" else says("hello")

    server = serve(handle)
    chat = chat_to(server, model="")

    ask(chat)
    ask(chat)

    assert [body.get("model") for _, body, _ in server.requests] == [None, "qwen2.5-0.5b", "qwen2.5-0.5b"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"data": [{"id": "all-MiniLM-L6-v2"}, {"id": "intfloat/e5-large"}, {"id": "gemma-3"}]}, "gemma-3"),
        ({"data": [{"id": "x", "type": "embeddings"}, {"id": "y", "type": "llm"}]}, "y"),
        ({"data": [{"id": "text-embedding-3-small"}, {"id": "whisper-1"}, {"id": "tts-1"}]}, ""),
        ({"data": [None, 3, {"id": None}, {"id": "gte-pro"}, {"id": "legate-7b"}]}, "legate-7b"),
        ({"models": []}, ""),
        ({"data": "many"}, ""),
        ([], ""),
    ],
)
def test_embedding_models_are_passed_over(body: Any, expected: str) -> None:
    assert first_chat_model(json.dumps(body).encode()) == expected


def test_a_server_without_a_list_of_models_has_no_model(serve: Any) -> None:
    server = serve(lambda path, body: http("{}"))

    with pytest.raises(ModelUnavailable, match="set 'model'"):
        ask(chat_to(server, model=""))


def test_neither_key_nor_words_reach_a_log(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(lambda path, body: http("question", "500 Oops"))
    chat = ServerChat(server.url.replace("http://", "http://user:p4ss@"), api_key="k3y\n", model="m")

    with pytest.raises(ModelUnavailable) as caught:
        ask(chat, schema=SCHEMA)

    for text in (caplog.text, str(caught.value), repr(chat.health())):
        assert not any(secret in text for secret in ("k3y", "p4ss", "question"))


def test_an_answer_that_is_only_thinking_leads_to_a_longer_one(serve: Any) -> None:
    server = serve(lambda path, body: says(None, "length", reasoning_content="hmm"))
    chat = chat_to(server)

    reply = ask(chat)
    ask(chat)

    assert (reply.text, reply.is_cut, reply.is_unfinished) == ("", True, True)
    assert [body["max_tokens"] for _, body, _ in server.requests] == [32, 128]


def test_options_reach_the_server(serve: Any) -> None:
    server = serve(lambda path, body: says("a"))

    ask(chat_to(server, options={"top_p": 0.5}))

    assert server.requests[0][1]["top_p"] == 0.5


def test_a_question_is_a_single_user_message(serve: Any) -> None:
    server = serve(lambda path, body: says("[]"))

    ask(chat_to(server), schema=SCHEMA)

    assert [message["role"] for _, body, _ in server.requests for message in body["messages"]] == ["user"]
