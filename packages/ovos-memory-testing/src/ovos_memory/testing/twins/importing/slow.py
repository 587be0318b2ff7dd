"""A module that computes something when it is imported."""

from __future__ import annotations

import time

_until = time.process_time() + 0.2
while time.process_time() < _until:
    pass
