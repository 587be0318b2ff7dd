"""Facts that stay true: one value per slot, near-duplicates merged, old values kept as history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ovos_memory.core.text import truncate
from ovos_memory.entity import words
from ovos_memory.entity.evidence import is_correction, mentions
from ovos_memory.entity.sameness import contradicts, is_related, is_repeat
from ovos_memory.entity.slots import slot_of
from ovos_memory.entity.tokens import content, word_set

KINDS = ("name", "address", "health", "family", "work", "preference", "other")
"""What a fact may be about."""
LASTING_KINDS = frozenset({"name", "address", "health", "family"})
"""Kinds that are dropped last."""
MAX_FACT_CHARS = 300

_KIND_OF_SLOT = {
    "name": "name",
    "home": "address",
    "address": "address",
    "job": "work",
    "employer": "work",
    "spouse": "family",
}


@dataclass(frozen=True)
class Fact:
    """One thing known about the user.

    Attributes:
        id: Number within its record, from 1, never reused.
        text: As it is injected.
        kind: One of :data:`KINDS`.
        at: When the user said it, epoch seconds, UTC.
        session: The session it was said in.
        words: The user's words it came from; ``""`` for a fact that an earlier version left.
        confirmations: How often it was said again.
        confirmed_at: When it was said last.
        replaced_at: When it stopped being true; ``None`` while it is current.
        replaced_by: Id of the fact that took its place, if one did.
    """

    id: int
    text: str
    kind: str
    at: float
    session: str
    words: str = ""
    confirmations: int = 0
    confirmed_at: float = 0.0
    replaced_at: float | None = None
    replaced_by: int | None = None

    @property
    def is_current(self) -> bool:
        """It is true as far as is known."""
        return self.replaced_at is None

    def as_dict(self) -> dict[str, Any]:
        """Return the fact as it is stored."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Fact:
        """Return a stored fact; members that a newer version added are left out."""
        known = {f.name for f in fields(cls)}
        return cls(**{key: value for key, value in stored.items() if key in known})

    @classmethod
    def read(cls, stored: Any) -> Fact | None:
        """Return a stored fact, or ``None`` for what is damaged."""
        try:
            fact = cls.from_dict(stored)
        except (AttributeError, TypeError):
            return None
        numbers = (
            fact.at,
            fact.confirmed_at,
            fact.confirmations,
            *({fact.replaced_at, fact.replaced_by} - {None}),
        )
        texts = (fact.text, fact.kind, fact.session, fact.words)
        is_sound = (
            isinstance(fact.id, int)
            and all(isinstance(number, (int, float)) for number in numbers)
            and all(isinstance(text, str) for text in texts)
        )
        return fact if is_sound else None


@dataclass(frozen=True)
class NewFact:
    """A fact that the user stated, checked against their words.

    Attributes:
        text: As the model puts it.
        kind: As the model says, or guessed.
        words: The user's words that it rests on.
        at: When they were said.
        session: Where they were said.
        replaces: Id of the fact that it takes the place of, as the model says; it has to make sense to count.
    """

    text: str
    kind: str
    words: str
    at: float
    session: str
    replaces: int | None = None


def guess_kind(text: str, given: str = "") -> str:
    """Return what a fact is about: as the model says when that is one of ours, else by its slot and words."""
    wanted = given.strip().lower()
    slot = slot_of(text)
    if slot is not None and slot.name in _KIND_OF_SLOT:
        return _KIND_OF_SLOT[slot.name]
    if wanted in KINDS and wanted not in ("other", "name"):  # the user's name would have been recognised
        return wanted
    spoken = word_set(text)
    return next((kind for kind, known in words.KINDS.items() if spoken & known), "other")


def tidy(text: str) -> str:
    """Return a fact's text as it is stored: one line, trimmed, of bounded length."""
    return truncate(" ".join(text.split()).strip(" -*•;"), MAX_FACT_CHARS)


