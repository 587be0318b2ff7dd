"""Every key of the composite: default, wrong type, wrong value, misspelt name."""

from pathlib import Path

import pytest

from ovos_memory.composite import CompositeMemory
from ovos_memory.composite.settings import CompositeSettings, MemberSettings
from ovos_memory.core.errors import ConfigError
from ovos_memory.core.settings import json_schema

README = Path(__file__).parents[1] / "README.md"


def test_defaults_are_those_of_the_documentation():
    settings = CompositeMemory().settings

    assert (settings.members, settings.primary, settings.fusion, settings.rrf_k) == ([], None, "rrf", 60)
    assert (settings.max_num_results, settings.member_fetch_k, settings.dedup) == (5, None, True)
    assert (settings.inject_mode, settings.system_prompt, settings.scope) == ("system", "", "global")
    assert (settings.member_timeout_s, settings.max_history) == (5, 0)


def test_null_means_the_default():
    given = {key: None for key in CompositeSettings.model_fields}

    assert CompositeMemory(given).settings.model_dump() == {
        **CompositeMemory().settings.model_dump(),
        "max_history_chars": None,  # documented: null lifts the limit
    }


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"members": "plain"}, "members"),
        ({"members": [5]}, r"members\[0\]"),
        ({"members": [{}]}, r"members\[0\]\.module"),
        ({"members": [{"module": ""}]}, r"members\[0\]\.module"),
        ({"members": [{"module": 5}]}, r"members\[0\]\.module"),
        ({"members": ["a", {"module": "b", "weight": -1}]}, r"members\[1\]\.weight"),
        ({"members": ["a", {"module": "b", "weight": float("nan")}]}, r"members\[1\]\.weight"),
        ({"members": ["a", {"module": "b", "weight": float("inf")}]}, r"members\[1\]\.weight"),
        ({"members": ["a", {"module": "b", "weight": "heavy"}]}, r"members\[1\]\.weight"),
        ({"members": ["a", {"module": "b", "weight": True}]}, r"members\[1\]\.weight"),
        ({"members": ["a", {"module": "b", "exponent": 0}]}, r"members\[1\]\.exponent"),
        ({"members": ["a", {"module": "b", "exponent": float("inf")}]}, r"members\[1\]\.exponent"),
        ({"members": [{"module": "b", "config": "x"}]}, r"members\[0\]\.config"),
        ({"members": [{"module": "b", "name": ""}]}, r"members\[0\]\.name"),
        ({"members": ["a", "b"], "primary": "c"}, "primary"),
        ({"primary": 5}, "primary"),
        ({"fusion": "magic"}, "fusion"),
        ({"rrf_k": -1}, "rrf_k"),
        ({"date_weight": -0.1}, "date_weight"),
        ({"date_weight": "much"}, "date_weight"),
        ({"rrf_k": "x"}, "rrf_k"),
        ({"max_num_results": 0}, "max_num_results"),
        ({"max_num_results": True}, "max_num_results"),
        ({"member_fetch_k": 0}, "member_fetch_k"),
        ({"member_fetch_k": 2.5}, "member_fetch_k"),
        ({"dedup": "perhaps"}, "dedup"),
        ({"member_timeout_s": 0}, "member_timeout_s"),
        ({"member_timeout_s": -1}, "member_timeout_s"),
        ({"member_timeout_s": float("inf")}, "member_timeout_s"),
        ({"inject_mode": "shout"}, "inject_mode"),
        ({"scope": "planet"}, "scope"),
        ({"system_prompt": 5}, "system_prompt"),
        ({"max_history": -1}, "max_history"),
        ({"max_history_chars": -1}, "max_history_chars"),
        ({"retrieval": {"query_mode": "guess"}}, r"retrieval\.query_mode"),
        ({"retrieval": {"query_history_turns": -1}}, r"retrieval\.query_history_turns"),
        ({"context": {"max_chars": -1}}, r"context\.max_chars"),
        ({"context": []}, "context"),
    ],
)
def test_a_wrong_setting_names_its_key(config, key):
    with pytest.raises(ConfigError, match=rf"^ovos-memory-plugin-composite: {key} (must|is missing)"):
        CompositeMemory(config)


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"fussion": "rrf"}, "'fussion' is ignored; did you mean 'fusion'?"),
        (
            {"members": [{"module": "plain", "wieght": 2}]},
            "'members[0].wieght' is ignored; did you mean 'weight'?",
        ),
    ],
)
def test_a_misspelt_key_is_named_with_its_nearest(plugins, logged, config, line):
    CompositeMemory(config)

    assert len(logged) == 1 and line in logged[0]


def test_text_counts_as_a_number():
    settings = CompositeMemory({"max_num_results": "7", "rrf_k": "10", "member_timeout_s": "0.5"}).settings

    assert (settings.max_num_results, settings.rrf_k, settings.member_timeout_s) == (7, 10, 0.5)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, 5),
        ({"max_num_results": 3}, 3),
        ({"retrieval": {"max_num_results": 4}}, 4),
        ({"max_num_results": 3, "retrieval": {"max_num_results": 4}}, 3),
    ],
)
def test_one_top_k_rules_wherever_it_is_set(config, expected):
    settings = CompositeMemory(config).settings

    assert settings.max_num_results == settings.retrieval.max_num_results == expected


def test_the_schema_offers_names_and_objects():
    members = json_schema(CompositeSettings)["properties"]["members"]

    assert {"type": "string"} in members["items"]["anyOf"] and len(members["items"]["anyOf"]) == 2


def test_a_primary_without_members_is_a_harmless_passthrough(logged):
    assert CompositeMemory({"primary": "gone"}).get_history("s") == []
    assert "primary 'gone'" in logged[0]


@pytest.mark.parametrize("model", [CompositeSettings, MemberSettings])
def test_every_key_is_documented(model):
    page = README.read_text(encoding="utf-8")

    assert [key for key in model.model_fields if f"`{key}`" not in page and f"`{key}." not in page] == []
