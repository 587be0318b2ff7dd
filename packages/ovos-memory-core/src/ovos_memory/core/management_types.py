"""What the management contract speaks of: which records are meant, what became of them, what is related."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ovos_memory.core.errors import DocumentGone
from ovos_memory.core.record_types import Record
from ovos_memory.core.text import fold, identity

MIN_PHRASE = 3
"""Characters of the shortest phrase that may choose records."""
SAME_MOMENT_S = 10.0
"""Members of a composite record an exchange within this time of each other."""
IsMeant = Callable[[Record], bool]
Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which records are meant; the conditions are joined by *and*.

    Attributes:
        session_id: Of this session; compared as it is.
        record_id: The record of this id.
        query: Those that contain this phrase, compared by :func:`~ovos_memory.core.text.fold`.
        before: Those created before this moment, epoch seconds.
        after: Those created at this moment or later, epoch seconds.

    Raises:
        ValueError: The phrase has fewer than three characters.
    """

    session_id: str | None = None
    record_id: str | None = None
    query: str | None = None
    before: float | None = None
    after: float | None = None

    def __post_init__(self) -> None:
        if self.query is not None and len(fold(self.query).strip()) < MIN_PHRASE:
            raise ValueError(
                f"query must be a phrase of at least {MIN_PHRASE} characters, got {len(self.query.strip())}"
            )

    @classmethod
    def to_forget(
        cls,
        *,
        session_id: str | None = None,
        record_id: str | None = None,
        query: str | None = None,
        before: float | None = None,
    ) -> Selection:
        """Return what to forget.

        Raises:
            ValueError: There is no condition at all, or the phrase is too short.
        """
        if all(condition is None for condition in (session_id, record_id, query, before)):
            raise ValueError(
                "forget needs at least one condition (session_id, record_id, query or before);"
                " without one everything would go"
            )
        return cls(session_id, record_id, query, before)

    def __call__(self, record: Record) -> bool:
        """Tell whether a record is meant."""
        return (
            (self.session_id is None or record.session_id == self.session_id)
            and (self.record_id is None or record.id == self.record_id)
            and (self.before is None or record.created_at < self.before)
            and (self.after is None or record.created_at >= self.after)
            and (self.query is None or fold(self.query) in fold(searchable(record)))
        )


def searchable(record: Record) -> str:
    """Return all that a record says: its text, and what tools were told and answered."""
    messages = record.details.get("messages", ())
    said = (record.text, *_texts(messages), *_texts(record.details.get("metadata", {})))
    words = record.details.get("words", "")
    return "\n".join((*said, words) if words else said)


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from (str(key), *_texts(part))
    elif isinstance(value, Sequence):
        for part in value:
            yield from _texts(part)
    elif value is not None:
        yield str(value)


@dataclass(frozen=True, slots=True)
class Trace:
    """What one forgotten record said, so that other memories can forget what they made of it.

    Attributes:
        session_id: Its session.
        text: What it said; compared by :func:`~ovos_memory.core.text.identity`.
        question: The user's words of the exchange that it was, or was part of; ``None`` when not known.
        answer: The assistant's words of that exchange.
        source: Id of the document; ``None`` for other records.
        created_at: Epoch seconds, UTC.
        words: The user's words that a fact rests on; the exchange in which they were said is its source.
    """

    session_id: str
    text: str
    question: str | None = None
    answer: str | None = None
    source: str | None = None
    created_at: float = 0.0
    words: str = ""

    def is_source(self, session_id: str, created_at: float, said: str) -> bool:
        """Tell whether the words were said here and then."""
        if not self.words or session_id != self.session_id:
            return False
        return abs(created_at - self.created_at) <= SAME_MOMENT_S and fold(self.words) in fold(said)

    def means(self, session_id: str, *texts: str) -> bool:
        """Tell whether one of these texts of a session is the same."""
        return session_id == self.session_id and identity(self.text) in map(identity, texts)

    def is_exchange(self, session_id: str, question: str, answer: str) -> bool:
        """Tell whether this exchange of a session is the same."""
        if session_id != self.session_id or self.question is None or self.answer is None:
            return False
        return identity(question) == identity(self.question) and identity(answer) == identity(self.answer)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What ``forget`` did.

    Attributes:
        counts: Records that are gone, by the plugin's or member's name.
        traces: What they said.
        files: Set-aside files and copies that were removed with them.
        leftovers: What could not be cleaned, each a sentence that says what to do; empty: all is clean.
        unproven: Places where it was deleted and whose files cannot be looked at from here, each a sentence.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    traces: tuple[Trace, ...] = ()
    files: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many records are gone."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that makes a memory silently useless, and what to do about it.

    Attributes:
        check: Short name of what was looked at.
        where: Plugin, member or path.
        what: What is wrong.
        remedy: What to do.
        level: ``problem``, or ``advice`` where it may be meant so.
    """

    check: str
    where: str
    what: str
    remedy: str
    level: str = "problem"


@dataclass(frozen=True, slots=True)
class Imported:
    """What ``import_records`` did.

    Attributes:
        added: Records that are new, by the plugin's or member's name.
        known: Records that were there already.
        renumbered: Of the added ones, those whose id belonged to another record.
        refused: Records of a kind that the memory does not keep, by kind.
    """

    added: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    renumbered: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many records were added."""
        return sum(self.added.values())


@dataclass(slots=True)
class Tally:
    """Counts an import while it runs."""

    added: int = 0
    known: int = 0
    renumbered: int = 0
    refused: dict[str, int] = field(default_factory=dict)

    def refuse(self, kind: object) -> None:
        """Count a record that the memory does not keep."""
        self.refused[str(kind)] = self.refused.get(str(kind), 0) + 1

    def result(self, name: str) -> Imported:
        """Return the counts under a name."""
        return Imported({name: self.added}, self.known, self.renumbered, dict(self.refused))


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """What cleaning a store's files did; see :class:`Forgotten`."""

    files: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()

    def __add__(self, other: Scrubbed) -> Scrubbed:
        return Scrubbed(
            self.files + other.files, self.leftovers + other.leftovers, self.unproven + other.unproven
        )


def as_line(record: Record) -> dict[str, Any]:
    """Return a record as a line of an export."""
    line: dict[str, Any] = {
        "id": record.id,
        "kind": record.kind,
        "session_id": record.session_id,
        "created_at": record.created_at,
    }
    if "question" not in record.details and "message" not in record.details:
        line["text"] = record.text
    return {**line, **record.details}


def gone(record_id: str) -> DocumentGone:
    """Return the error for an id that names nothing."""
    return DocumentGone(f"there is no record of the id {record_id!r}; `list` shows those there are")
