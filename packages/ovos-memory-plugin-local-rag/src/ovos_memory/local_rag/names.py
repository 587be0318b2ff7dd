"""Names and metadata that every vector store accepts, derived so that nothing is lost or mixed up."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import socket
from collections.abc import Mapping
from typing import Any

from ovos_memory.core.types import Document

_LEGAL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]", re.ASCII)
_DERIVED = re.compile(r".*-x[0-9a-f]{16}", re.ASCII | re.DOTALL)
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]+", re.ASCII)
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")
_LONGEST_STEM = 100
_LONGEST_FILE_STEM = 180
MAX_CONTENT_CHARS = 32_768
"""Characters of content kept in a store's metadata; the whole text is in the ledger."""


def legal_collection_name(name: str) -> str:
    """Return the name of a collection that any store accepts.

    A name that chromadb accepts (3-512 characters of ``[a-zA-Z0-9._-]``, alphanumeric at both ends, no
    ``..``, no IP address) is returned as it is.  Of any other name what is legal stays readable, and a hash
    of the whole name is appended, so that two names never become one; a legal name that looks like such a
    derived one is derived again.
    """
    if _LEGAL.fullmatch(name) and ".." not in name and not _is_ip(name) and not _DERIVED.fullmatch(name):
        return name
    stem = _FOREIGN.sub("_", name)[:_LONGEST_STEM].strip("_-") or "collection"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem}-x{digest[:16]}"


def model_collection_name(base: str, number: int) -> str:
    """Return the collection of a ledger's ``number``-th model; the first has the plain name."""
    if number <= 1:
        return base
    suffix = f".model{number}"
    return (
        legal_collection_name(base + suffix)
        if len(base) + len(suffix) <= 512
        else legal_collection_name(
            f"{base[:_LONGEST_STEM]}-{hashlib.sha256(base.encode()).hexdigest()[:16]}{suffix}"
        )
    )


def file_stem(collection: str) -> str:
    """Return a legal collection name as a file name that every file system can hold."""
    if len(collection) <= _LONGEST_FILE_STEM:
        return collection
    return f"{collection[:_LONGEST_STEM]}-{hashlib.sha256(collection.encode()).hexdigest()[:16]}"


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def store_text(text: str) -> str:
    """Return a session or document id as text that every store keeps unchanged.

    Backslash, NUL and half surrogates are escaped; :func:`from_store_text` is the exact inverse.
    """
    if "\\" not in text and "\0" not in text and text.isascii():
        return text
    return "".join(
        "\\\\" if c == "\\" else f"\\u{ord(c):04x}" if c == "\0" or "\ud800" <= c <= "\udfff" else c
        for c in text
    )


def from_store_text(text: str) -> str:
    """Return the id that :func:`store_text` made ``text`` of."""
    return _ESCAPED.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text)


def vector_key(document_id: str, window: int = 0, origin: str = "") -> str:
    """Return the key of a vector: ``[<origin>/]<document id>[#<window>]``."""
    key = store_text(document_id)
    if window:
        key = f"{key}#{window}"
    return f"{origin}/{key}" if origin else key


def parse_vector_key(key: str, origin: str = "") -> tuple[str, int] | None:
    """Return document id and window of a key; ``None`` when it is not one of this origin."""
    if origin:
        prefix = f"{origin}/"
        if not key.startswith(prefix):
            return None
        key = key[len(prefix) :]
    # A document id ends in "_<digits>", so a "#<digits>" behind that can only be the window.
    stem, mark, digits = key.rpartition("#")
    if (
        mark
        and digits.isascii()
        and digits.isdecimal()
        and re.fullmatch(r".*_\d+", stem, re.ASCII | re.DOTALL)
    ):
        return from_store_text(stem), int(digits)
    return from_store_text(key), 0


def vector_metadata(document: Document, origin: str = "") -> dict[str, Any]:
    """Return the metadata of a document's vectors as a fresh dict of values that every store accepts.

    ``content`` and ``session_id`` are always there; of the caller's own metadata plain values stay, ``None``
    is dropped and anything else becomes JSON text.
    """
    metadata = plain_metadata(document.metadata)
    metadata["content"] = document.content[:MAX_CONTENT_CHARS]
    metadata["session_id"] = store_text(document.session_id)
    if origin:
        metadata["origin"] = origin
    return metadata


def plain_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with only text, numbers and booleans as values."""
    plain: dict[str, Any] = {}
    for key, value in metadata.items():
        if value is None or not str(key):
            continue
        if isinstance(value, (bool, str)) or (isinstance(value, int) and abs(value) < 2**63):
            plain[str(key)] = value
        elif isinstance(value, float):
            plain[str(key)] = value if value - value == 0 else str(value)
        else:
            plain[str(key)] = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return plain


def store_identity(*parts: Any) -> str:
    """Return 16 hex that name a store."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def origin_of(path: str) -> str:
    """Return 8 hex that tell this ledger from those of other hosts."""
    return hashlib.sha256(f"{socket.gethostname()}\0{path}".encode("utf-8", "surrogateescape")).hexdigest()[
        :8
    ]
