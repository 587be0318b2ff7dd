"""From a model's proposals to facts: checked against the user's words, then taken into the book."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ovos_memory.core.types import Document
from ovos_memory.entity.evidence import find_evidence
from ovos_memory.entity.extraction import Proposal, Proposals
from ovos_memory.entity.facts import FactBook, NewFact, guess_kind, tidy
from ovos_memory.entity.sameness import is_repeat
from ovos_memory.entity.slots import slot_of


@dataclass
class Outcome:
    """What became of an answer: counts for ``health()``."""

    learned: int = 0
    rejected: int = 0
    removed: int = 0

    def add(self, other: Outcome) -> None:
        """Count another answer's outcome in."""
        self.learned += other.learned
        self.rejected += other.rejected
        self.removed += other.removed


def said_by_user(document: Document) -> str:
    """Return the user's own words of a document; a verbatim text counts as theirs."""
    return document.question if document.text is None else document.text


def take_in(book: FactBook, proposals: Proposals, documents: Sequence[Document]) -> Outcome:
    """Take a model's answer into the book.

    Every fact has to rest on what the user said in one of the documents; the latest that supports it gives it
    its date. Facts are taken in in the order in which they were said, so that of two the later one stays.

    Args:
        book: The facts; changed.
        proposals: The answer.
        documents: What the model was shown, oldest first.
    """
    outcome = Outcome()
    checked: list[NewFact] = []
    for proposal in proposals.facts:
        new = check(book, proposal, documents)
        if new is None:
            outcome.rejected += 1
        else:
            checked.append(new)
    for new in sorted(checked, key=lambda fact: fact.at):
        book.learn(new)
        outcome.learned += 1
    for reference in proposals.removals:
        outcome.removed += _remove(book, reference, documents)
    return outcome


def check(book: FactBook, proposal: Proposal, documents: Sequence[Document]) -> NewFact | None:
    """Return the fact that a proposal is, with its evidence; ``None``: the user did not say so."""
    text = tidy(proposal.text)
    if proposal.kind.strip().lower() == "name" and slot_of(text) is None and len(text.split()) <= 4:
        text = f"Name: {text}"
    for document in reversed(documents):
        evidence = find_evidence(text, said_by_user(document), quote=proposal.quote)
        if evidence is not None:
            return NewFact(
                text,
                guess_kind(text, proposal.kind),
                evidence.words,
                document.created_at,
                document.session_id,
                _known_id(book, proposal.replaces),
            )
    if len(documents) > 1:  # perhaps it was said in two turns: "I have a dog" … "he is called Rex"
        together = replace(documents[-1], text="\n".join(map(said_by_user, documents)))
        return check(book, proposal, [together])
    return None


def _remove(book: FactBook, reference: int | str, documents: Sequence[Document]) -> bool:
    fact_id = _known_id(book, reference)
    if fact_id is None:
        return False
    return any(book.take_back(fact_id, said_by_user(d), d.created_at) for d in reversed(documents))


def _known_id(book: FactBook, reference: int | str | None) -> int | None:
    if isinstance(reference, int):
        return reference if any(fact.id == reference for fact in book.current) else None
    if reference is None:
        return None
    return next((fact.id for fact in book.current if is_repeat(reference, fact.text)), None)
