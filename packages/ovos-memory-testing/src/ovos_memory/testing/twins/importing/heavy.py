"""A module that asks for a heavy package, just in case."""

from __future__ import annotations

import contextlib
import importlib

with contextlib.suppress(ImportError):
    importlib.import_module("numpy")
