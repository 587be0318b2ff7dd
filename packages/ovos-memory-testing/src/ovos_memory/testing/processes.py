"""Memories in other processes, driven step by step: for restarts, kills, races and limits that are real."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

_START = """
import os
replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
from ovos_memory.testing.child import main
main(replies)
"""
# The real stdout is set aside for replies before the imports: OPM 2.7 logs to stdout while it is imported.

REPLY_S = 60.0
"""Seconds that a process may take for one reply."""


@dataclass(frozen=True)
class Location:
    """Where another process finds a factory.

    Attributes:
        module: Its module.
        qualname: Its name there.
        file: Its source, for modules that cannot be imported by name (test files).
    """

    module: str
    qualname: str
    file: str | None

    @classmethod
    def of(cls, factory: Callable[..., Any]) -> Location:
        """Return where a class or module-level function lives."""
        if "<" in factory.__qualname__:
            raise TypeError(f"{factory.__qualname__}: a factory must be importable, not local or a lambda")
        return cls(factory.__module__, factory.__qualname__, inspect.getsourcefile(factory))

    def load(self) -> Any:
        """Import it."""
        try:
            found: Any = importlib.import_module(self.module)
        except ImportError:
            if self.file is None:
                raise
            spec = importlib.util.spec_from_file_location(self.module, self.file)
            assert spec is not None and spec.loader is not None
            found = importlib.util.module_from_spec(spec)
            sys.modules[self.module] = found
            spec.loader.exec_module(found)
        for name in self.qualname.split("."):
            found = getattr(found, name)
        return found


def environment() -> dict[str, str]:
    """Return the environment of a child: ours, with everything importable that is importable here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONHASHSEED": "random"}


class Child:
    """A process with one memory; each method waits for its reply.

    It starts at the first use.

    Args:
        location: The factory.
        config: The configuration to call it with.
    """

    def __init__(self, location: Location, config: Mapping[str, Any]) -> None:
        self._job = {"location": asdict(location), "config": dict(config)}
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Child:
        """Start it without waiting until it is ready."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment(),
            )
            self._send(self._job)
        return self

    @property
    def pid(self) -> int:
        """Its process id."""
        self.start()
        assert self._process is not None
        return self._process.pid

    def send(self, command: str, **arguments: Any) -> None:
        """Ask without waiting for the reply."""
        self.start()
        self._send({"command": command, **arguments})

    def reply(self) -> Any:
        """Wait for the next reply.

        Raises:
            EOFError: The process has ended, or did not answer within :data:`REPLY_S`.
            AssertionError: The memory raised; the message has its traceback.
        """
        assert self._process is not None and self._process.stdout is not None
        watchdog = threading.Timer(REPLY_S, self._process.kill)  # a process that hangs fails its test only
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line.endswith("\n"):
            raise EOFError
        answer = json.loads(line)
        assert "error" not in answer, f"in another process:\n{answer['error']}"
        return answer["value"]

    def ask(self, command: str, **arguments: Any) -> Any:
        """Ask and wait for the reply."""
        self.send(command, **arguments)
        return self.reply()

    # ------------------------------------------------------------------ the three methods, and search
    def update_history(self, messages: Sequence[AgentMessage], session_id: str = "s") -> None:
        """Record messages."""
        self.ask("update", messages=[pack(m) for m in messages], session_id=session_id)

    def get_history(self, session_id: str = "s") -> list[AgentMessage]:
        """Return the history."""
        return [unpack(m) for m in self.ask("history", session_id=session_id)]

    def build_conversation_context(self, utterance: str, session_id: str = "s") -> list[AgentMessage]:
        """Return a context."""
        return [unpack(m) for m in self.ask("context", utterance=utterance, session_id=session_id)]

    def search(
        self, query: str, session_id: str | None = "s", top_k: int | None = None
    ) -> list[tuple[str, str]]:
        """Return (content, source) of the hits."""
        found = self.ask("search", query=query, session_id=session_id, top_k=top_k)
        return [(content, source) for content, source in found]

    # ------------------------------------------------------------------ ends
    def end(self) -> None:
        """Let it exit the way a program does: interpreter shutdown, no ``close()``."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(
                    "the process of a memory does not end: something holds up its exit"
                ) from None
            self._forget()

    def kill(self) -> None:
        """End it as a power cut does (``SIGKILL``)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._forget()

    def _forget(self) -> None:
        assert self._process is not None
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._process = None

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def pack(message: AgentMessage) -> dict[str, Any]:
    """Return a message as JSON values."""
    return {**asdict(message), "role": MessageRole(message.role).value}


def unpack(packed: Mapping[str, Any]) -> AgentMessage:
    """Return the message that :func:`pack` took apart."""
    calls = packed.get("tool_calls")
    return AgentMessage(
        role=MessageRole(packed["role"]),
        content=packed["content"],
        tool_calls=None if calls is None else [ToolCall(**c) for c in calls],
        tool_call_id=packed.get("tool_call_id"),
        name=packed.get("name"),
    )


def run_python(code: str, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment() if environ is None else environ,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"a fresh interpreter failed:\n{done.stderr}"
    return done.stdout
