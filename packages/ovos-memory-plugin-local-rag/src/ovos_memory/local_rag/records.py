"""What tables, memory and searches hand to each other about vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class StoredVector(NamedTuple):
    """One vector of the ledger's own.

    Attributes:
        seq: Its number in the table, ascending in order of writing.
        session: The session of its document, opaque.
        n: The document's number in the session.
        window: Which window of the document, from 0.
        blob: float32, unit length, machine order.
    """

    seq: int
    session: str
    n: int
    window: int
    blob: bytes


class Match(NamedTuple):
    """One document found.

    Attributes:
        document_id: Its id.
        score: Cosine similarity of its best window, -1..1.
    """

    document_id: str
    score: float


@dataclass(frozen=True)
class Model:
    """A model that the ledger has vectors of.

    Attributes:
        id: Its number in this ledger, from 1.
        dimension: Length of its vectors.
        fingerprint: Names it in the ledger's marks.
        collection: Its collection in the vector store; ``""`` until the store was open.
    """

    id: int
    dimension: int
    fingerprint: str
    collection: str


class Changes(NamedTuple):
    """What happened to a model's vectors since a reader looked last.

    Attributes:
        instance: Which database this is; another one than before: begin anew.
        removed_through: Hand it in the next time.
        removed: Numbers of vectors that are gone; ``None``: too many, begin anew.
        added: Vectors that came, in order; at most a page of them.
    """

    instance: str
    removed_through: int
    removed: list[int] | None
    added: list[StoredVector]
