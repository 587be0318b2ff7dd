"""What the composite of persona_hybrid.json costs beside the bare engines."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from composite import DOCUMENTS, ROUNDS, BareWords
from harness import Bench, Row, ratio, side_by_side
from local_rag import filled

from ovos_memory.composite import CompositeMemory
from ovos_memory.local_rag import LocalRAGMemory

EXAMPLE = Path(__file__).parents[1] / "examples" / "persona_hybrid.json"
DENSE, COMPOSITE = "ovos-memory-plugin-local-rag", "ovos-memory-plugin-composite"


def search(bench: Bench) -> list[Row]:
    """``search()`` at 10 000 exchanges beside one embedding, the numpy product of all vectors, and FTS5; needs a model."""
    if bench.model is None:
        return []
    count = bench.scaled(DOCUMENTS, 50)
    questions = bench.corpus.questions(bench.scaled(ROUNDS, 5) + 5, count)
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        rag_config = filled(bench, Path(folder), count, has_store=False)
        path = bench.lexical_store("ours", count, max(1, count // 100))
        block = json.loads(EXAMPLE.read_text(encoding="utf-8"))[COMPOSITE]
        for member in block["members"]:
            member["config"] |= rag_config if member["module"] == DENSE else {"db_path": str(path)}
        composite = CompositeMemory(block)
        rag = next(member.memory for member in composite.members if member.module == DENSE)
        composite.search("warm up", "user-1", 5)
        vectors, words = bare_vectors(rag), BareWords(path)
        # The embedder keeps the vectors of the last texts, so each asks in words of its own.
        ours, bare = side_by_side(
            lambda n: composite.search(f"{questions[n]} 3", "user-1", 5),
            lambda n: (vectors(f"{questions[n]} 5"), words(questions[n])),
            rounds=len(questions),
        )
        composite.close()
    name = f"hybrid search, {count:,} exchanges : embedding + bare numpy query + bare FTS5 query"
    return [ratio(name, ours, bare, 1.3)]


def bare_vectors(memory: LocalRAGMemory) -> Callable[[str], object]:
    """Return a function that embeds a text, multiplies all vectors of a memory with it and takes the best five."""
    index = memory._source.index()
    model = index.current.loaded()
    with index.ledger.database.read() as connection:
        blobs = connection.execute(
            f"SELECT vector FROM {index.table._p}vectors WHERE model=? ORDER BY seq", (model.id,)
        ).fetchall()
    vectors = np.stack([np.frombuffer(row[0], dtype=np.float32) for row in blobs])

    def ask(text: str) -> object:
        scores = vectors @ np.asarray(index.embedder._model.get_embeddings(text), dtype=np.float32)
        best = np.argpartition(scores, len(scores) - 5)[-5:]
        return best[np.argsort(-scores[best])]

    return ask
