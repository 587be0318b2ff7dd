"""The contract as a check of any installed plugin, without a line of test code.

``pytest --pyargs ovos_memory.testing.selfcheck --memory-plugin NAME [--memory-config FILE]``
"""

from __future__ import annotations

import json
import os

import pytest

from ovos_memory.testing.contract import MemoryContract
from ovos_memory.testing.discovery import ENVIRONMENT, Subject, make_checked
from ovos_memory.testing.plugin import CHOSEN


def _contract(subject: Subject) -> type[MemoryContract]:
    """Return the contract as a class about one plugin."""
    os.environ[ENVIRONMENT] = json.dumps([subject.name, subject.is_real])
    about = {
        "module": subject.plugin.__module__,
        **subject.declared(),
        "factory": staticmethod(make_checked),
        "__module__": __name__,
        "__doc__": f"The rules that {subject.name} has to keep.",
    }
    return type("TestMemoryPlugin", (MemoryContract,), about)


if CHOSEN:
    TestMemoryPlugin = _contract(Subject.chosen(CHOSEN[-1]))
else:

    def test_the_plugin_of_this_package_is_loaded() -> None:
        """Without it there are no options; it is when the package is installed."""
        pytest.fail(
            "--memory-plugin is unknown: install ovos-memory-testing, or add -p ovos_memory.testing.plugin"
        )
