"""What doctor finds at the addresses of language models."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ovos_memory.cli.blocks import Block, problem

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Trouble

_TIMEOUT_S = 3.0
_EMBEDDING = ("embed", "minilm", "bge-", "e5-", "gte-")


def model_findings(blocks: list[Block]) -> Iterator[Trouble]:
    """Yield what is wrong with the servers that language models are asked on."""
    asked: dict[str, list[Trouble]] = {}
    for block in blocks:
        url = getattr(block.settings, "api_url", None)
        if not isinstance(url, str) or block.get("chat_engine") is not None:
            continue
        key = f"{url} {block.get('model')}"
        if key not in asked:
            asked[key] = list(_endpoint(block, url.rstrip("/")))
        yield from asked[key]


def _endpoint(block: Block, url: str) -> Iterator[Trouble]:
    try:
        answer = _get(f"{url}/models", str(block.get("api_key") or ""))
    except (OSError, ValueError) as error:
        if not isinstance(error, urllib.error.HTTPError | ValueError) or not _is_chromadb(url):
            yield problem("model", block.where, _why(url, error), _remedy(url))
            return
        what = f"at {url} chromadb's server answers, which is no language model"
        yield problem("model", block.where, what, "set api_url to the model's server, or move one of them")
        return
    listed = answer.get("data") if isinstance(answer, dict) else None
    names = [m["id"] for m in listed or () if isinstance(m, dict) and isinstance(m.get("id"), str)]
    chat = [name for name in names if not any(part in name.lower() for part in _EMBEDDING)]
    wanted = block.get("model")
    if not wanted and not chat:
        what = f"{url} lists no language model" + (f" (only {', '.join(names)})" if names else "")
        yield problem("model", block.where, what, "load a model there, or set `model`")
    elif wanted and names and wanted not in names:
        what = f"{url} has no model '{wanted}' (it has {', '.join(names)})"
        yield problem("model", block.where, what, "correct `model`, or load it")


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
        except (OSError, ValueError):
            continue
        if isinstance(answer, dict) and "nanosecond heartbeat" in answer:
            return True
    return False


def _why(url: str, error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{url}/models answers with status {error.code}, so this is no OpenAI-compatible server"
    if isinstance(error, ValueError):
        return f"{url}/models answers with something that is no JSON"
    return f"no server answers at {url} ({type(error).__name__})"


def _remedy(url: str) -> str:
    if ":8000" in url:
        return "start the model's server or set api_url; 8000 is also the port of chromadb's server"
    return "start the model's server, or correct api_url"
