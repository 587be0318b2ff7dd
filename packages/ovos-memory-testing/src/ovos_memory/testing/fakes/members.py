"""Third-party memories for a composite: one that is plain and honest, and ones that are not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage, MessageRole

GROUP = "opm.agents.memory"


class PlainMember(AgentContextManager):
    """An honest memory of somebody else's: keeps everything, in RAM, and says what its ``block`` says.

    Args:
        config: ``block`` (text of a leading system message), ``system_prompt``.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__(dict(config or {}))
        self.recorded: dict[str, list[AgentMessage]] = {}

    def get_history(self, session_id: str) -> list[AgentMessage]:
        """Return everything that was recorded."""
        return list(self.recorded.get(session_id, []))

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str) -> None:
        """Record messages."""
        self.recorded.setdefault(session_id, []).extend(new_messages)

    def build_conversation_context(self, utterance: str, session_id: str) -> list[AgentMessage]:
        """Return the block, the history and the utterance."""
        texts = [self.system_prompt, self.config.get("block", "")]
        front = [AgentMessage(MessageRole.SYSTEM, text) for text in texts if text]
        return [*front, *self.get_history(session_id), AgentMessage(MessageRole.USER, utterance)]


class _Odd(PlainMember):
    """Does the same odd thing in every method, ``search`` included."""

    def get_history(self, session_id: str) -> Any:
        return self._odd()

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str) -> None:
        self._odd()

    def build_conversation_context(self, utterance: str, session_id: str) -> Any:
        return self._odd()

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> Any:
        return self._odd()

    def _odd(self) -> Any:
        raise NotImplementedError


class WrongTypesMember(_Odd):
    """Returns what is no list of messages or hits: the ``value`` of its configuration."""

    def _odd(self) -> Any:
        return self.config.get("value")


class RaisingMember(_Odd):
    """Raises; the text of the error quotes what was said, as careless code does."""

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str) -> None:
        """Raise."""
        raise RuntimeError(f"cannot store {[m.content for m in new_messages]}")

    def build_conversation_context(self, utterance: str, session_id: str) -> Any:
        """Raise."""
        raise RuntimeError(f"cannot answer {utterance}")

    def _odd(self) -> Any:
        raise RuntimeError("always")


class InterruptingMember(_Odd):
    """Is interrupted: ``KeyboardInterrupt``, or ``SystemExit`` when ``exits`` is set."""

    def _odd(self) -> Any:
        raise SystemExit(3) if self.config.get("exits") else KeyboardInterrupt


class HangingMember(_Odd):
    """Does not come back before :attr:`release` is set.

    Attributes:
        release: One for all members of the class; a test sets it when it is done.
        entered: Counts the calls that went in.
    """

    release: ClassVar[threading.Event] = threading.Event()
    entered: ClassVar[list[str]] = []

    def _odd(self) -> Any:
        self.entered.append(type(self).__name__)
        self.release.wait(60)
        return []


def install_plugin(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    target: Callable[..., Any] | str,
    *,
    group: str = GROUP,
) -> None:
    """Make a memory plugin (or one of another group) discoverable, here and in processes started from here.

    It is a real entry point: metadata of a distribution in ``folder``, which is put on the path.

    Args:
        folder: Where to write; several plugins may share it.
        monkeypatch: Takes the folder off the path again.
        name: Entry-point name.
        target: The class, or ``"module:name"``.
        group: Of entry points.
    """
    where = target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {where}\n")
    monkeypatch.syspath_prepend(str(folder))
