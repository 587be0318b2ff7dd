"""A language model that is not there just now."""

from __future__ import annotations

from typing import Any


class RestingChat:
    """Pauses for ever: what waits for a model keeps waiting, and nothing changes behind the back of a rule."""

    def ready_in_s(self) -> float:
        """Return the seconds until it may be asked."""
        return 3_600.0

    def ask(self, prompt: str, **options: Any) -> Any:
        """Never be asked."""
        raise AssertionError("asked while it pauses")

    def health(self) -> dict[str, Any]:
        """Return nothing of note."""
        return {}