class FactBook:
    """The facts of one record, current and replaced; changes happen on the copy that this is.

    Args:
        facts: What is stored.
        next_id: Number for the next new fact.
    """

    def __init__(self, facts: Iterable[Fact] = (), next_id: int = 1) -> None:
        self._facts = {fact.id: fact for fact in facts}
        self.next_id = max([next_id, *(n + 1 for n in self._facts)])

    @property
    def all(self) -> list[Fact]:
        """All facts, oldest first by number."""
        return [self._facts[n] for n in sorted(self._facts)]

    @property
    def current(self) -> list[Fact]:
        """The facts that are true as far as is known, oldest first by number."""
        return [fact for fact in self.all if fact.is_current]

    def learn(self, new: NewFact) -> Fact:
        """Take in a fact: confirm the one that it repeats, replace those it contradicts, or add it.

        A fact that was said *before* the one it contradicts (work is not always done in order) becomes
        history.
        """
        repeated = next((fact for fact in self.current if is_repeat(new.text, fact.text)), None)
        if repeated is not None:
            return self._confirm(repeated, new)
        rivals = [fact for fact in self.current if self._contradicts(new, fact)]
        added = Fact(
            self.next_id, tidy(new.text), new.kind, new.at, new.session, new.words, confirmed_at=new.at
        )
        self.next_id += 1
        newer = next((fact for fact in rivals if fact.confirmed_at > new.at), None)
        if newer is not None:
            added = replace(added, replaced_at=newer.at, replaced_by=newer.id)
        else:
            for fact in rivals:
                self._facts[fact.id] = replace(fact, replaced_at=new.at, replaced_by=added.id)
        self._facts[added.id] = added
        return added

    def adopt(self, fact: Fact) -> None:
        """Take in a fact of another record, with its date, its confirmations and whether it was replaced."""
        if not fact.is_current:
            self._facts[self.next_id] = replace(fact, id=self.next_id, replaced_by=None)
            self.next_id += 1
            return
        moved = self.learn(
            NewFact(fact.text, fact.kind, fact.words, fact.confirmed_at or fact.at, fact.session)
        )
        self._facts[moved.id] = replace(
            moved, at=min(moved.at, fact.at), confirmations=moved.confirmations + fact.confirmations
        )

    def take_back(self, fact_id: int, said: str, at: float) -> bool:
        """Make a fact history because the user took it back; their words have to say so."""
        fact = self._facts.get(fact_id)
        if fact is None or not fact.is_current or fact.confirmed_at > at:
            return False
        if not (mentions(fact.text, said) and is_correction(said)):
            return False
        self._facts[fact_id] = replace(fact, replaced_at=at)
        return True

    def forget(self, fact_ids: Iterable[int]) -> int:
        """Remove facts for good; return how many there were."""
        gone = [fact_id for fact_id in fact_ids if self._facts.pop(fact_id, None) is not None]
        return len(gone)

    def correct(self, fact: Fact) -> None:
        """Put a corrected fact in the place of the one with its number, if that is still there."""
        if fact.id in self._facts:
            self._facts[fact.id] = fact

    def restore(self, fact: Fact) -> bool:
        """Take in an exported fact; tell whether it has its own number, or the next free one."""
        is_free = fact.id not in self._facts
        number = fact.id if is_free else self.next_id
        self._facts[number] = replace(fact, id=number)
        self.next_id = max(self.next_id, number + 1)
        return is_free

    def limit(self, max_facts: int) -> None:
        """Drop facts beyond ``max_facts`` (0: none).

        Replaced ones go first, then those never confirmed again, oldest first; name, address, health and
        family last.
        """
        if max_facts and len(self._facts) > max_facts:
            worth = sorted(self.all, key=_worth)
            for fact in worth[: len(worth) - max_facts]:
                del self._facts[fact.id]

    def _confirm(self, fact: Fact, new: NewFact) -> Fact:
        is_newer = new.at >= fact.at
        says_more = is_newer and len(content(new.text)) > len(content(fact.text))
        confirmed = replace(
            fact,
            text=tidy(new.text) if says_more else fact.text,
            words=new.words if says_more else fact.words,
            kind=new.kind if fact.kind == "other" else fact.kind,
            confirmations=fact.confirmations + 1,
            confirmed_at=max(fact.confirmed_at, new.at),
        )
        self._facts[fact.id] = confirmed
        return confirmed

    def _contradicts(self, new: NewFact, fact: Fact) -> bool:
        if new.replaces == fact.id and is_related(new, fact):
            return True
        return contradicts(new.text, fact.text, said=new.words)


def _worth(fact: Fact) -> tuple[bool, bool, bool, float, int]:
    return (
        fact.is_current,
        fact.kind in LASTING_KINDS,
        fact.confirmations > 0,
        fact.confirmed_at,
        fact.id,
    )
