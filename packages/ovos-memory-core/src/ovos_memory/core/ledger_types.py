"""What a ledger offers, whatever keeps it: SQLite here, a database server perhaps one day."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ovos_memory.core.record_types import SessionSummary
from ovos_memory.core.types import Document, Exchange

WAIT_S = 1.0
"""How long a call waits for other writers at most, unless told otherwise."""


class Recording(Protocol):
    """Documents are recorded, corrected and forgotten; each call is durable when it returns.

    All methods of a ledger raise :class:`~ovos_memory.core.errors.StoreError` when it cannot be read or
    written.  Session ids are opaque, document ids are ``"<session_id>_<n>"``; no ``n`` of a
    session is ever used twice.
    """

    def append(
        self,
        session_id: str,
        exchange: Exchange,
        *,
        created_at: float,
        metadata: Mapping[str, Any] | None = None,
        wait_s: float = WAIT_S,
    ) -> Document:
        """Record an exchange.  Flat cost."""

    def append_text(
        self,
        session_id: str,
        text: str,
        *,
        created_at: float,
        metadata: Mapping[str, Any] | None = None,
        wait_s: float = WAIT_S,
    ) -> Document:
        """Record a text verbatim.  Flat cost."""

    def extend(self, document: Document, exchange: Exchange, *, wait_s: float = WAIT_S) -> Document:
        """Replace a document's exchange by a longer one; ``DocumentGone`` when it was changed or deleted."""

    def edit(
        self,
        document_id: str,
        *,
        question: str | None = None,
        answer: str | None = None,
        text: str | None = None,
    ) -> Document:
        """Correct what a document says; it raises ``DocumentGone`` when there is none."""

    def delete(self, document_ids: Sequence[str]) -> list[Document]:
        """Forget documents; return those there were."""

    def delete_session(self, session_id: str) -> list[Document]:
        """Forget a session; return its documents.  Only its counter stays, under a hash of its id."""


class Reading(Protocol):
    """Documents are looked at; see :class:`Recording` for errors."""

    def get(self, document_id: str) -> Document | None:
        """Return a document."""

    def get_many(self, ids: Iterable[str]) -> list[Document]:
        """Return documents in the order of ``ids``, without those that do not exist."""

    def newest(self, session_id: str) -> Document | None:
        """Return a session's newest document.  Flat cost."""

    def tail(self, session_id: str, documents: int, *, before_n: int | None = None) -> list[Document]:
        """Return a session's last documents (below number ``before_n``), oldest first.  Flat cost."""

    def documents(
        self,
        *,
        session_id: str | None = None,
        before: float | None = None,
        after: float | None = None,
        phrase: str | None = None,
        start: int = 0,
        limit: int | None = None,
    ) -> Iterator[Document]:
        """Yield documents in order of arrival."""

    def changed(self, since: int, limit: int) -> list[Document]:
        """Return the documents changed after change number ``since``, in order of change.  Flat cost."""

    def last_change(self) -> int:
        """Return the number of the newest change.  Flat cost."""

    def count(self, session_id: str | None = None) -> int:
        """Return how many documents there are, of one session or in all.  Flat cost."""

    def sessions(self) -> list[SessionSummary]:
        """Return every session that has documents."""


class Queueing(Protocol):
    """Consumers (vectors, facts, summary) work through the documents; see :class:`Recording` for errors."""

    def claim(
        self, consumer: str, fingerprint: str, *, limit: int, lease_s: float, owner: str, now: float
    ) -> list[Document]:
        """Hand out pending documents, in order of change, to nobody else for ``lease_s`` seconds."""

    def current(self, documents: Sequence[Document]) -> list[Document]:
        """Return those documents that are still stored just as given."""

    def done(self, consumer: str, fingerprint: str, documents: Sequence[Document]) -> list[Document]:
        """Mark documents as dealt with; return those that are not as given any more and were not marked."""

    def failed(
        self, consumer: str, fingerprint: str, documents: Sequence[Document], *, owner: str | None = None
    ) -> None:
        """Count a failure of claimed documents; the fifth parks one."""

    def release(self, consumer: str, fingerprint: str, documents: Sequence[Document], *, owner: str) -> None:
        """Give claimed documents back untouched."""

    def renew(
        self, consumer: str, fingerprint: str, documents: Sequence[Document], *, owner: str, now: float
    ) -> None:
        """Begin the leases of claimed documents anew."""

    def unfinished(
        self, consumer: str, fingerprint: str, *, session_id: str | None = None, limit: int
    ) -> list[Document]:
        """Return the newest documents that are not dealt with, oldest first."""

    def pending_count(self, consumer: str, fingerprint: str) -> int:
        """Return how many documents are not dealt with, parked ones left out."""

    def parked(self, consumer: str, fingerprint: str | None = None) -> int:
        """Return how many documents are parked."""

    def retry_parked(self, consumer: str) -> int:
        """Make parked documents pending again; return how many."""

    def restart(self, consumer: str, fingerprint: str | None = None) -> None:
        """Make everything pending again."""


class Ledger(Recording, Reading, Queueing, Protocol):
    """A ledger; what it promises is told by :class:`~ovos_memory.core.ledger.SqliteLedger`."""

    def note_failure(self, operation: str, type_name: str, at: float) -> None:
        """Count a failure where other processes see it."""

    def failures(self) -> dict[str, dict[str, Any]]:
        """Return the counted failures."""

    def meta_get(self, key: str) -> str | None:
        """Return a note."""

    def meta_set(self, key: str, value: str) -> None:
        """Keep a note."""

    def close(self) -> None:
        """Free what the ledger holds; the next use takes it again."""
