"""Opening a vector store: its configuration made complete, its files private, what is damaged set aside."""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovos_utils.log import LOG

from ovos_memory.core.errors import StoreUnavailable
from ovos_memory.core.files import file_id, make_private_folder, set_aside
from ovos_memory.core.paths import IN_MEMORY, default_path, expand_path
from ovos_memory.local_rag.loading import construct, find_embeddings_db
from ovos_memory.local_rag.stores import chroma, qdrant
from ovos_memory.local_rag.stores.base import VectorStore

CHROMA, QDRANT = "ovos-chromadb-embeddings-plugin", "ovos-qdrant-embeddings-plugin"
_DEFAULT_FOLDER = "local_rag_db"
_MODULES = {"ovos_chromadb_embeddings": CHROMA, "ovos_qdrant_embeddings": QDRANT}


@dataclass(frozen=True)
class StorePlace:
    """Which store the settings name.

    Attributes:
        plugin_name: Its entry point.
        config: Its configuration, paths expanded.
        folder: Its folder, when it is one on this machine that we know of.
        is_served: Whether other hosts may use it too.
    """

    plugin_name: str
    config: Mapping[str, Any]
    folder: Path | None
    is_served: bool


def store_place(plugin_name: str, config: Mapping[str, Any], *, plugin: str) -> StorePlace:
    """Return which store the settings name; nothing is opened and no plugin is imported.

    Raises:
        ConfigError: The path is none.
    """
    complete = dict(config)
    is_served = bool(complete.get("host") or complete.get("url"))
    path = complete.get("path")
    if path is None and not is_served and plugin_name in (CHROMA, QDRANT):
        path = str(default_path(_DEFAULT_FOLDER))
    folder: Path | None = None
    if isinstance(path, (str, os.PathLike)):
        expanded = expand_path(os.fspath(path), plugin=plugin, key="embeddings_db_config.path")
        complete["path"] = str(expanded)
        folder = expanded if isinstance(expanded, Path) else None
    return StorePlace(plugin_name, complete, folder, is_served)


def open_store(place: StorePlace, collection: str, dimension: int, *, plugin: str) -> VectorStore:
    """Open the store; a damaged one in its own folder is set aside, and a new one begun.

    Args:
        place: Which store.
        collection: Its first collection.
        dimension: Length of the vectors.
        plugin: Entry-point name of the memory, for messages.

    Raises:
        PluginMissing: Its plugin is not installed.
        StoreUnavailable: It cannot be opened just now.
    """
    factory = find_embeddings_db(place.plugin_name, plugin=plugin)
    config = _complete(place, factory, collection, dimension)
    temporary = None
    if config.get("path") == IN_MEMORY:
        if place.plugin_name == QDRANT:
            del config["path"]
        elif place.plugin_name == CHROMA:
            temporary = config["path"] = tempfile.mkdtemp(prefix="ovos-local-rag-")
    try:
        db = _construct(factory, config, place.folder)
    except StoreUnavailable:
        if place.folder is None:
            raise
        if place.plugin_name == CHROMA:
            chroma.forget_engine(place.folder)
        if not _set_damaged_aside(place, plugin):
            raise
        db = _construct(factory, config, place.folder)
    store = adapt(db, plugin=plugin, is_served=place.is_served, folder=place.folder)
    if temporary is not None:
        weakref.finalize(store, shutil.rmtree, temporary, ignore_errors=True)
    return store


def adapt(db: Any, *, plugin: str, is_served: bool = False, folder: Path | None = None) -> VectorStore:
    """Return the adapter that fits a plugin object."""
    known = next(
        (_MODULES[m] for m in _module_names(type(db)) if m in _MODULES and hasattr(db, "client")), None
    )
    if known == CHROMA:
        return chroma.ChromaStore(db, plugin=plugin, is_served=is_served, folder=folder)
    if known == QDRANT:
        return qdrant.QdrantStore(db, plugin=plugin, is_served=is_served, folder=folder)
    return VectorStore(
        db, plugin=plugin, is_served=is_served, may_be_another=folder is None and not is_served
    )


def _module_names(kind: type) -> list[str]:
    return [base.__module__.partition(".")[0] for base in kind.__mro__]


def _complete(
    place: StorePlace, factory: Callable[..., Any], collection: str, dimension: int
) -> dict[str, Any]:
    """Return the constructor's configuration, with what a store needs and the user need not know."""
    config = dict(place.config)
    if place.plugin_name in (CHROMA, QDRANT):
        config.setdefault("default_collection_name", collection)
    if place.plugin_name == QDRANT:
        config["vector_size"] = dimension
    elif "vector_size" in _parameters(factory):
        config.setdefault("vector_size", dimension)
    if "path" in _parameters(factory) and not place.is_served:
        config.setdefault("path", str(default_path(_DEFAULT_FOLDER)))
    return config


def _parameters(factory: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return {}


def _construct(factory: Callable[..., Any], config: dict[str, Any], folder: Path | None) -> Any:
    try:
        if folder is not None:
            make_private_folder(folder)
        return construct(factory, config)
    except BaseException as error:  # a panic in a store's native code is no Exception
        if not isinstance(error, Exception) and "panic" not in type(error).__name__.lower():
            raise
        where = folder or config.get("host") or config.get("url") or "its default place"
        raise StoreUnavailable(
            f"vector store at {where} cannot be opened ({type(error).__name__});"
            " answers come from the ledger's own vectors, it is tried again later"
        ) from error


def _set_damaged_aside(place: StorePlace, plugin: str) -> bool:
    """Rename what is no store; ``True`` when there was something of the kind."""
    damaged = damaged_files(place)
    for path in damaged:
        target = set_aside(path, file_id(path))
        LOG.error("%s: %s is damaged, set aside as %s; it is rebuilt", plugin, path, target)
    return bool(damaged)


def damaged_files(place: StorePlace) -> list[Path]:
    """Return what stands in a store's place and is none; ``[]`` when nothing does, or the store may be in order."""
    folder = place.folder
    if folder is None:
        return []
    if folder.is_file():
        return [folder]
    if place.plugin_name == CHROMA and _is_no_database(folder / chroma.DATABASE_FILE):
        return chroma.store_files(folder)
    if place.plugin_name == QDRANT and _is_no_json(folder / "meta.json"):
        return qdrant.store_files(folder)
    return []


def _is_no_database(path: Path) -> bool:
    import sqlite3

    if not path.is_file():
        return False
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        # Chromadb's own tables, not just any database.
        connection.execute("SELECT 1 FROM collections LIMIT 1").fetchone()
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok")
    except sqlite3.DatabaseError as error:
        return "locked" not in str(error)
    finally:
        connection.close()


def _is_no_json(path: Path) -> bool:
    import json

    if not path.is_file():
        return False
    try:
        return not isinstance(json.loads(path.read_bytes()), dict)
    except ValueError:
        return True
