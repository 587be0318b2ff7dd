"""All suites in one: what a backend's ``tests/test_contract.py`` subclasses."""

from __future__ import annotations

from ovos_memory.testing.concurrency import ConcurrencySuite
from ovos_memory.testing.context import ContextSuite
from ovos_memory.testing.degrade import DegradeSuite
from ovos_memory.testing.forgetting import ForgettingSuite
from ovos_memory.testing.history import HistorySuite
from ovos_memory.testing.importing import ImportSuite
from ovos_memory.testing.inject import InjectSuite
from ovos_memory.testing.load import LoadSuite
from ovos_memory.testing.management import CorrectingSuite, TakingAlongSuite
from ovos_memory.testing.persistence import PersistenceSuite
from ovos_memory.testing.privacy import PrivacySuite
from ovos_memory.testing.queries import QuerySuite
from ovos_memory.testing.recall import FenceSuite, RecallSuite
from ovos_memory.testing.retrieval import RetrievalSuite
from ovos_memory.testing.scope import ScopeSuite
from ovos_memory.testing.settings import SettingsSuite
from ovos_memory.testing.windows import WindowSuite

SUITES = (
    ContextSuite,
    HistorySuite,
    WindowSuite,
    RetrievalSuite,
    QuerySuite,
    ScopeSuite,
    InjectSuite,
    FenceSuite,
    RecallSuite,
    PersistenceSuite,
    ConcurrencySuite,
    DegradeSuite,
    PrivacySuite,
    SettingsSuite,
    ImportSuite,
    LoadSuite,
    ForgettingSuite,
    CorrectingSuite,
    TakingAlongSuite,
)


class MemoryContract(
    ContextSuite,
    HistorySuite,
    WindowSuite,
    RetrievalSuite,
    QuerySuite,
    ScopeSuite,
    InjectSuite,
    FenceSuite,
    RecallSuite,
    PersistenceSuite,
    ConcurrencySuite,
    DegradeSuite,
    PrivacySuite,
    SettingsSuite,
    ImportSuite,
    LoadSuite,
    ForgettingSuite,
    CorrectingSuite,
    TakingAlongSuite,
):
    """Every rule; those that need an undeclared capability are not collected."""
