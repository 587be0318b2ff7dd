"""The entity memory: what is known about the user stands in front of every conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import StoreError
from ovos_memory.core.exchanges import session_key
from ovos_memory.core.llm.memory import ModelMemory
from ovos_memory.core.render import fenced, listed
from ovos_memory.core.text import truncate

if TYPE_CHECKING:
    from ovos_memory.core.consumer import Consumer
    from ovos_memory.core.llm.managing import Derived
    from ovos_memory.core.llm.workplace import Workplace
    from ovos_memory.entity.facts import Fact
    from ovos_memory.entity.settings import EntitySettings
    from ovos_memory.entity.store import FactStore

MAX_BLOCK_CHARS = 8_000
MAX_PENDING = 3
"""Sentences of the user that stand in while no fact was drawn from them yet."""
MAX_PENDING_CHARS = 300
PENDING_HEADER = "What the user said lately:"


class EntityMemory(ModelMemory):
    """Remembers durable facts about the user across sessions; keeps no history.

    Args:
        config: The plugin's block of the persona file; copied.
        clock: Returns epoch seconds.
        chat: Answers the model's questions instead of what the settings name.

    Raises:
        ConfigError: A setting is wrong.
    """

    plugin_name: ClassVar[str] = "ovos-memory-plugin-entity"
    accepts_scope: ClassVar[bool] = True
    """A composite may hand its own ``scope`` to this class."""
    kind: ClassVar[str] = "entity"
    file_stem: ClassVar[str] = "entity_memory"
    keeps_turns: ClassVar[bool] = False
    settings: EntitySettings

    def facts(self, session_id: str | None = None) -> list[Fact]:
        """Return the facts that a session knows, the lasting ones first."""
        session = session_key(session_id)
        return self.boundary.call("facts", lambda: self._known(session), list, session_id=session)

    def health(self) -> dict[str, Any]:
        """Return what went wrong, what waits, how the model is doing, and how much it found."""
        counts = self.workplace.consumer.outcome  # type: ignore[attr-defined]
        return {
            **super().health(),
            "facts": {"learned": counts.learned, "rejected": counts.rejected, "removed": counts.removed},
        }

    # ------------------------------------------------------------------ hooks
    @classmethod
    def settings_model(cls) -> type[Any]:
        """Return the settings model; imported here and not with the module, for pydantic is slow to load."""
        from ovos_memory.entity.settings import EntitySettings

        return EntitySettings

    @classmethod
    def _hire(cls, workplace: Workplace, settings: EntitySettings) -> Consumer[Any]:
        from ovos_memory.entity.consumer import FactsConsumer
        from ovos_memory.entity.store import FactStore

        workplace.facts = FactStore(workplace.state, scope=settings.scope, max_facts=settings.max_facts)  # type: ignore[attr-defined]
        return FactsConsumer(workplace.ledger, workplace.facts, workplace.chat, settings)  # type: ignore[attr-defined]

    @staticmethod
    def _convert_1x(found: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
        from ovos_memory.entity.store import convert_1x

        return convert_1x(found)

    def _window(self, session_id: str, enough_chars: int | None = None) -> list[AgentMessage]:
        return []

    def _blocks(self, session_id: str, utterance: str) -> list[AgentMessage]:
        known = self.facts(session_id)
        facts = fenced(
            self.settings.facts_header,
            listed(fact.text for fact in known),
            tag="known-facts",
            max_chars=MAX_BLOCK_CHARS,
        )
        pending = fenced(
            PENDING_HEADER,
            listed(self._pending(session_id)),
            tag="recent-statements",
            max_chars=MAX_BLOCK_CHARS,
        )
        text = "\n\n".join(block for block in (facts, pending) if block)
        return [AgentMessage(role=MessageRole.SYSTEM, content=text)] if text else []

    def _derived(self) -> Derived:
        from ovos_memory.entity.managing import FactRecords

        return FactRecords(self._store, plugin=self.plugin_name)

    # ------------------------------------------------------------------ inside
    @property
    def _store(self) -> FactStore:
        store: FactStore = self.workplace.facts  # type: ignore[attr-defined]
        return store

    def _known(self, session_id: str) -> list[Fact]:
        from ovos_memory.entity.facts import LASTING_KINDS

        current = self._store.book(session_id, waits=False).current
        return sorted(current, key=lambda fact: (fact.kind not in LASTING_KINDS, fact.id))

    def _pending(self, session_id: str) -> list[str]:
        """Return what the user said lately that no fact was drawn from yet."""
        held = self.journal.held(
            session_id
        )  # first: what reaches the disk in between is in both, and counts once
        try:
            documents = self.workplace.unfinished(session_id, MAX_PENDING)
        except StoreError as error:
            self.boundary.failed("pending", error, session_id=session_id)
            documents = []
        stored = {document.id for document in documents}
        documents += [d for d in held if d.id not in stored]
        said = [d.question if d.text is None else d.text for d in documents]
        return [truncate(" ".join(text.split()), MAX_PENDING_CHARS) for text in said if text.strip()][
            -MAX_PENDING:
        ]
