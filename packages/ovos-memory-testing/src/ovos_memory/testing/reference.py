"""A small memory that keeps every rule: the yardstick of the suites and the healthy half of every evil twin.

It is made to be read, not to be fast: what was recorded is a log of events, and all else is computed from it.
Do not use it for a persona.
"""

from __future__ import annotations

import re
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage, MessageRole, ToolCall
from ovos_utils.log import LOG

from ovos_memory.core.exchanges import append_turns, conversation, normalise, session_key, window
from ovos_memory.core.text import clean, truncate
from ovos_memory.core.types import Document, MemoryHit
from ovos_memory.testing.eventlog import EventLog, SqliteLog

if TYPE_CHECKING:
    from ovos_memory.testing.reference_settings import ReferenceSettings

FENCE_OPEN, FENCE_CLOSE = "[[[recalled", "recalled]]]"
_ROLE = re.compile(r"^(\s*)(system|developer|user|assistant|tool)\s*:", re.IGNORECASE | re.MULTILINE)


class ReferenceMemory(AgentContextManager):
    """Finds what shares words with the query.

    Args:
        config: See :class:`ovos_memory.testing.reference_settings.ReferenceSettings`.
        clock: Returns epoch seconds.
    """

    plugin_name: ClassVar[str] = "ovos-memory-plugin-reference"
    accepts_scope: ClassVar[bool] = True

    def __init__(
        self, config: Mapping[str, Any] | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        from ovos_memory.core.settings import load_settings

        self.settings = load_settings(self.settings_model(), config, plugin=self.plugin_name)
        super().__init__({"system_prompt": self.settings.system_prompt})
        self._clock = clock
        self._lock = threading.RLock()
        self._log = self._open_log()

    @classmethod
    def settings_model(cls) -> type[ReferenceSettings]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""
        from ovos_memory.testing.reference_settings import ReferenceSettings

        return ReferenceSettings

    # ------------------------------------------------------------------ the contract
    def get_history(self, session_id: str | None = None) -> list[AgentMessage]:
        """Return the last messages of a session."""
        return window(self._turns(session_key(session_id)), self.settings.max_history)

    def update_history(self, new_messages: Sequence[AgentMessage], session_id: str | None = None) -> None:
        """Record messages."""
        said = [message for message in normalise(new_messages) if self._is_said(message)]
        for message in said:
            message.content = _without_block(message.content)
        if said:
            with self._lock:
                self._log.append(session_key(session_id), said, self._clock())

    def build_conversation_context(self, utterance: str, session_id: str | None = None) -> list[AgentMessage]:
        """Return prompt, recall, history and utterance."""
        spoken = clean(utterance).strip()
        history = conversation(self.get_history(session_id), self.settings.max_history_chars)
        hits = self._recalled(spoken, session_id, history)
        return self._inject(self._block(hits), history, spoken, session_key(session_id))

    def search(self, query: str, session_id: str | None = None, top_k: int | None = None) -> list[MemoryHit]:
        """Return what shares words with the query, best first."""
        words = self._words(query)
        limit = self.settings.retrieval.max_num_results if top_k is None else top_k
        is_scoped = self.settings.scope == "session"
        if not words or limit <= 0 or (is_scoped and session_id is None):
            return []
        distinct: dict[str, MemoryHit] = {}
        for document in reversed(self._documents(session_key(session_id) if is_scoped else None)):
            score = self._score(words, document)
            if score > 0:
                facts = {"session_id": document.session_id, "created_at": document.created_at}
                hit = MemoryHit(document.content, document.id, score, facts)
                distinct.setdefault(unicodedata.normalize("NFKC", document.content).strip(), hit)
        least = self.settings.retrieval.min_score
        kept = [hit for hit in distinct.values() if least is None or hit.score >= least]
        return sorted(kept, key=lambda hit: -hit.score)[:limit]

    def store(
        self, text: str, session_id: str | None = None, *, metadata: Mapping[str, Any] | None = None
    ) -> str:
        """Store one text verbatim and return its id."""
        session = session_key(session_id)
        with self._lock:
            self._log.append_text(session, clean(text), self._clock())
            return self._documents(session)[-1].id

    def health(self) -> dict[str, Any]:
        """Return what went wrong so far, and what waits to be written."""
        return {"plugin": self.plugin_name, "operations": self._log.failures(), "held": self._log.held()}

    def close(self) -> None:
        """Write what can be written."""
        with self._lock:
            self._log.flush()

    # ------------------------------------------------------------------ steps, which twins break
    def _open_log(self) -> EventLog:
        path = self.settings.db_path
        kind = SqliteLog if path is not None and path.endswith(".db") else EventLog
        return kind(path, plugin=self.plugin_name, warn=self._warn)

    def _warn(self, text: str, *values: object) -> None:
        LOG.warning(text, *values)

    def _is_said(self, message: AgentMessage) -> bool:
        calls = message.tool_calls or ()
        injected = any(c.id.startswith("memrag_") for c in calls)
        return not injected and not (message.tool_call_id or "").startswith("memrag_")

    def _turns(self, session_id: str) -> list[AgentMessage]:
        with self._lock:
            turns: list[AgentMessage] = []
            for event in self._log.events(session_id):
                turns = append_turns(turns, event.messages)
            return turns

    def _documents(self, session_id: str | None) -> list[Document]:
        with self._lock:
            return self._log.documents(session_id)

    def _words(self, text: str) -> set[str]:
        plain = unicodedata.normalize("NFKD", clean(text)).casefold()
        return set(re.findall(r"\w+", "".join(c for c in plain if not unicodedata.combining(c))))

    def _score(self, words: set[str], document: Document) -> float:
        found = self._words(document.content)
        return len(words & found) + 1 / (2 + len(found)) if words & found else 0.0

    def _recalled(
        self, spoken: str, session_id: str | None, history: Sequence[AgentMessage]
    ) -> list[MemoryHit]:
        settings, query = self.settings.retrieval, spoken
        if settings.query_mode == "history" and spoken and settings.query_history_turns:
            asked = [m.content for m in history if m.role == MessageRole.USER][
                -settings.query_history_turns :
            ]
            query = "\n".join([*asked, spoken])
        hits = self.search(query, session_key(session_id), None)
        if settings.exclude_recent:
            shown = {f"{a.content}\n{b.content}" for a, b in pairwise(history)}
            hits = [h for h in hits if h.content.removeprefix("Q: ").replace("\nA: ", "\n", 1) not in shown]
        return hits

    def _block(self, hits: Sequence[MemoryHit]) -> tuple[str, str] | None:
        """Return header and fenced hits."""
        context = self.settings.context
        header = clean(context.header).strip()
        room = 1_000_000 if context.max_chars is None else context.max_chars
        room -= len(header) + len(FENCE_OPEN) + len(FENCE_CLOSE) + 3
        rendered: list[str] = []
        for hit in hits:
            line = context.chunk_prefix + self._label(hit) + self._defused(hit.content)
            if room > 0:
                rendered.append(truncate(line, room))
                room -= len(rendered[-1]) + len(context.chunk_separator)
        if not rendered:
            return None
        return header, f"{FENCE_OPEN}\n{context.chunk_separator.join(rendered)}\n{FENCE_CLOSE}"

    def _label(self, hit: MemoryHit) -> str:
        context = self.settings.context
        day = (
            time.strftime("[%Y-%m-%d] ", time.gmtime(hit.metadata["created_at"]))
            if context.include_dates
            else ""
        )
        return day + (f"[{hit.source}] " if context.include_sources else "")

    def _defused(self, text: str) -> str:
        """Return stored text that can neither end the fence nor start a role."""
        text = re.sub(r"\[(?=\W*\[)|\](?=\W*\])", "(", text).replace("]", ")")
        return _ROLE.sub(r"\1> \2:", text)

    def _inject(
        self, block: tuple[str, str] | None, history: Sequence[AgentMessage], spoken: str, session_id: str
    ) -> list[AgentMessage]:
        mode, prompt = self.settings.inject_mode, clean(self.settings.system_prompt).strip()
        recall = "" if block is None else "\n".join(part for part in block if part)
        front = [AgentMessage(MessageRole.SYSTEM, prompt)] if prompt else []
        behind: list[AgentMessage] = []
        if recall and mode == "system_prompt":
            front = [AgentMessage(MessageRole.SYSTEM, "\n\n".join(t for t in (prompt, recall) if t))]
        elif recall and mode in ("system", "developer"):
            front.append(AgentMessage(MessageRole(mode), recall))
        elif block is not None and mode == "tool":
            behind = self._call(recall, spoken, session_id)
        elif block is not None and mode == "user":
            spoken = self._user_turn(block, spoken)
        return [*front, *history, *behind, AgentMessage(MessageRole.USER, spoken)]

    def _user_turn(self, block: tuple[str, str], spoken: str) -> str:
        template = self.settings.user_template or "{header}\n{context}\n\n{utterance}"
        if "{utterance}" not in template:
            template += "\n\n{utterance}"
        values = {"{header}": block[0], "{context}": block[1], "{utterance}": spoken}
        return re.sub(r"\{(header|context|utterance)\}", lambda found: values[found[0]], template).strip()

    def _call(self, recall: str, spoken: str, session_id: str) -> list[AgentMessage]:
        identifier = f"memrag_{session_id}_{max(0, len(self._documents(session_id)) - 1)}"
        name = self.settings.context.tool_name
        made = ToolCall(identifier, name, {"query": spoken})
        return [
            AgentMessage(MessageRole.ASSISTANT, "", tool_calls=[made]),
            AgentMessage(MessageRole.TOOL, recall, tool_call_id=identifier, name=name),
        ]


def _without_block(text: str) -> str:
    """Return what was said in a message without a block of ours and the line in front of it."""
    block = rf"(?:(?:^|(?<=\n))[^\n]*\n)?{re.escape(FENCE_OPEN)}.*?{re.escape(FENCE_CLOSE)}"
    return re.sub(block, "", text, flags=re.DOTALL).strip() if FENCE_OPEN in text else text
