"""The errors of the memory family.

::

    OvosMemoryError
    ├── ConfigError (also ValueError)     a setting is wrong; raised by constructors
    ├── StoreError                        a file or database cannot serve just now
    │   ├── StoreLocked                   another process holds it; worth a retry
    │   ├── StoreUnavailable              missing folder, no permission, disk full
    │   ├── StoreDamaged                  not a store, or a broken one; it is set aside
    │   │   └── IndexDamaged              only a derived index in it; nothing is set aside, rebuild it
    │   └── StoreTooNew                   written by a newer version; it stays untouched
    ├── DocumentGone                      forgotten while somebody was still working on it
    ├── PluginMissing                     an entry point that is not installed
    ├── MemberError                       a member of a composite broke its contract
    └── ModelError                        an embedder or a language model failed
        ├── ModelUnavailable              not loaded, not reachable, out of time
        └── BadReply                      it answered, but not what was asked for

Inner code raises these; only :mod:`ovos_memory.core.boundary` catches, so that a conversation goes on.
"""

from __future__ import annotations


class OvosMemoryError(Exception):
    """Base of everything that the memory family raises on purpose."""


class ConfigError(OvosMemoryError, ValueError):
    """A setting is wrong; the message names plugin, key, what is allowed and what came."""


class StoreError(OvosMemoryError):
    """A store cannot read or write just now."""


class StoreLocked(StoreError):
    """Another process holds the store; the same call may succeed later."""


class StoreUnavailable(StoreError):
    """The path cannot be used: missing folder, no permission, no space, no such host."""


class StoreDamaged(StoreError):
    """The file is not a store of ours, or a broken one."""


class IndexDamaged(StoreDamaged):
    """A derived index within the store is broken, its documents are whole: nothing is set aside, rebuild the index."""


class StoreTooNew(StoreError):
    """The file was written by a newer version of the package and stays untouched."""


class DocumentGone(OvosMemoryError):
    """The document was forgotten while work on it was under way."""


class PluginMissing(OvosMemoryError):
    """An entry point that the settings name is not installed."""


class MemberError(OvosMemoryError):
    """A member of a composite raised, was late, or returned the wrong type."""


class ModelError(OvosMemoryError):
    """An embedder or a language model failed."""


class ModelUnavailable(ModelError):
    """The model is not loaded, not reachable, or did not answer in time."""


class BadReply(ModelError):
    """The model answered with something that cannot be used."""
