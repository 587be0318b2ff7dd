"""What keeps a memory from recalling by meaning without anybody noticing; nothing is changed by looking."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ovos_memory.core.errors import OvosMemoryError, PluginMissing
from ovos_memory.core.management_types import Trouble
from ovos_memory.local_rag.consumer import CONSUMER
from ovos_memory.local_rag.index import EMBEDDED_IN_SEARCH
from ovos_memory.local_rag.stores.opening import damaged_files

if TYPE_CHECKING:
    from ovos_memory.local_rag.index import VectorIndex
    from ovos_memory.local_rag.source import IndexSource
    from ovos_memory.local_rag.stores.opening import StorePlace

_CONNECT_S = 3.0
_REINDEX = "`ovos-memory reindex` embeds them now"


def examine(source: IndexSource, *, plugin: str, is_offline: bool) -> Iterator[Trouble]:
    """Yield what is wrong with model, vectors and store.

    Args:
        source: Of the memory.
        plugin: Its entry-point name.
        is_offline: Load no model and ask no server.
    """
    if source.place is not None:
        yield from _store(source, source.place, plugin, is_offline=is_offline)
    if not is_offline:
        try:
            source.embedder.ensure()
        except PluginMissing:
            pass  # told of the configuration
        except OvosMemoryError as error:
            yield Trouble("embeddings", plugin, str(error), "mend embeddings_config, or wait for the model")
    path = source.ledger_path
    if isinstance(path, Path) and path.exists():  # opening would make one
        yield from _vectors(source.index(), plugin)


def _vectors(index: VectorIndex, plugin: str) -> Iterator[Trouble]:
    last, loaded = index.current.fingerprints()
    total = index.ledger.count()
    if last and loaded is None and total:
        what = f"the embeddings model is another one than before, and {total} exchanges have no vectors of it"
        remedy = f"{_REINDEX}, or name the former model in embeddings_config again"
        yield Trouble("embedding model", plugin, what, remedy)
        return
    waiting = index.ledger.pending_count(CONSUMER, loaded or "")
    if waiting > EMBEDDED_IN_SEARCH:
        what = f"{waiting} of {total} exchanges have no vectors yet and are not recalled by meaning"
        yield Trouble("index", plugin, what, f"{_REINDEX}; a running persona does so in the background")


def _store(source: IndexSource, place: StorePlace, plugin: str, *, is_offline: bool) -> Iterator[Trouble]:
    served_at = source.served_at
    if served_at is not None:
        what = f"the vectors are kept by a server ({served_at}), whose files `forget` cannot look at"
        remedy = "vacuum or delete its files and backups yourself where that matters"
        yield Trouble("served store", plugin, what, remedy, "advice")
        if not is_offline and not _answers(place):
            what = f"no vector store answers at {served_at}; hits come from the ledger's own vectors"
            yield Trouble("vector store", plugin, what, "start the server, or correct embeddings_db_config")
        return
    damaged = damaged_files(place)
    if damaged:
        what = f"{damaged[0]} is damaged"
        remedy = "nothing is lost: it is set aside at the next use and filled again from the ledger"
        yield Trouble("damage", plugin, what, remedy)
    folder = place.folder
    aside = sorted(folder.glob("*.corrupt-*")) if folder is not None and folder.is_dir() else []
    ledger = str(source.ledger_path)
    names = ", ".join(path.name for path in aside if not str(path).startswith(ledger))
    if names:
        what = f"a damaged vector store was set aside in {folder}: {names}"
        yield Trouble(
            "set aside", plugin, what, "delete it: all of it was filled again from the ledger", "advice"
        )


def _answers(place: StorePlace) -> bool:
    url = urlsplit(str(place.config.get("url") or f"//{place.config.get('host')}"))
    default = 6333 if "qdrant" in place.plugin_name else 8000
    port = place.config.get("port") or url.port or default
    try:
        with socket.create_connection((url.hostname or "localhost", int(port)), timeout=_CONNECT_S):
            return True
    except (OSError, ValueError):
        return False
