"""What doctor finds at the addresses of language models."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ovos_memory.cli.blocks import Block, problem
from ovos_memory.cli.checks_handlers import SERVED
from ovos_memory.cli.target import Target

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Trouble

_TIMEOUT_S = 3.0
_EMBEDDING = ("embed", "minilm", "bge-", "e5-", "gte-")
_NO_ANSWER = (OSError, ValueError, http.client.HTTPException)
_REFUSALS = (401, 403)
_SCHEMES = ("http://", "https://")


@dataclass(frozen=True)
class _User:
    """Somebody who asks a model: a memory or a chat engine.

    Attributes:
        where: Name for messages.
        url: Base address of the server, without a slash at its end.
        model: The model's id; ``""``: whichever there is.
        key: Bearer token; ``""``: none.
    """

    where: str
    url: str
    model: str
    key: str


def model_findings(target: Target, blocks: list[Block]) -> Iterator[Trouble]:
    """Yield what is wrong with the servers that language models are asked on; each is asked once."""
    servers: dict[str, list[_User]] = defaultdict(list)
    for user in _users(target, blocks):
        servers[user.url].append(user)
    for url, users in servers.items():
        yield from _server(url, users)


def _users(target: Target, blocks: list[Block]) -> Iterator[_User]:
    for block in blocks:
        engine, config = block.engine
        url = getattr(block.settings, "api_url", None)
        if engine:
            yield from _engine(f"{block.where} > chat_engine", engine, config)
        elif isinstance(url, str):
            model, key = block.get("model"), block.get("api_key")
            yield _User(block.where, url.rstrip("/"), str(model or ""), str(key or ""))
    for name in dict.fromkeys(target.handlers):
        yield from _engine(name, name, (target.persona or {}).get(name))


def _engine(where: str, name: str, config: Any) -> Iterator[_User]:
    """Yield a chat engine with a server of its own; without an address it asks OpenAI's."""
    if name != SERVED or not isinstance(config, Mapping) or not config.get("api_url"):
        return
    url, model, key = (str(config.get(name) or "").strip() for name in ("api_url", "model", "key"))
    yield _User(where, url.rstrip("/"), model, key)


def _server(url: str, users: list[_User]) -> Iterator[Trouble]:
    """Yield what is wrong with a server: without a key first, for a server that wants none answers all alike."""
    while users:
        key = min(user.key for user in users)
        answer = _answer(url, key)
        is_refused = isinstance(answer, urllib.error.HTTPError) and answer.code in _REFUSALS
        is_alike = not is_refused and (not key or isinstance(answer, Exception))
        concerned = [user for user in users if is_alike or user.key == key]
        users = [user for user in users if user not in concerned]
        if isinstance(answer, Exception):
            yield _no_server(_names(concerned), url, answer)
            continue
        by_model: dict[str, list[_User]] = defaultdict(list)
        for user in concerned:
            by_model[_tagged(user.model)].append(user)
        for same in by_model.values():
            yield from _model(_names(same), url, same[0].model, answer)


def _names(users: list[_User]) -> str:
    return ", ".join(dict.fromkeys(user.where for user in users))


def _no_server(where: str, url: str, error: Exception) -> Trouble:
    if isinstance(error, urllib.error.HTTPError | ValueError) and _is_chromadb(url):
        what = f"at {url} chromadb's server answers, which is no language model"
        return problem("model", where, what, "set api_url to the model's server, or move one of them")
    return problem("model", where, _why(url, error), _remedy(url, error))


def _model(where: str, url: str, wanted: str, answer: Any) -> Iterator[Trouble]:
    listed = answer.get("data") if isinstance(answer, dict) else None
    names = [m["id"] for m in listed or () if isinstance(m, dict) and isinstance(m.get("id"), str)]
    chat = [name for name in names if not any(part in name.lower() for part in _EMBEDDING)]
    if not wanted and not chat:
        what = f"{url} lists no language model" + (f" (only {', '.join(names)})" if names else "")
        yield problem("model", where, what, "load a model there, or set `model`")
    elif wanted and names and _tagged(wanted) not in map(_tagged, names):
        what = f"{url} has no model '{wanted}' (it has {', '.join(names)})"
        yield problem("model", where, what, "correct `model`, or load it")


def _tagged(model: str) -> str:
    """Return a model's name as Ollama lists it; ``llama3.2`` and ``llama3.2:latest`` are one."""
    return model if not model or ":" in model else f"{model}:latest"


def _answer(url: str, key: str) -> Any:
    """Return the server's list of models, or the exception that came instead."""
    if not url.startswith(_SCHEMES):
        return ValueError()
    try:
        return _get(f"{url}/models", key)
    except _NO_ANSWER as error:
        return error


def _get(url: str, key: str) -> Any:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:
        return json.loads(reply.read(1_000_000))


def _is_chromadb(url: str) -> bool:
    parts = urllib.parse.urlsplit(url)
    for version in ("v2", "v1"):
        try:
            answer = _get(f"{parts.scheme}://{parts.netloc}/api/{version}/heartbeat", "")
        except _NO_ANSWER:
            continue
        if isinstance(answer, dict) and "nanosecond heartbeat" in answer:
            return True
    return False


def _why(url: str, error: Exception) -> str:
    if not url.startswith(_SCHEMES):
        return f"'{url}' is no address that starts with {' or '.join(_SCHEMES)}"
    if isinstance(error, urllib.error.HTTPError) and error.code in _REFUSALS:
        return f"{url}/models answers with status {error.code}: the key is missing or wrong"
    if isinstance(error, urllib.error.HTTPError):
        return f"{url}/models answers with status {error.code}, so this is no OpenAI-compatible server"
    if isinstance(error, ValueError):
        return f"{url}/models answers with something that is no JSON"
    return f"no server answers at {url} ({type(error).__name__})"


def _remedy(url: str, error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError) and error.code in _REFUSALS:
        return f"set `api_key`, which is `key` in the block of {SERVED}"
    if ":8000" in url:
        return "start the model's server or set api_url; 8000 is also the port of chromadb's server"
    return "start the model's server, or correct api_url"
