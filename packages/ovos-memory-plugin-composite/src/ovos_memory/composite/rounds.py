"""One question to several members, side by side; who fails or is late is left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, TypeVar

from ovos_utils.log import LOG

from ovos_memory.composite.gate import Call, MemberBusy
from ovos_memory.composite.members import Member

R = TypeVar("R")

HEAD_START_S = 0.0005
"""What the member that waits longest has before the others begin: for a model, a disk or a server, and it begins to
wait so much later when it has to share Python's one lock with them from the first moment on."""
_LONG_S = 0.003
"""A member that waits less is worth no head start."""


class Round(Generic[R]):
    """Calls to members that are under way; the calls begin with the construction.

    Who usually waits longest is called first.  Python's one lock is a machine that the calls pass through one after the
    other, and the waiting what each needs afterwards: then this order ends soonest (Jackson, "Scheduling a Production
    Line to Minimize Maximum Tardiness", 1955).

    Args:
        members: Whom to ask; the answers keep this order.
        operation: What for, in logs and counts.
        question: Called once per member, on a thread of its own.
        timeout_s: How long all of them may take together.
        session_id: For logs.
        is_write: Keep the call for a member that is overdue, and make it when that member is back.
    """

    def __init__(
        self,
        members: Iterable[Member],
        operation: str,
        question: Callable[[Member], R],
        *,
        timeout_s: float,
        session_id: str | None = None,
        is_write: bool = False,
    ) -> None:
        self._operation = operation
        self._session_id = session_id
        self._deadline = time.monotonic() + timeout_s
        begun: dict[int, tuple[Member, Call[R]]] = {}
        asked = sorted(enumerate(members), key=lambda each: -each[1].usual_wait_s.get(operation, 0.0))
        for place, (position, member) in enumerate(asked):
            if place == 1 and asked[0][1].usual_wait_s.get(operation, 0.0) > _LONG_S:
                time.sleep(HEAD_START_S)
            start = member.gate.start_or_hold if is_write else member.gate.start
            try:
                call = start(partial(member.timed, operation, question))
            except MemberBusy:
                LOG.debug(
                    "%s: %s left out while an earlier call is overdue", member.boundary.plugin, operation
                )
            except Exception as error:
                member.boundary.failed(operation, error, session_id=session_id)
            else:
                if call is not None:
                    begun[position] = member, call
        self._calls = [begun[position] for position in sorted(begun)]

    def answers(self) -> list[tuple[Member, R]]:
        """Return who answered what, in the order of the members.

        Waits for everybody, at most until the deadline.  What stops a program (``KeyboardInterrupt``,
        ``SystemExit``) is raised again here, after everybody has been waited for.
        """
        answers: list[tuple[Member, R]] = []
        stop: BaseException | None = None
        for member, call in self._calls:
            try:
                error = member.gate.wait(call, self._deadline).error
            except Exception as late:
                error = late
            if error is None:
                answers.append((member, call.value))  # type: ignore[arg-type]
            elif isinstance(error, Exception):
                member.boundary.failed(self._operation, error, session_id=self._session_id)
            else:
                stop = stop or error
        self._calls = []
        if stop is not None:
            raise stop
        return answers
