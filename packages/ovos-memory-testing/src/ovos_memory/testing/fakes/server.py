"""A language-model server of the OpenAI kind: ``/v1/models`` and ``/v1/chat/completions``, healthy or not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Mode = Literal[
    "good",
    "fenced",
    "think",
    "unclosed_think",
    "prose",
    "truncated",
    "null_content",
    "reasoning_content",
    "error_object",
    "html",
    "500",
    "no_answer",
    "drip",
    "sse",
    "redirect_loop",
    "json_object_schema",
    "no_response_format",
]
Reply = str | Callable[[dict[str, Any]], str]

DRIP_S = 0.25
"""Seconds between two bytes in mode ``drip``."""


@dataclass(frozen=True)
class Request:
    """One request as it came.

    Attributes:
        path: Below the server's root.
        payload: The JSON body; ``{}`` of a GET.
        headers: With names in lower case.
    """

    path: str
    payload: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def prompt(self) -> str:
        """All messages' contents, joined by newlines."""
        return "\n".join(str(message.get("content")) for message in self.payload.get("messages", []))


class FakeServer:
    """Answers on a free port of this machine until it is closed; a context manager.

    Args:
        replies: What the model says, in turn, the last one again and again; a function gets the payload.
        mode: How it says it.

    Attributes:
        mode: May be changed at any time.
        models: What ``/v1/models`` lists; ``None``: a body without ``data``.
        requests: All requests, in order.
    """

    def __init__(self, replies: Sequence[Reply] = ("[]",), *, mode: Mode = "good") -> None:
        self.mode: Mode = mode
        self.replies = list(replies)
        self.models: list[str] | None = ["nomic-embed-text", "fake-chat"]
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering; those who wait get their connection closed."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def url(self) -> str:
        """The ``api_url`` to configure."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def chats(self) -> list[Request]:
        """The chat requests, in order."""
        return [request for request in list(self.requests) if request.path.endswith("/chat/completions")]

    @property
    def prompts(self) -> list[str]:
        """What the model was asked."""
        return [request.prompt for request in self.chats]

    def next_reply(self, payload: dict[str, Any]) -> str:
        """Return what the model says next."""
        with self._lock:
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply if isinstance(reply, str) else reply(payload)


def _handler(fake: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Answers):
        server_state = fake

    return Handler


class _Answers(BaseHTTPRequestHandler):
    server_state: FakeServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self._serve(json.loads(self.rfile.read(length) or b"{}"))

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""

    # ------------------------------------------------------------------ answers
    def _serve(self, payload: dict[str, Any]) -> None:
        fake = self.server_state
        headers = {name.lower(): value for name, value in self.headers.items()}
        fake.requests.append(Request(self.path, payload, headers))
        broken: dict[str, Callable[[], None]] = {
            "no_answer": self._never,
            "500": lambda: self._send(b"the server is on fire", "text/plain", 500),
            "html": lambda: self._send(b"<html><body>It works!</body></html>", "text/html"),
            "redirect_loop": self._redirect,
            "error_object": lambda: self._json({"error": {"message": "model is loading", "code": 503}}),
        }
        if fake.mode in broken:
            broken[fake.mode]()
        elif self.path.endswith("/models"):
            self._json(_model_list(fake.models))
        elif self.path.endswith("/chat/completions"):
            self._chat(payload)
        else:
            self._send(b"not found", "text/plain", 404)

    def _chat(self, payload: dict[str, Any]) -> None:
        fake = self.server_state
        wanted = payload.get("response_format")
        if _refuses(fake.mode, wanted):
            self._json({"error": {"message": "response_format is not supported", "code": 400}}, 400)
            return
        reply = fake.next_reply(payload)
        if fake.mode == "sse":
            self._send(_events(reply), "text/event-stream")
            return
        body = json.dumps(_completion(fake.mode, reply, str(payload.get("model", "")))).encode()
        if fake.mode == "drip":
            self._drip(body)
        else:
            self._send(body, "application/json")

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", status)

    def _send(self, body: bytes, content_type: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _redirect(self) -> None:
        self.send_response(307)
        self.send_header("Location", self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _never(self) -> None:
        self.server_state.closing.wait()
        self.close_connection = True

    def _drip(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for position in range(len(body)):
            if self.server_state.closing.wait(DRIP_S):
                break
            try:
                self.wfile.write(body[position : position + 1])
            except OSError:  # the client gave up, as it should
                break
        self.close_connection = True


def _refuses(mode: str, response_format: Any) -> bool:
    if response_format is None:
        return False
    is_schema = isinstance(response_format, dict) and response_format.get("type") == "json_schema"
    return mode == "no_response_format" or (mode == "json_object_schema" and is_schema)


def _model_list(models: Sequence[str] | None) -> dict[str, Any]:
    if models is None:
        return {"object": "list"}
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in models]}


def _completion(mode: str, reply: str, model: str) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "fenced": f"```json\n{reply}\n```",
        "think": f'<think>maybe ["wrong"], no</think>\n{reply}',
        "unclosed_think": f'<think>maybe ["wrong"], let me see {reply}',
        "prose": f"Sure! Here is what I found:\n{reply}\nLet me know if you need more [1].",
        "truncated": reply[: max(1, len(reply) * 2 // 3)],
        "null_content": None,
        "reasoning_content": None,
    }
    message = {"role": "assistant", "content": shaped.get(mode, reply)}
    if mode == "reasoning_content":
        message["reasoning_content"] = reply
    reason = "length" if mode in ("truncated", "unclosed_think") else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "fake", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}


def _events(reply: str) -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in (reply[:3], reply[3:])]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return ("".join(lines) + "data: [DONE]\n\n").encode()
