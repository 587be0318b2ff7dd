"""The pytest plugin of this package: the options of the self-check.

It is loaded with every pytest of an environment that has the package, so it imports nothing of weight.
"""

from __future__ import annotations

import pytest

CHOSEN: list[pytest.Config] = []
"""The session's configuration, for the module that is collected."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("memory", "self-check of a memory plugin (ovos_memory.testing.selfcheck)")
    group.addoption("--memory-plugin", metavar="NAME", help="Entry point of the installed plugin to check.")
    group.addoption(
        "--memory-config",
        metavar="FILE",
        help="JSON file with its settings: its own block, or a whole persona.",
    )
    group.addoption(
        "--memory-real",
        action="store_true",
        help="Use the language model, embedder and vector store that the settings name, not stand-ins.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Remember the session."""
    CHOSEN.append(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Forget the session."""
    if config in CHOSEN:
        CHOSEN.remove(config)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is checked, and as what."""
    if not config.getoption("--memory-plugin"):
        return []
    from ovos_memory.testing.discovery import Subject

    return Subject.chosen(config).lines()
