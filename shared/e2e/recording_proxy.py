"""A stand between a chat engine and its server: passes everything on, and keeps what was asked."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Recording:
    """What went through, in order."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.statuses: list[int] = []

    def last_messages(self) -> list[dict[str, Any]]:
        """Return the messages of the newest request, as they went over the wire."""
        return list(self.requests[-1]["messages"])


@contextlib.contextmanager
def recording(target: str) -> Iterator[Recording]:
    """Stand in front of the API base `target`; use `Recording.url` instead of it."""
    kept = Recording(target)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.requests.append(json.loads(body))
            url = kept.target + self.path.removeprefix("/v1")
            request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=120) as reply:
                    status, text, kind = reply.status, reply.read(), reply.headers["Content-Type"]
            except urllib.error.HTTPError as error:
                status, text, kind = error.code, error.read(), "application/json"
            kept.statuses.append(status)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Say nothing: what people said is in the requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield kept
        server.shutdown()
