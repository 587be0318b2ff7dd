"""The work on pending exchanges: ask the model, check its answer, keep the facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ovos_memory.core.errors import BadReply
from ovos_memory.core.ledger import SqliteLedger
from ovos_memory.core.llm.client import Chat
from ovos_memory.core.llm.reply import Reply, ServerFailed
from ovos_memory.core.types import Document
from ovos_memory.entity.extraction import (
    DEFAULT_PROMPT,
    MAX_ANSWER_CHARS,
    MAX_QUESTION_CHARS,
    SCHEMA,
    Proposals,
    make_prompt,
    read_answer,
)
from ovos_memory.entity.facts import FactBook
from ovos_memory.entity.learning import Outcome, said_by_user, take_in
from ovos_memory.entity.store import FactStore

if TYPE_CHECKING:
    from ovos_memory.entity.settings import EntitySettings

MAX_EXCHANGE_CHARS = 6_000
"""Characters of exchanges in one question."""
_LEASE_MARGIN_S = 5.0
_NOTHING = (
    "no facts",
    "no new",
    "none",
    "nothing",
    "null",
    "n/a",
    "keine",
    "ninguno",
    "nenhum",
    "aucun",
    "nessun",
    "geen",
)


class FactsConsumer:
    """Turns exchanges into facts.

    Args:
        ledger: Returns the pending exchanges.
        facts: Where facts go.
        chat: Answers the questions.
        settings: Of the plugin.
    """

    name = "facts"
    fingerprint = "1"

    def __init__(
        self, ledger: Callable[[], SqliteLedger], facts: FactStore, chat: Chat, settings: EntitySettings
    ) -> None:
        self._ledger = ledger
        self._facts = facts
        self._chat = chat
        self._prompt = settings.extraction_prompt
        self._tokens = settings.max_extract_tokens
        self._timeout_s = settings.request_timeout
        self._schema = (
            SCHEMA if self._prompt == DEFAULT_PROMPT else None
        )  # another prompt asks for a form of its own
        self.lease_s = 2 * self._timeout_s + _LEASE_MARGIN_S
        self.outcome = Outcome()

    def ready_in_s(self) -> float:
        """Return how long the model pauses."""
        return self._chat.ready_in_s()

    def choose(self, claimed: Sequence[Document]) -> Sequence[Document]:
        """Return the first session's documents, as many as one question holds."""
        chosen: list[Document] = []
        left = MAX_EXCHANGE_CHARS
        for document in claimed:
            if document.session_id != claimed[0].session_id:
                continue
            left -= min(len(said_by_user(document)), MAX_QUESTION_CHARS) + min(
                len(document.answer), MAX_ANSWER_CHARS
            )
            if chosen and left < 0:
                break
            chosen.append(document)
        return chosen

    def handle(self, documents: Sequence[Document]) -> Proposals:
        """Ask the model about exchanges in which the user said something."""
        spoken = [document for document in documents if said_by_user(document).strip()]
        if not spoken:
            return Proposals(is_usable=True)
        known = self._facts.book(spoken[0].session_id).current
        prompt = make_prompt(self._prompt, spoken, known)
        reply = self._ask(prompt, self._tokens * len(spoken))
        answer = read_answer(reply.text)
        if not (answer.is_cut or reply.is_cut):
            return self._usable(answer, reply)
        if len(spoken) > 1:
            raise BadReply("the answer about several exchanges was cut off at its token limit")
        longer = read_answer(self._ask(prompt, 4 * self._tokens).text)
        return (
            longer
            if len(longer.facts) >= len(answer.facts) and longer.is_usable
            else self._usable(answer, reply)
        )

    def keep(self, documents: Sequence[Document], result: Proposals) -> None:
        """Store what the user's words support, unless it was forgotten meanwhile; then let go of it."""
        ledger = self._ledger()
        outcome = Outcome()

        def learn(book: FactBook) -> None:
            there = ledger.current(documents)
            if there:
                nonlocal outcome
                outcome = take_in(book, result, there)

        if result.facts or result.removals:
            self._facts.update(documents[0].session_id, learn)
        self.outcome.add(outcome)
        with ledger.database.write(is_synced=False) as connection:  # what a power cut undoes is done again
            gone = {d.id for d in ledger.done(self.name, self.fingerprint, documents, connection=connection)}
            ledger.delete([d.id for d in documents if d.id not in gone], connection=connection)

    def _ask(self, prompt: str, tokens: int) -> Reply:
        try:
            reply = self._chat.ask(prompt, max_tokens=tokens, timeout_s=self._timeout_s, schema=self._schema)
        except ServerFailed as error:
            # Perhaps it is these very exchanges that the server cannot take: it counts, and of several fewer
            # are tried.
            raise BadReply(str(error)) from error
        if reply.is_unfinished:
            raise BadReply("the model was still thinking at the token limit; it is allowed more from now on")
        return reply

    def _usable(self, answer: Proposals, reply: Reply) -> Proposals:
        """Return the answer; prose counts when it says that there is nothing."""
        said = reply.text.strip().lower()
        if (
            answer.is_usable
            or (len(said) < 200 and said.startswith(_NOTHING))
            or any(f" {n}" in said[:80] for n in _NOTHING[:2])
        ):
            return answer
        raise BadReply("the answer holds no list of facts")
