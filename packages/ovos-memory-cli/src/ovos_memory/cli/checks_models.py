"""What doctor finds at the addresses of language models."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from ovos_memory.cli.blocks import Block, Finding

_TIMEOUT_S = 3.0
_EMBEDDING = ("embed", "minilm", "bge-", "e5-", "gte-")


def model_findings(blocks: list[Block]) -> Iterator[Finding]:
    """Yield what is wrong with the servers that language models are asked on."""
    asked: dict[str, list[Finding]] = {}
    for block in blocks:
        url = getattr(block.settings, "api_url", None)
        if not isinstance(url, str) or block.get("chat_engine") is not None:
            continue
        key = f"{url} {block.get('model')}"
        if key not in asked:
            asked[key] = list(_endpoint(block, url.rstrip("/")))
        yield from asked[key]


def _endpoint(block: Block, url: str) -> Iterator[Finding]:
    try:
        answer = _get(f"{url}/models", str(block.get("api_key") or ""))
    except (OSError, ValueError) as error:
        yield Finding("problem", "model", block.where, _why(url, error), _remedy(url))
        return
    listed = answer.get("data") if isinstance(answer, dict) else None
    names = [m["id"] for m in listed or () if isinstance(m, dict) and isinstance(m.get("id"), str)]
    chat = [name for name in names if not any(part in name.lower() for part in _EMBEDDING)]
    wanted = block.get("model")
    if not wanted and not chat:
        what = f"{url} lists no language model" + (f" (only {', '.join(names)})" if names else "")
        yield Finding("problem", "model", block.where, what, "load a model there, or set `model`")
    elif wanted and names and wanted not in names:
        what = f"{url} has no model '{wanted}' (it has {', '.join(names)})"
        yield Finding("problem", "model", block.where, what, "correct `model`, or load it")


def _get(url: str, key: str) -> Any:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:
        return json.loads(reply.read(1_000_000))


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
