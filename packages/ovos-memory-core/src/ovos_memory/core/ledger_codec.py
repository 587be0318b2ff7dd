"""Documents as rows: session ids as bytes, messages as JSON where the two texts do not say it all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.exchanges import message_as_dict, message_from_dict
from ovos_memory.core.types import Document, parse_document_id

MAX_NUMBER = 2**63 - 1
"""The biggest integer that SQLite stores."""

Row = tuple[Any, ...]
"""The columns that :meth:`ovos_memory.core.ledger_tables.LedgerTables` selects for a document."""


def session_key(session_id: str) -> bytes:
    """Return a session id as bytes: NUL, half surrogates, case and Unicode form all keep sessions apart."""
    return session_id.encode("utf-8", "surrogatepass")


def session_id_of(key: bytes) -> str:
    """Return the session id of :func:`session_key`."""
    return key.decode("utf-8", "surrogatepass")


def session_hash(key: bytes) -> bytes:
    """Return what is left of the id of a forgotten session: its counter must not start anew."""
    return hashlib.sha256(key).digest()


def split_id(document_id: str) -> tuple[bytes, int] | None:
    """Split a document's id into session key and number; ``None`` when it can be no document's."""
    parsed = parse_document_id(document_id)
    if parsed is None or parsed[1] > MAX_NUMBER:
        return None
    return session_key(parsed[0]), parsed[1]


def storable(text: str) -> str:
    """Return a text that SQLite can store: surrogate pairs joined, half ones replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def dump_json(value: object) -> str:
    """Return compact JSON that SQLite can store; what JSON has no word for becomes its ``str()``."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=str)
    return text


def dump_metadata(metadata: Mapping[str, Any] | None) -> str | None:
    """Return metadata as JSON, ``None`` when there are none."""
    return dump_json(dict(metadata)) if metadata else None


def _load_metadata(stored: str | None) -> dict[str, Any]:
    """Return stored metadata; none where they are damaged, for the document is there all the same."""
    try:
        found = json.loads(stored) if stored else {}
    except (RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def dump_messages(question: str, answer: str, messages: Sequence[AgentMessage]) -> str | None:
    """Return messages as JSON, or ``None`` when they are just the user's ``question`` and the ``answer``."""
    if (
        len(messages) == 2
        and _is_plain(messages[0], "user", question)
        and _is_plain(messages[1], "assistant", answer)
    ):
        return None
    return dump_json([message_as_dict(message) for message in messages])


def load_messages(question: str, answer: str, stored: str | None) -> tuple[AgentMessage, ...]:
    """Return the messages of :func:`dump_messages`, new objects every time."""
    if stored is None:
        return AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer)
    try:
        return tuple(message_from_dict(each) for each in json.loads(stored))
    except (
        AttributeError,
        KeyError,
        RecursionError,
        TypeError,
        ValueError,
    ):  # damaged: the words are there as well
        return load_messages(question, answer, None)


def document_of(row: Row) -> Document:
    """Return the document of a selected row."""
    number, session, n, question, answer, messages, text, metadata, created_at, change = row
    return Document(
        session_id=session_id_of(session),
        n=n,
        question=question,
        answer=answer,
        messages=load_messages(question, answer, messages) if text is None else (),
        created_at=created_at,
        text=text,
        metadata=_load_metadata(metadata),
        row=number,
        change=change,
    )


def content_columns(document: Document) -> tuple[str, str, str | None, str | None, str | None]:
    """Return question, answer, messages, text and metadata as they are stored."""
    messages = None
    if document.text is None:
        messages = dump_messages(document.question, document.answer, document.messages)
    return document.question, document.answer, messages, document.text, dump_metadata(document.metadata)


def edited_messages(old: Document, new: Document) -> tuple[AgentMessage, ...]:
    """Return an exchange's messages with its new words: tool calls stay, the answer is one piece."""
    messages = list(
        load_messages(old.question, old.answer, dump_messages(old.question, old.answer, old.messages))
    )
    if new.question != old.question:
        asked = [m for m in messages if m.role == MessageRole.USER]
        if not asked:
            asked = [AgentMessage(MessageRole.USER, "")]
            messages.insert(0, asked[0])
        asked[0].content = new.question
    if new.answer != old.answer:
        spoken = [m for m in messages if m.role == MessageRole.ASSISTANT and not m.tool_calls]
        if not spoken:
            spoken = [AgentMessage(MessageRole.ASSISTANT, "")]
            messages.append(spoken[0])
        spoken[-1].content = new.answer
        for message in messages:
            if message.role == MessageRole.ASSISTANT and message.tool_calls:
                message.content = ""
        messages = [m for m in messages if not any(m is earlier for earlier in spoken[:-1])]
    return tuple(messages)


def _is_plain(message: AgentMessage, role: str, content: str) -> bool:
    return (
        message.role == role
        and message.content == content
        and not message.tool_calls
        and message.tool_call_id is None
        and message.name is None
    )
