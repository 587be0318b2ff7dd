"""Stand-ins for what is slow, foreign or failing: embedders, vector stores, language models, members."""

from __future__ import annotations

from ovos_memory.testing.fakes.chat import RestingChat
from ovos_memory.testing.fakes.embedder import BatchEmbedder, FakeEmbedder
from ovos_memory.testing.fakes.members import (
    HangingMember,
    InterruptingMember,
    PlainMember,
    RaisingMember,
    WrongTypesMember,
    install_plugin,
)
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.fakes.store import FakePathStore, FakeStore

__all__ = [
    "BatchEmbedder",
    "FakeEmbedder",
    "FakePathStore",
    "FakeServer",
    "FakeStore",
    "HangingMember",
    "InterruptingMember",
    "PlainMember",
    "RaisingMember",
    "RestingChat",
    "WrongTypesMember",
    "install_plugin",
]
