"""What the demos embed with: a real model where one is installed, else a stand-in that needs none.

The stand-in knows a few dozen words and what each is about, so that "hospital" and "clinic" are near each other.
It is a text embedder like any other, found by its entry point, and the same text has the same vector everywhere.
"""

from __future__ import annotations

import os
import re
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ovos_plugin_manager.templates.embeddings import TextEmbedder

PLUGIN = "ovos-memory-example-embedder"
MODEL = "all-minilm-l6-v2.gguf"  # `python3 noxfile.py -s models` makes it

SUBJECTS = {
    "medicine": "hospital clinic doctor dentist surgery nurse vet medicine",
    "body": "knee leg eye tooth throat arm",
    "date": "appointment booked when",
    "self": "i me my",
    "family": "gran her mother father sister brother",
    "animals": "dog labrador rex cat paw",
    "plumbing": "pipe drain drips tap washer seal",
    "repair": "repaired fixed boiler heating",
    "post": "parcel locker station letter post",
    "food": "cake butter cinnamon walnuts eat nuts bread apple appel sugar",
    "colours": "colour painted green blue lichen red paint",
    "garden": "hedge trimmer lawn tree shed",
    "keys": "key spare lock hangs",
    "car": "car level row garage parked",
    "rubbish": "bins rubbish paper",
}
WORD, SUBJECT, DIMENSION = 0.3, 1.0, 256
ABOUT: dict[str, list[int]] = {}
for number, words in enumerate(SUBJECTS.values()):
    for word in words.split():
        ABOUT.setdefault(word, []).append(number)


class SubjectEmbedder(TextEmbedder):
    """Texts on one subject are near each other, and a little nearer with each word they share."""

    def get_embeddings(self, text: str) -> list[float]:
        """Return the vector of a text."""
        vector = [0.0] * DIMENSION
        for word in re.findall(r"\w+", text.casefold()):
            for subject in ABOUT.get(word, ()):
                vector[subject] += SUBJECT
            if len(word) > 3:
                vector[len(SUBJECTS) + zlib.crc32(word.encode()) % (DIMENSION - len(SUBJECTS))] += WORD
        return vector


def choose() -> tuple[str, dict[str, Any]]:
    """Return what embeds, in words, and local-rag's settings for it."""
    store = "ovos-chromadb-embeddings-plugin" if find_spec("ovos_chromadb_embeddings") else None
    model = model_file()
    if model is None or not find_spec("ovos_gguf_plugin"):
        return "a stand-in without a model", {"embeddings_plugin": PLUGIN, "embeddings_db_plugin": store}
    return model.name, {
        "embeddings_plugin": "ovos-gguf-embeddings-plugin",
        "embeddings_config": {"model": str(model)},
        "embeddings_db_plugin": store,
    }


def model_file() -> Path | None:
    """Return the model of the tests, where it has been made."""
    made = Path(os.environ.get("OVOS_MEMORY_TEST_MODELS") or Path(__file__).parents[2] / ".cache" / "models")
    return made / MODEL if (made / MODEL).is_file() else None


def register(folder: Path) -> None:
    """Write into ``folder`` what pip would write when it installs a package with the stand-in's entry point."""
    info = folder / "ovos_memory_example_embedder-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PLUGIN}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        f"[opm.embeddings.text]\n{PLUGIN} = demo_embedder:SubjectEmbedder\n", encoding="utf-8"
    )
