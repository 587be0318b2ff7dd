"""The ledger's own vectors: tables in the ledger's file, from which every other place is rebuilt."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ovos_memory.core.types import Document, document_id, parse_document_id
from ovos_memory.local_rag.names import parse_vector_key, vector_key
from ovos_memory.local_rag.records import Changes, Model, StoredVector

if TYPE_CHECKING:
    from ovos_memory.local_rag.matrix import Floats

SAME_MODEL_COSINE = 0.98
"""Two vectors of the fixed sentence at least this near come from the same model."""
_KEPT_REMOVALS = 10_000
_PAGE = 2_000


class VectorTable:
    """Vectors of a ledger's documents, per model, window and document; safe from any thread.

    It is also the index that the ledger tells of removed documents, within the removing transaction.

    Args:
        prefix: The ledger's prefix of table names.
        is_served: Whether other hosts use the same vector store; then keys begin with this ledger's origin.
        recipe: What texts are made into before they are embedded; another one makes another model.
    """

    def __init__(self, prefix: str = "", *, is_served: bool = False, recipe: str = "") -> None:
        self._recipe = recipe
        self._p = prefix
        self._is_served = is_served
        self.component = f"{prefix}vectors"

    def migrations(self) -> list[Callable[[sqlite3.Connection], None]]:
        """Return the steps of the schema."""
        return [self._create]

    def _create(self, connection: sqlite3.Connection) -> None:
        p = self._p
        for statement in (
            f"CREATE TABLE {p}models (id INTEGER PRIMARY KEY, probe BLOB NOT NULL, recipe TEXT NOT NULL,"
            " collection TEXT NOT NULL DEFAULT '')",
            f"CREATE TABLE {p}vectors (seq INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL,"
            " session BLOB NOT NULL, n INTEGER NOT NULL, window INTEGER NOT NULL, pushed INTEGER,"
            " vector BLOB NOT NULL)",
            f"CREATE INDEX {p}vectors_document ON {p}vectors (session, n)",
            f"CREATE INDEX {p}vectors_pushed ON {p}vectors (model, pushed)",
            f"CREATE TABLE {p}vectors_removed (n INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL)",
            f"CREATE TABLE {p}vectors_undeleted (n INTEGER PRIMARY KEY AUTOINCREMENT,"
            " collection TEXT NOT NULL, key TEXT NOT NULL)",
            f"CREATE TABLE {p}vectors_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        ):
            connection.execute(statement)
        connection.execute(f"INSERT INTO {p}vectors_meta VALUES ('instance', ?)", (secrets.token_hex(8),))

    # ------------------------------------------------------------------ facts
    def meta(self, connection: sqlite3.Connection, key: str) -> str | None:
        """Return a fact about the vectors."""
        row = connection.execute(f"SELECT value FROM {self._p}vectors_meta WHERE key=?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, connection: sqlite3.Connection, key: str, value: str) -> None:
        """Note a fact about the vectors."""
        connection.execute(f"REPLACE INTO {self._p}vectors_meta VALUES (?, ?)", (key, value))

    def note_rebuilt(self, connection: sqlite3.Connection, model: Model, row: int) -> None:
        """Note that a rebuild with this model goes on with a row; 0: none is under way."""
        self.set_meta(connection, "rebuilding", f"{model.fingerprint} {row}")

    def rebuilt_until(self, connection: sqlite3.Connection, model: Model) -> int:
        """Return the row that an interrupted rebuild with this model goes on with, 0 when there is none."""
        fingerprint, _, row = (self.meta(connection, "rebuilding") or "").partition(" ")
        return int(row) if fingerprint == model.fingerprint else 0

    def origin(self, connection: sqlite3.Connection) -> str:
        """Return what the keys in the vector store begin with: ``""`` on a store of one's own."""
        return (self.meta(connection, "origin") or "") if self._is_served else ""

    # ------------------------------------------------------------------ models
    def find_model(self, connection: sqlite3.Connection, probe: Floats) -> Model | None:
        """Return the model that gave this vector for the fixed sentence, ``None`` for a new one."""
        import numpy as np

        for number, blob, collection in connection.execute(
            f"SELECT id, probe, collection FROM {self._p}models"
        ):
            known = np.frombuffer(blob, dtype=np.float32)
            if len(known) == len(probe) and float(known @ probe) >= SAME_MODEL_COSINE:
                return Model(number, len(known), self._fingerprint(blob), collection)
        return None

    def add_model(self, connection: sqlite3.Connection, probe: Floats) -> Model:
        """Return the model that gave this vector, entered if it is new."""
        known = self.find_model(connection, probe)
        if known is not None:
            return known
        cursor = connection.execute(
            f"INSERT INTO {self._p}models (probe, recipe) VALUES (?, ?)", (probe.tobytes(), self._recipe)
        )
        return Model(int(cursor.lastrowid or 0), len(probe), self._fingerprint(probe.tobytes()), "")

    def model(self, connection: sqlite3.Connection, number: int) -> Model | None:
        """Return a model by its number."""
        row = connection.execute(
            f"SELECT probe, collection FROM {self._p}models WHERE id=?", (number,)
        ).fetchone()
        return None if row is None else Model(number, len(row[0]) // 4, self._fingerprint(row[0]), row[1])

    def model_of(self, connection: sqlite3.Connection, fingerprint: str) -> Model | None:
        """Return the model of a fingerprint."""
        for number, blob, collection in connection.execute(
            f"SELECT id, probe, collection FROM {self._p}models"
        ):
            if self._fingerprint(blob) == fingerprint:
                return Model(number, len(blob) // 4, fingerprint, collection)
        return None

    def probe(self, connection: sqlite3.Connection, model: Model) -> Floats:
        """Return a model's vector of the fixed sentence."""
        import numpy as np

        row = connection.execute(f"SELECT probe FROM {self._p}models WHERE id=?", (model.id,)).fetchone()
        return np.frombuffer(row[0], dtype=np.float32)

    def clear_collections(self, connection: sqlite3.Connection) -> None:
        """Note that no model has a collection yet: the vector store is another one."""
        connection.execute(f"UPDATE {self._p}models SET collection=''")
        connection.execute(f"DELETE FROM {self._p}vectors_undeleted")

    def collections(self, connection: sqlite3.Connection) -> list[str]:
        """Return the collections of all models."""
        return [
            row[0]
            for row in connection.execute(f"SELECT collection FROM {self._p}models WHERE collection<>''")
        ]

    def set_collection(self, connection: sqlite3.Connection, model: Model, collection: str) -> None:
        """Note which collection of the vector store holds a model's vectors."""
        connection.execute(f"UPDATE {self._p}models SET collection=? WHERE id=?", (collection, model.id))

    def _fingerprint(self, probe: bytes) -> str:
        return hashlib.sha256(probe + self._recipe.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    # ------------------------------------------------------------------ writing
    def put(
        self, connection: sqlite3.Connection, model: Model, document: Document, vectors: Sequence[Floats]
    ) -> None:
        """Store a document's vectors in place of those it had of this model."""
        self._drop(connection, document, model)
        session = _bytes(document.session_id)
        connection.executemany(
            f"INSERT INTO {self._p}vectors (model, session, n, window, vector) VALUES (?, ?, ?, ?, ?)",
            [(model.id, session, document.n, window, v.tobytes()) for window, v in enumerate(vectors)],
        )

    def removed(self, connection: sqlite3.Connection, documents: Sequence[Document]) -> None:
        """Drop the vectors of documents that are being removed or changed; called by the ledger."""
        for document in documents:
            self._drop(connection, document, None)
        connection.execute(
            f"DELETE FROM {self._p}vectors_removed"
            f" WHERE n <= (SELECT MAX(n) FROM {self._p}vectors_removed) - ?",
            (_KEPT_REMOVALS,),
        )

    def _drop(self, connection: sqlite3.Connection, document: Document, model: Model | None) -> None:
        p = self._p
        rows = connection.execute(
            f"SELECT v.seq, v.window, v.pushed, m.collection"
            f" FROM {p}vectors v JOIN {p}models m ON m.id = v.model"
            " WHERE v.session=? AND v.n=? AND (? IS NULL OR v.model=?)",
            (_bytes(document.session_id), document.n, model and model.id, model and model.id),
        ).fetchall()
        if not rows:
            return
        origin = self.origin(connection)
        undeleted = [
            (collection, vector_key(document.id, window, origin))
            for _, window, pushed, collection in rows
            if collection and pushed is not None
        ]
        connection.executemany(f"INSERT INTO {p}vectors_undeleted (collection, key) VALUES (?, ?)", undeleted)
        connection.executemany(
            f"INSERT INTO {p}vectors_removed (seq) VALUES (?)", [(row[0],) for row in rows]
        )
        connection.executemany(f"DELETE FROM {p}vectors WHERE seq=?", [(row[0],) for row in rows])

    # ------------------------------------------------------------------ reading
    def count(self, connection: sqlite3.Connection, model: Model, *, is_pushed: bool = False) -> int:
        """Return how many vectors a model has, or how many of them the vector store was given."""
        where = " AND pushed IS NOT NULL" if is_pushed else ""
        row = connection.execute(
            f"SELECT COUNT(*) FROM {self._p}vectors WHERE model=?{where}", (model.id,)
        ).fetchone()
        return int(row[0])

    def changes(
        self, connection: sqlite3.Connection, model: Model, *, after: int, removed_after: int
    ) -> Changes:
        """Return what happened after the vector ``after`` and the removal ``removed_after``."""
        p = self._p
        instance = self.meta(connection, "instance") or ""
        oldest, newest = connection.execute(f"SELECT MIN(n), MAX(n) FROM {p}vectors_removed").fetchone()
        removed: list[int] | None = []
        if newest is not None and newest > removed_after:
            removed = None
            if oldest <= removed_after + 1:
                found = connection.execute(
                    f"SELECT seq FROM {p}vectors_removed WHERE n > ?", (removed_after,)
                )
                removed = [row[0] for row in found]
        # The plus keeps SQLite from walking all of a model's vectors instead of those behind the last one seen.
        added = connection.execute(
            f"SELECT seq, session, n, window, vector FROM {p}vectors WHERE seq > ? AND +model = ?"
            " ORDER BY seq LIMIT ?",
            (after, model.id, _PAGE),
        ).fetchall()
        return Changes(
            instance,
            newest or 0,
            removed,
            [_stored(row) for row in added],
        )

    def of_documents(
        self, connection: sqlite3.Connection, model: Model, documents: Iterable[Document]
    ) -> dict[str, list[bytes]]:
        """Return the vectors of a few documents, by document id."""
        return {
            document.id: [
                row[0]
                for row in connection.execute(
                    f"SELECT vector FROM {self._p}vectors WHERE session=? AND n=? AND model=?",
                    (_bytes(document.session_id), document.n, model.id),
                )
            ]
            for document in documents
        }

    # ------------------------------------------------------------------ the vector store
    def unpushed(self, connection: sqlite3.Connection, model: Model, limit: int) -> list[StoredVector]:
        """Return the oldest vectors that the vector store was not given yet."""
        rows = connection.execute(
            f"SELECT seq, session, n, window, vector FROM {self._p}vectors WHERE model=? AND pushed IS NULL"
            " ORDER BY seq LIMIT ?",
            (model.id, limit),
        )
        return [_stored(row) for row in rows]

    def note_push(
        self, connection: sqlite3.Connection, vectors: Sequence[StoredVector], collection: str, origin: str
    ) -> None:
        """Note that the vector store has these vectors; what is gone by now it must delete again."""
        p = self._p
        for vector in vectors:
            if connection.execute(f"UPDATE {p}vectors SET pushed=1 WHERE seq=?", (vector.seq,)).rowcount:
                continue
            key = vector_key(document_id(vector.session, vector.n), vector.window, origin)
            connection.execute(
                f"INSERT INTO {p}vectors_undeleted (collection, key) VALUES (?, ?)", (collection, key)
            )
            # Newer vectors of the document may have been under that key already.
            self._hand_over_again(connection, vector.session, vector.n)

    def forget_pushes(self, connection: sqlite3.Connection, model: Model | None = None) -> None:
        """Note that the vector store has lost what it was given."""
        where, values = ("", ()) if model is None else (" AND model=?", (model.id,))
        connection.execute(f"UPDATE {self._p}vectors SET pushed=NULL WHERE pushed IS NOT NULL{where}", values)

    def forget_undeleted(self, connection: sqlite3.Connection) -> None:
        """Note that the vector store has nothing to delete any more."""
        connection.execute(f"DELETE FROM {self._p}vectors_undeleted")

    def undeleted(self, connection: sqlite3.Connection, limit: int) -> list[tuple[int, str, str]]:
        """Return (number, collection, key) of what the vector store has still to delete."""
        rows = connection.execute(
            f"SELECT n, collection, key FROM {self._p}vectors_undeleted LIMIT ?", (limit,)
        )
        return [(row[0], row[1], row[2]) for row in rows]

    def note_deleted(self, connection: sqlite3.Connection, deleted: Sequence[tuple[int, str, str]]) -> None:
        """Note that the vector store has deleted these; newer vectors under the same keys go there again."""
        origin = self.origin(connection)
        for number, _, key in deleted:
            connection.execute(f"DELETE FROM {self._p}vectors_undeleted WHERE n=?", (number,))
            parsed = parse_vector_key(key, origin)
            document = parse_document_id(parsed[0]) if parsed else None
            if document is not None:
                self._hand_over_again(connection, *document)

    def _hand_over_again(self, connection: sqlite3.Connection, session_id: str, n: int) -> None:
        connection.execute(
            f"UPDATE {self._p}vectors SET pushed=NULL WHERE session=? AND n=?", (_bytes(session_id), n)
        )


def _bytes(session_id: str) -> bytes:
    return session_id.encode("utf-8", "surrogatepass")


def _stored(row: tuple[int, bytes, int, int, bytes]) -> StoredVector:
    seq, session, n, window, blob = row
    return StoredVector(seq, bytes(session).decode("utf-8", "surrogatepass"), n, window, blob)
