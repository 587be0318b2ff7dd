"""One member's calls: deadlines, overdue calls, held writes."""

import threading
import time

import pytest

from ovos_memory.composite import gate as gate_module
from ovos_memory.composite.gate import Gate, MemberBusy
from ovos_memory.core.errors import MemberError


class Hanging:
    """A function that hangs until it is let go."""

    def __init__(self):
        self.calls = 0
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def __call__(self):
        self.calls += 1
        self.begun.set()
        assert self.let_go.wait(10)
        return "late"


@pytest.fixture
def hanging():
    function = Hanging()
    yield function
    function.let_go.set()


def soon():
    return time.monotonic() + 10


def make_overdue(gate, function, begun=None):
    call = gate.start(function)
    assert (begun or function.begun).wait(5)
    with pytest.raises(MemberError, match="member_timeout_s"):
        gate.wait(call, time.monotonic())
    return call


def test_a_call_returns_its_value():
    gate = Gate()

    call = gate.wait(gate.start(lambda: 42), soon())

    assert (call.value, call.error) == (42, None)


def test_an_error_is_kept_for_the_caller():
    gate = Gate()
    error = KeyError("x")

    def fail():
        raise error

    assert gate.wait(gate.start(fail), soon()).error is error


def test_an_overdue_call_closes_the_gate_until_it_is_back(hanging):
    gate = Gate()
    make_overdue(gate, hanging)

    with pytest.raises(MemberBusy):
        gate.start(hanging)
    assert (hanging.calls, gate.is_open) == (1, False)

    hanging.let_go.set()
    assert gate.drain(5)
    assert gate.wait(gate.start(lambda: "again"), soon()).value == "again"


def test_all_overdue_calls_must_be_back(hanging):
    gate, other = Gate(), Hanging()
    first, second = gate.start(hanging), gate.start(other)
    for call in (first, second):
        with pytest.raises(MemberError):
            gate.wait(call, time.monotonic())

    hanging.let_go.set()
    assert first.is_done.wait(5)
    assert not gate.is_open

    other.let_go.set()
    assert gate.drain(5)


def test_held_writes_are_made_in_order_once_the_member_is_back(hanging):
    gate, written = Gate(), []
    make_overdue(gate, hanging)

    for number in range(5):
        assert gate.start_or_hold(lambda number=number: written.append(number)) is None
    assert (gate.held, written) == (5, [])

    hanging.let_go.set()
    assert gate.drain(5)
    assert (gate.held, written) == (0, [0, 1, 2, 3, 4])


def test_a_write_that_arrives_while_held_ones_are_made_stays_behind_them(hanging):
    gate, written = Gate(), []
    slow = Hanging()
    make_overdue(gate, hanging)
    gate.start_or_hold(lambda: (slow(), written.append("first")))
    hanging.let_go.set()
    assert slow.begun.wait(5)

    assert gate.start_or_hold(lambda: written.append("second")) is None
    slow.let_go.set()

    assert gate.drain(5)
    assert written == ["first", "second"]


def test_a_held_write_that_fails_is_told_and_stops_no_other(hanging):
    told, written = [], []
    gate = Gate(on_late_failure=told.append)
    make_overdue(gate, hanging)
    error = OSError("disk")

    def fail():
        raise error

    gate.start_or_hold(fail)
    gate.start_or_hold(lambda: written.append(1))
    hanging.let_go.set()

    assert gate.drain(5)
    assert (told, written) == ([error], [1])


def test_held_writes_are_bounded_and_the_loss_is_told(hanging, monkeypatch):
    monkeypatch.setattr(gate_module, "MAX_HELD_WRITES", 3)
    told, written = [], []
    gate = Gate(on_late_failure=told.append)
    make_overdue(gate, hanging)

    for number in range(5):
        gate.start_or_hold(lambda number=number: written.append(number))
    hanging.let_go.set()

    assert gate.drain(5)
    assert (written, gate.lost) == ([2, 3, 4], 2)
    assert all(isinstance(error, MemberError) for error in told)


def test_an_overdue_call_that_fails_in_the_end_is_told(hanging):
    told = []
    gate = Gate(on_late_failure=told.append)
    error = OSError("disk")

    def fail():
        hanging()
        raise error

    make_overdue(gate, fail, hanging.begun)
    hanging.let_go.set()

    assert gate.drain(5)
    assert told == [error]


def test_draining_gives_up_after_its_time(hanging):
    gate = Gate()
    make_overdue(gate, hanging)

    assert not gate.drain(0.01)


def test_a_forked_child_does_not_wait_for_calls_of_its_parent(hanging):
    gate = Gate()
    make_overdue(gate, hanging)

    gate_module._reset_all()

    assert gate.is_open
    hanging.let_go.set()
