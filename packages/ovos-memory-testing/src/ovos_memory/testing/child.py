"""The process behind :class:`ovos_memory.testing.processes.Child`: one memory, a JSON line per command."""

from __future__ import annotations

import json
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, TextIO

from ovos_memory.testing.messages import pair
from ovos_memory.testing.processes import Location, pack, unpack


def main(replies: TextIO) -> None:
    """Read commands until the input ends.

    Args:
        replies: Where the answers go, one JSON line each; nothing else may write there.
    """
    job = json.loads(sys.stdin.readline())
    try:
        memory = Location(**job["location"]).load()(job["config"])
    except BaseException:
        _reply(replies, {"error": traceback.format_exc()})
        raise
    for line in sys.stdin:
        request = json.loads(line)
        command: Callable[..., Any] = _COMMANDS[request.pop("command")]
        try:
            _reply(replies, {"value": command(memory, replies=replies, **request)})
        except Exception:
            _reply(replies, {"error": traceback.format_exc()})


def _reply(replies: TextIO, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer) + "\n")
    replies.flush()


def _update(memory: Any, *, messages: list[dict[str, Any]], session_id: str, replies: TextIO) -> None:
    memory.update_history([unpack(m) for m in messages], session_id)


def _history(memory: Any, *, session_id: str, replies: TextIO) -> list[dict[str, Any]]:
    return [pack(m) for m in memory.get_history(session_id)]


def _context(memory: Any, *, utterance: str, session_id: str, replies: TextIO) -> list[dict[str, Any]]:
    return [pack(m) for m in memory.build_conversation_context(utterance, session_id)]


def _search(
    memory: Any, *, query: str, session_id: str | None, top_k: int | None, replies: TextIO
) -> list[tuple[str, str | None]]:
    return [(hit.content, hit.source) for hit in memory.search(query, session_id, top_k)]


def _burst(memory: Any, *, first: int, count: int, session_id: str, replies: TextIO) -> int:
    """Record numbered exchanges, each acknowledged with its number as soon as the memory has returned."""
    for number in range(first, first + count):
        memory.update_history(pair(f"question {number}", f"answer {number}"), session_id)
        _reply(replies, {"value": number})
    return count


def _limit(memory: Any, *, size: int | None, replies: TextIO) -> None:
    """Let no file grow beyond a size (bytes), as a full disk does; ``None`` lifts the limit."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def _health(memory: Any, *, replies: TextIO) -> Any:
    return json.loads(json.dumps(memory.health(), default=str))


def _close(memory: Any, *, replies: TextIO) -> None:
    memory.close()


_COMMANDS: dict[str, Callable[..., Any]] = {
    "update": _update,
    "history": _history,
    "context": _context,
    "search": _search,
    "burst": _burst,
    "limit": _limit,
    "health": _health,
    "close": _close,
}
