"""One HTTP request with a hard deadline, answered by the beginning of its body.

Built on requests, which OPM brings along.  Every request has a connection of its own: its socket is known, so
that it can be shut when the time is over, and a forked process has nothing to reopen.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ovos_memory.core.errors import ModelUnavailable
from ovos_memory.core.llm.deadline import Deadline, OneAtATime

if TYPE_CHECKING:
    import requests
    from requests.adapters import HTTPAdapter

MAX_BODY = 4 * 1024 * 1024
"""Bytes of an answer that are read."""
_END_OF_STREAM = b"data: [DONE]"


@dataclass(frozen=True)
class Answer:
    """A server's answer.

    Attributes:
        status: HTTP status.
        media_type: Content type without parameters, in lower case.
        body: The first :data:`MAX_BODY` bytes.
        retry_after_s: Seconds that the server asks to wait, 0 without such a wish.
    """

    status: int
    media_type: str
    body: bytes
    retry_after_s: float = 0.0


def server_label(url: str) -> str:
    """Return ``scheme://host:port`` for messages: path, query and user part of a URL may hold secrets."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or "?"
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return f"{parts.scheme or 'http'}://{host}{port}"


class Http:
    """Sends requests to one server, one at a time; safe from any thread.

    Args:
        url: Any address of the server, for messages.
        api_key: Sent as a bearer token; it never reaches a message or a log.
    """

    def __init__(self, url: str, api_key: str = "") -> None:
        # Here and not with the first request: a third of a second of loading behind a conversation takes the
        # interpreter away from its turns.
        import requests  # noqa: F401

        self._label = server_label(url)
        self._is_local = _is_loopback(urlsplit(url).hostname or "")
        self._api_key = api_key.strip()
        self._line: OneAtATime[Answer] = OneAtATime(self._label)

    def send(
        self, method: str, url: str, deadline: Deadline, *, body: Mapping[str, Any] | None = None
    ) -> Answer:
        """Send a request and return the answer, whatever its status.

        Redirects are not followed: a POST would become a GET, and the key would go to an address nobody
        configured.

        Raises:
            ModelUnavailable: No answer: the name is unknown, the port closed, the connection lost, or the
                deadline over, however busily the server sends.
        """
        sockets = _Sockets()
        payload = None if body is None else json.dumps(body, ensure_ascii=True).encode("ascii")
        return self._line.run(
            lambda: self._send(method, url, payload, deadline, sockets), deadline, give_up=sockets.shut
        )

    def _send(
        self, method: str, url: str, payload: bytes | None, deadline: Deadline, sockets: _Sockets
    ) -> Answer:
        import requests

        with requests.Session() as session:
            session.trust_env = (
                not self._is_local
            )  # a proxy from the environment cannot reach our own machine
            adapter = _recording_adapter(sockets)
            session.mount("http://", adapter)
            session.mount("https://", adapter)
            try:
                response = session.request(
                    method,
                    url,
                    data=payload,
                    headers={"Content-Type": "application/json", "Accept": "application/json"},
                    auth=self._authorise,
                    timeout=max(deadline.left_s(), 0.001),
                    allow_redirects=False,
                    stream=True,
                )
                with response:
                    return Answer(
                        response.status_code,
                        response.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
                        _read(response, deadline),
                        _retry_after_s(response.headers.get("Retry-After", "")),
                    )
            except Exception as error:
                # The text of a foreign exception may hold the URL with its secrets, or the key: only its type
                # is told.
                kind = type(error).__name__
                raise ModelUnavailable(f"{self._label}: no answer ({kind})") from None

    def _authorise(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        # As an auth callable and not as a header: requests would overwrite a header with what ~/.netrc says.
        if self._api_key:
            request.headers["Authorization"] = f"Bearer {self._api_key}".encode().decode("latin-1")
        return request


class _Sockets:
    """The sockets that a request opened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._is_over = False

    def add(self, opened: socket.socket | None) -> None:
        if opened is None:
            return
        with self._lock:
            self._open.append(opened)
            is_over = self._is_over
        if is_over:
            self.shut()

    def shut(self) -> None:
        """End all traffic, so that a thread that waits for it comes back."""
        with self._lock:
            self._is_over = True
            for opened in self._open:
                with suppress(OSError):
                    opened.shutdown(socket.SHUT_RDWR)


def _recording_adapter(sockets: _Sockets) -> HTTPAdapter:
    """Return a transport that tells ``sockets`` of every connection that it opens."""
    from requests.adapters import HTTPAdapter

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
            super().init_poolmanager(*args, **kwargs)
            _record(self.poolmanager, sockets)

        def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
            return _record(super().proxy_manager_for(*args, **kwargs), sockets)

    return Adapter()


def _record(manager: Any, sockets: _Sockets) -> Any:
    """Make a pool manager of urllib3 use connections that ``sockets`` hears of; return it."""
    recording = {}
    for scheme, pool_class in dict(manager.pool_classes_by_scheme).items():
        connection_class = _recording_connection(pool_class.ConnectionCls, sockets)
        recording[scheme] = type(pool_class.__name__, (pool_class,), {"ConnectionCls": connection_class})
    manager.pool_classes_by_scheme = recording
    return manager


def _recording_connection(base: Any, sockets: _Sockets) -> Any:
    class Connection(base):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            sockets.add(self.sock)

    return Connection


def _read(response: requests.Response, deadline: Deadline) -> bytes:
    """Read the body up to its end, :data:`MAX_BODY`, the end of an event stream, or the deadline."""
    parts: list[bytes] = []
    size = 0
    tail = b""
    # An event stream is read as it comes: its connection may stay open long after the last event.
    is_stream = "event-stream" in response.headers.get("Content-Type", "")
    for part in response.iter_content(chunk_size=1 if is_stream else 8192):
        parts.append(part)
        size += len(part)
        tail = (tail + part)[-64:]
        if size >= MAX_BODY or _END_OF_STREAM in tail:
            break
        if deadline.left_s() <= 0:
            raise TimeoutError
    return b"".join(parts)[:MAX_BODY]


def _retry_after_s(value: str) -> float:
    try:
        return min(max(float(value), 0.0), 3600.0)
    except ValueError:  # an HTTP date, or nothing
        return 0.0


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
