"""How members are found, named and built."""

import time

import pytest

from ovos_memory.composite import CompositeMemory
from ovos_memory.composite.members import member_names
from ovos_memory.composite.settings import CompositeSettings
from ovos_memory.core.errors import ConfigError
from ovos_memory.core.settings import load_settings


def read(*members, **settings):
    return load_settings(CompositeSettings, {"members": list(members), **settings}, plugin="composite")


def test_a_plain_name_is_a_member():
    assert read("plain").members == read({"module": "plain"}).members


def test_the_second_of_a_kind_is_numbered():
    members = read("a", "a", {"module": "a", "name": "own"}, "b", "a").members

    assert member_names(members, plugin="composite") == ["a", "a#2", "own", "b", "a#3"]


def test_a_number_never_takes_a_given_name():
    members = read("a", "a", {"module": "b", "name": "a#2"}).members

    assert member_names(members, plugin="composite") == ["a", "a#3", "a#2"]


def test_two_members_of_one_name_are_a_config_error(plugins):
    with pytest.raises(ConfigError, match=r"members\[1\]\.name must be .* got 'x'"):
        CompositeMemory({"members": [{"module": "plain", "name": "x"}, {"module": "plain", "name": "x"}]})


def test_a_missing_member_is_left_out_and_named_once_with_the_remedy(compose, logged):
    memory = compose("nowhere", "plain")

    assert [member.name for member in memory.members] == ["plain"]
    [line] = logged
    assert "member 'nowhere' is left out" in line and "pip install nowhere" in line
    assert memory.health()["members"]["nowhere"]["state"] == "missing"


@pytest.mark.parametrize("error", [ValueError("secret"), TypeError("secret"), OSError("secret")])
def test_a_member_that_does_not_load_is_left_out_without_quoting_it(plugins, compose, logged, error):
    def fail(config=None):
        raise error

    plugins["broken"] = fail

    memory = compose("broken", "plain")

    assert [member.name for member in memory.members] == ["plain"]
    [line] = logged
    assert type(error).__name__ in line and "secret" not in line


def test_a_members_wrong_setting_only_loses_the_member(plugins, compose, logged):
    def refuse(config=None):
        raise ConfigError("plain: max_history must be a whole number >= 0, got -1")

    plugins["refusing"] = refuse

    memory = compose("refusing", "plain")

    assert [member.name for member in memory.members] == ["plain"]
    assert "max_history must be a whole number >= 0, got -1" in logged[0]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_stops_a_program_passes_through_a_members_constructor(plugins, compose, stop):
    def interrupted(config=None):
        raise stop

    plugins["interrupted"] = interrupted

    with pytest.raises(stop):
        compose("interrupted")
    assert compose("plain").members  # and the next composite loads


def test_an_object_that_is_no_memory_is_left_out(plugins, compose, logged):
    plugins["thing"] = lambda config=None: object()

    assert compose("thing").members == []
    assert "neither search nor build_conversation_context" in logged[0]


def test_a_member_gets_its_own_block_as_a_copy(compose):
    block = {"blocks": ["facts"], "deep": {"list": [1]}}
    memory = compose({"module": "plain", "config": block}, {"module": "plain"}, system_prompt="Be kind.")

    assert memory.members[0].memory.config == block
    assert memory.members[1].memory.config == {}
    block["deep"]["list"].append(2)
    assert memory.members[0].memory.config["deep"] == {"list": [1]}


def test_it_refuses_itself_as_a_member(plugins, compose, logged):
    class Heir(CompositeMemory):
        pass

    plugins["heir"] = Heir

    assert compose("ovos-memory-plugin-composite", "heir", "plain").members[0].name == "plain"
    assert len(logged) == 2 and all("cannot be a member" in line for line in logged)


def test_it_refuses_itself_inside_a_member(plugins, compose, logged):
    def wrapper(config=None):
        return CompositeMemory({"members": ["wrapper"]})

    plugins["wrapper"] = wrapper

    assert compose("wrapper").members == []
    assert "a composite cannot be a member of a composite" in logged[0]


@pytest.mark.parametrize(
    ("composite", "member", "expected"),
    [
        ({}, {}, {}),
        ({}, {"scope": "session"}, {"scope": "session"}),
        ({"scope": "session"}, {}, {"scope": "session"}),
        ({"scope": "session"}, {"scope": None}, {"scope": "session"}),
        ({"scope": "session"}, {"scope": "global"}, {"scope": "session"}),
        ({"scope": "global"}, {}, {"scope": "global"}),
        ({"scope": "global"}, {"scope": "session"}, {"scope": "session"}),
        ({"scope": None}, {}, {}),
    ],
)
def test_the_stricter_scope_reaches_members_that_take_one(plugins, compose, composite, member, expected):
    class Scoped(plugins["plain"]):
        accepts_scope = True

    plugins["scoped"] = Scoped

    memory = compose(
        {"module": "scoped", "config": member}, {"module": "plain", "config": member}, **composite
    )

    assert memory.members[0].memory.config == expected
    assert memory.members[1].memory.config == member  # a stranger's block stays as it is


def test_members_that_take_a_clock_live_in_the_time_of_the_composite(plugins):
    class Timed(plugins["plain"]):
        def __init__(self, config=None, *, clock=time.time):
            super().__init__(config)
            self.clock = clock

    plugins["timed"] = Timed
    members = {"members": ["timed", "plain"]}

    def year_2023():
        return 1_690_000_000.0

    memory = CompositeMemory(members, clock=year_2023)

    assert [member.name for member in memory.members] == ["timed", "plain"]
    assert memory.members[0].memory.clock is year_2023
    assert CompositeMemory(members).members[0].memory.clock is time.time
