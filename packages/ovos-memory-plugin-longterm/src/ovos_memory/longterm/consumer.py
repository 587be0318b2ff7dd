"""The work on a session whose summary is due: ask, check the answer, store it, trim what it covers."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ovos_memory.core.errors import BadReply, DocumentGone, ModelUnavailable
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.llm.breaker import Breaker
from ovos_memory.core.llm.client import Chat
from ovos_memory.core.llm.reply import ServerFailed
from ovos_memory.core.state_types import StateStore
from ovos_memory.core.types import Document
from ovos_memory.longterm.record import SummaryRecord
from ovos_memory.longterm.summary import (
    MAX_DETAILS,
    MAX_PIECE_CHARS,
    MIN_PIECE_CHARS,
    RETRY_HINT,
    accept,
    details,
    first_piece,
    make_prompt,
    max_chars,
)

if TYPE_CHECKING:
    from ovos_memory.longterm.settings import LongTermSettings

_LEASE_MARGIN_S = 5.0
_BUSY_PAUSE_S = 1.0
_REJECTED_PAUSES_S = (0.1, 1.0, 30.0, 90.0, 270.0, 600.0)
_MAX_ATTEMPTS = 1_000
"""Sessions whose attempts are counted."""
_GIVE_UP_AFTER = 8


@dataclass
class _Attempts:
    """What went wrong in a row, for one state of a session: bad answers and refused questions."""

    covered: int
    rejected: int = 0
    refused: int = 0


class SummaryConsumer:
    """Renews summaries when they are due.

    Every new exchange is a document to look at; most of them only tell that the summary is not due yet.

    Args:
        ledger: Returns the exchanges.
        state: Where summaries live.
        chat: Answers the questions.
        settings: Of the plugin.
        clock: Returns epoch seconds.
    """

    name = "summary"
    fingerprint = "1"

    def __init__(
        self,
        ledger: Callable[[], SqliteLedger],
        state: StateStore,
        chat: Chat,
        settings: LongTermSettings,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ledger = ledger
        self._state = state
        self._chat = chat
        self._clock = clock
        self._every = settings.summarize_every
        self._window = settings.recent_window
        self._prompt = settings.summary_prompt
        self._tokens = settings.max_summary_tokens
        self._timeout_s = settings.request_timeout
        self.lease_s = self._timeout_s + _LEASE_MARGIN_S
        self._rejections = Breaker("summaries", pauses_s=_REJECTED_PAUSES_S)
        self._attempts: dict[str, _Attempts] = {}
        self._busy_until = 0.0
        self.written = 0
        self.rejected = 0

    def ready_in_s(self) -> float:
        """Return how long the model pauses, or we do because its answers were no good."""
        busy_s = max(0.0, self._busy_until - time.monotonic())
        return max(self._chat.ready_in_s(), self._rejections.ready_in_s(), busy_s)

    def choose(self, claimed: Sequence[Document]) -> Sequence[Document]:
        """Return the documents of the first session."""
        return [document for document in claimed if document.session_id == claimed[0].session_id]

    def handle(self, documents: Sequence[Document]) -> None:
        """Renew the session's summary if that is due, in as many bounded steps as it takes."""
        session_id = documents[0].session_id
        if not self._every or len(self._uncovered(session_id, self._every)) < self._every:
            return
        owner = f"{socket.gethostname()}:{os.getpid()}"
        self._take(session_id, owner)
        try:
            while uncovered := self._uncovered(session_id, 256):
                self._renew(session_id, owner, uncovered)
        finally:
            self._state.update(session_id, lambda stored: self._released(stored, owner))

    def keep(self, documents: Sequence[Document], result: None) -> None:
        """Mark the documents as looked at, and let go of exchanges that are covered and out of the window."""
        session_id = documents[0].session_id
        ledger = self._ledger()
        covered = SummaryRecord.read(self._state.load(session_id)).covered
        surplus = self._surplus(session_id, covered)
        with ledger.database.write(is_synced=False) as connection:  # what a power cut undoes is done again
            ledger.done(self.name, self.fingerprint, documents, connection=connection)
            ledger.delete(surplus, connection=connection)

    # ------------------------------------------------------------------ steps
    def _uncovered(self, session_id: str, limit: int) -> list[Document]:
        """Return the oldest exchanges that the summary does not cover."""
        covered = SummaryRecord.read(self._state.load(session_id)).covered
        found: list[Document] = []
        for document in self._ledger().documents(session_id=session_id):
            if document.n > covered:
                found.append(document)
                if len(found) >= limit:
                    break
        return found

    def _renew(self, session_id: str, owner: str, uncovered: list[Document]) -> None:
        before = SummaryRecord.read(self._state.load(session_id))
        attempts = self._attempts_of(session_id, before.covered)
        # A question that was refused may have been too long.
        room = max(MAX_PIECE_CHARS >> attempts.refused, MIN_PIECE_CHARS)
        piece = first_piece(uncovered, room=room)
        summary = self._ask(before.summary, piece, attempts, room)
        ledger = self._ledger()

        def store(stored: dict[str, Any] | None) -> dict[str, Any] | None:
            now = SummaryRecord.read(stored)
            if (
                now.summary != before.summary
                or now.covered != before.covered
                or len(ledger.current(piece)) != len(piece)
            ):
                raise DocumentGone("what was summarised changed meanwhile; it is summarised anew")
            renewed = replace(now, summary=summary, covered=piece[-1].n, updated_at=self._clock())
            return replace(renewed, worker=owner, worker_until=self._clock() + self.lease_s).as_dict()

        self._state.update(session_id, store)
        self._attempts.pop(session_id, None)
        self._rejections.succeeded()
        self.written += 1

    def _ask(self, previous: str, piece: list[Document], attempts: _Attempts, room: int) -> str:
        prompt = make_prompt(self._prompt, previous, piece, max_tokens=self._tokens, room=room)
        if attempts.rejected and details(previous):
            prompt += RETRY_HINT.replace("{details}", ", ".join(details(previous)[:MAX_DETAILS]))
        try:
            reply = self._chat.ask(
                prompt,
                max_tokens=self._tokens,
                timeout_s=self._timeout_s,
                temperature=0.3 if attempts.rejected else 0.0,
            )
            if reply.is_unfinished:
                raise BadReply(
                    "the model was still thinking at the token limit; it is allowed more from now on"
                )
            return accept(
                reply.text, previous, piece, limit=max_chars(self._tokens), rejected=attempts.rejected
            )
        except (BadReply, ServerFailed) as error:
            raise self._noted(error, attempts) from error

    def _noted(self, error: BadReply | ServerFailed, attempts: _Attempts) -> Exception:
        """Count what went wrong and return what to raise: no session may hold up the others for ever.

        Given up is only the attempt: the session's next exchange makes another, and nothing is trimmed.
        """
        if isinstance(error, ServerFailed) or self._chat.ready_in_s() > 0:  # the server refused the question
            attempts.refused += 1
        else:
            attempts.rejected += 1
            self.rejected += 1
            self._rejections.failed()
        is_hopeless = attempts.rejected + attempts.refused >= _GIVE_UP_AFTER
        return BadReply(str(error)) if is_hopeless else ModelUnavailable(str(error))

    def _attempts_of(self, session_id: str, covered: int) -> _Attempts:
        found = self._attempts.get(session_id)
        if found is None or found.covered != covered:
            if len(self._attempts) >= _MAX_ATTEMPTS:
                self._attempts.clear()
            found = self._attempts[session_id] = _Attempts(covered)
        return found

    def _take(self, session_id: str, owner: str) -> None:
        """Say that we are at work on a session, unless another process is."""

        def take(stored: dict[str, Any] | None) -> dict[str, Any]:
            record, now = SummaryRecord.read(stored), self._clock()
            if record.is_taken(owner, now, self.lease_s):
                self._busy_until = time.monotonic() + _BUSY_PAUSE_S
                raise ModelUnavailable("another process is summarising this session")
            return replace(record, worker=owner, worker_until=now + self.lease_s).as_dict()

        self._state.update(session_id, take)

    def _released(self, stored: dict[str, Any] | None, owner: str) -> dict[str, Any] | None:
        record = SummaryRecord.read(stored)
        if record.worker != owner:
            return stored
        record = record.released()
        return None if record == SummaryRecord() else record.as_dict()

    def _surplus(self, session_id: str, covered: int) -> list[str]:
        """Return the ids of exchanges that neither the window nor the next summary needs."""
        ledger = self._ledger()
        kept = {document.id for document in ledger.tail(session_id, self._window)} if self._window else set()
        surplus: list[str] = []
        for document in ledger.documents(session_id=session_id):
            if document.id in kept or (self._every and document.n > covered):
                break
            surplus.append(document.id)
        return surplus
