"""Twins whose faults are in the import of their module."""

from __future__ import annotations
