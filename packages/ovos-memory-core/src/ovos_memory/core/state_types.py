"""What a store of per-session records offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

Record = dict[str, Any]
"""What one session has: a JSON object."""
Change = Callable[[Record | None], Record | None]
"""Turns a session's record into its next one; ``None`` means no record.

It owns what it is given and may be called more than once, so all it does is in what it returns."""
Convert1x = Callable[[Any], Mapping[str, Record] | None]
"""Turns what 1.x left, ``{session: …}`` as parsed JSON, into records; ``None``: it is something else."""

WAIT_S = 1.0
"""How long a call waits for other processes and threads at most, unless told otherwise."""


class StateStore(Protocol):
    """Records by session, each a JSON object; safe from any thread.  Session ids are opaque.

    Methods raise :class:`~ovos_memory.core.errors.StoreError` when the store cannot be read or written.
    """

    def load(self, session_id: str) -> Record | None:
        """Return a private copy of a session's record; asking for an unknown one leaves nothing behind."""

    def update(self, session_id: str, change: Change) -> Record | None:
        """Replace a session's record by what ``change`` makes of it, and return that.

        Nobody, no other process either, writes the session in between; the result is durable.
        """

    def sessions(self) -> list[str]:
        """Return the sessions that have a record."""

    def items(self) -> Iterator[tuple[str, Record]]:
        """Yield every session with a private copy of its record."""

    def close(self) -> None:
        """Free what the store holds; the next use takes it again."""

    def scrub(self) -> list[Path]:
        """Leave no trace of removed records in the store's files; return copies that were removed with them.

        Raises:
            StoreError: Others are using the file, or it cannot be written.
        """


class AtomicState(StateStore, Protocol):
    """A store that changes several records in one step, in which no other process comes between either."""

    def apply(self, changes: Sequence[tuple[str, Change]]) -> list[Record | None]:
        """Make many changes, in order: all or none.  Return what each made."""


class DurableState(AtomicState, Protocol):
    """A store on disk, as :class:`~ovos_memory.core.state_resilient.ResilientState` needs it."""

    def load(self, session_id: str, *, wait_s: float = WAIT_S) -> Record | None:
        """See :meth:`StateStore.load`; ``wait_s`` bounds the wait for others."""

    def apply(self, changes: Sequence[tuple[str, Change]], *, wait_s: float = WAIT_S) -> list[Record | None]:
        """Make many changes, in order, in one durable write: all or none.  Return what each made."""
