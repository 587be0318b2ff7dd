"""What recall by meaning costs beside what it stands on: the model, the vector store, numpy, one durable commit."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Bench, Row, ratio, side_by_side

from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.sqlite import open_database
from ovos_memory.core.types import Document, Exchange
from ovos_memory.local_rag import LocalRAGMemory
from ovos_memory.local_rag.consumer import CONSUMER
from ovos_memory.local_rag.exact import ExactSearch
from ovos_memory.local_rag.vectors import VectorTable
from ovos_memory.testing.messages import pair

SEARCH_BOUND = 1.15
EXACT_BOUNDS = {10_000: 2.0, 100_000: 1.3}
DOCUMENTS = 10_000
ROUNDS = 60
DIMENSION = 384


def search(bench: Bench) -> list[Row]:
    """``search()`` beside embedding the query and asking the store; needs a model and chromadb."""
    if not _has_model(bench):
        return []
    count = bench.scaled(DOCUMENTS, 50)
    questions = bench.corpus.questions(bench.scaled(ROUNDS, 5) + 5, count)
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        memory = LocalRAGMemory(filled(bench, Path(folder), count))
        bare = bare_query(memory)
        # The embedder keeps the vectors of the last texts, so each side asks in words of its own.
        ours, plain = side_by_side(
            lambda n: memory.search(f"{questions[n]} 1", "s", 5),
            lambda n: bare(f"{questions[n]} 2"),
            rounds=len(questions),
        )
        memory.close()
    name = f"local-rag search : embedding + bare store query, {count:,} documents"
    return [ratio(name, ours, plain, SEARCH_BOUND)]


def background(bench: Bench) -> list[Row]:
    """``update_history`` with ``background: true`` beside one durable commit of SQLite."""
    if not _has_model(bench):
        return []
    count = bench.scaled(DOCUMENTS, 50)
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        config = {**filled(bench, Path(folder), count), "background": True}
        memory = LocalRAGMemory(config)
        memory.search("warm up", "s", 5)
        plain = sqlite3.connect(f"{folder}/plain.db", isolation_level=None)
        for statement in (
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            "CREATE TABLE said (text TEXT)",
        ):
            plain.execute(statement)
        said = [bench.corpus.exchange(n) for n in range(bench.scaled(ROUNDS, 5) + 5)]
        ours, commit = side_by_side(
            lambda n: memory.update_history(pair(*said[n]), "s"),
            lambda n: plain.execute("INSERT INTO said VALUES (?)", ("\n".join(said[n]),)),
            rounds=len(said),
        )
        plain.close()
        memory.close()
    name = f"local-rag update_history, background, {count:,} stored : one durable commit"
    return [ratio(name, ours, commit, 3.0)]


def exact(bench: Bench) -> list[Row]:
    """Search in the ledger's own vectors beside the bare numpy product and top-k."""
    return [_exact(bench, bench.scaled(count, 100), bound) for count, bound in EXACT_BOUNDS.items()]


def _exact(bench: Bench, count: int, bound: float) -> Row:
    rng = np.random.default_rng(1)
    rounds = bench.scaled(ROUNDS, 5) + 5
    vectors, queries = _unit(rng, count), _unit(rng, rounds)
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        table = VectorTable("rag_")
        database = open_database(
            Path(folder) / "ledger.db",
            plugin="bench",
            migrations=table.migrations(),
            component=table.component,
        )
        SqliteLedger(database, prefix="rag_", index=table)
        with database.write() as connection:
            model = table.add_model(connection, vectors[0])
            for n, vector in enumerate(vectors):
                table.put(connection, model, Document("s", n, "", "", (), 0.0, row=n), [vector])
        found = ExactSearch(database, table)
        found.search(model, queries[0], 5)

        def bare(number: int) -> object:
            scores = vectors @ queries[number]
            best = np.argpartition(scores, count - 5)[-5:]
            return best[np.argsort(-scores[best])]

        ours, plain = side_by_side(lambda n: found.search(model, queries[n], 5), bare, rounds=rounds)
        database.close()
    return ratio(f"local-rag exact search : bare numpy, {count:,} x {DIMENSION}", ours, plain, bound)


def filled(bench: Bench, folder: Path, count: int, *, has_store: bool = True) -> dict[str, Any]:
    """Return the settings of a local-rag memory that holds so many documents, on chromadb or on its ledger alone.

    Their vectors are made up: embedding ten thousand texts takes minutes.
    """
    config: dict[str, Any] = {
        "embeddings_config": {"model": bench.model, "n_threads": 1, "n_threads_batch": 1},
        "timeout_s": 60,
    }
    if has_store:
        config["embeddings_db_config"] = {"path": str(folder)}
    else:
        config |= {"embeddings_db_plugin": None, "db_path": str(folder / "ledger.db")}
    memory = LocalRAGMemory(config)
    memory.update_history(pair("the first", "noted"), "s")
    index, ledger = memory._source.index(), memory.journal.ledger
    model = index.current.loaded()
    with ledger.database.write(60) as connection:
        for n, vector in enumerate(_unit(np.random.default_rng(2), count - 1)):
            exchange = Exchange(*bench.corpus.exchange(n), ())
            document = ledger.append("s", exchange, created_at=float(n), connection=connection)
            ledger.done(CONSUMER, model.fingerprint, [document], connection=connection)
            index.table.put(connection, model, document, [vector])
    while index.mirror is not None and not index.mirror.push(model, limit=5_000):
        pass
    memory.close()
    return config


def bare_query(memory: LocalRAGMemory) -> Callable[[str], object]:
    """Return a function that embeds a text and asks the collection of a memory, and does nothing else."""
    index = memory._source.index()
    assert index.mirror is not None
    store, collection = index.mirror.open(index.current.loaded())
    plain = store._db.get_collection(collection)

    def ask(text: str) -> object:
        vector = index.embedder._model.get_embeddings(text)
        return plain.query(query_embeddings=[vector.tolist()], n_results=5)

    return ask


def _unit(rng: np.random.Generator, count: int) -> Any:
    vectors = rng.normal(size=(count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _has_model(bench: Bench) -> bool:
    if bench.model is None:
        print("  local-rag on a real model needs --model MODEL.gguf", file=sys.stderr)
    return bench.model is not None
