"""Settings: defaults, coercion, errors that name the key, warnings for unknown keys."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from ovos_utils.log import LOG
from pydantic import Field, field_validator

from ovos_memory.core.errors import ConfigError
from ovos_memory.core.settings import RecallSettings, Settings, json_schema, key_path, load_settings

PLUGIN = "ovos-memory-plugin-test"


def load(config: Any) -> RecallSettings:
    return load_settings(RecallSettings, config, plugin=PLUGIN)


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(LOG, "warning", lambda text, *values: lines.append(text % values))
    return lines


def test_defaults_are_those_of_the_specification() -> None:
    settings = load(None)

    assert settings.retrieval.max_num_results == 5
    assert settings.retrieval.min_score is None
    assert settings.retrieval.query_mode == "utterance"
    assert settings.retrieval.query_history_turns == 3
    assert settings.retrieval.exclude_recent is False
    assert settings.context.chunk_prefix == "- "
    assert settings.context.chunk_separator == "\n\n"
    assert settings.context.include_sources is False
    assert settings.context.include_dates is False
    assert settings.context.tool_name == "search_memory"
    assert settings.context.max_chars == 8000
    assert settings.inject_mode == "system"
    assert settings.system_prompt == ""
    assert settings.max_history == 10
    assert settings.max_history_chars == 24_000
    assert settings.scope == "global"


WRONG = [
    ({"max_history": "many"}, "max_history must be a whole number >= 0, got 'many'"),
    ({"max_history": -1}, "max_history must be a whole number >= 0, got -1"),
    ({"max_history": True}, "max_history must be a whole number >= 0, got True"),
    ({"max_history": 2.5}, "max_history must be a whole number >= 0, got 2.5"),
    ({"max_history": [3]}, "max_history must be a whole number >= 0, got a value of type list"),
    ({"max_history_chars": "x"}, "max_history_chars must be a whole number >= 0 or null, got 'x'"),
    ({"system_prompt": 5}, "system_prompt must be text, got 5"),
    ({"scope": "world"}, "scope must be one of global, session, got 'world'"),
    (
        {"inject_mode": "SYSTEM"},
        "inject_mode must be one of system, developer, system_prompt, user, tool, got 'SYSTEM'",
    ),
    ({"system_prompt_template": 1}, "system_prompt_template must be text or null, got 1"),
    ({"user_template": []}, "user_template must be text or null, got a value of type list"),
    ({"retrieval": 7}, "retrieval must be an object, got 7"),
    ({"retrieval": {"max_num_results": 0}}, "retrieval.max_num_results must be a whole number >= 1, got 0"),
    (
        {"retrieval": {"min_score": float("nan")}},
        "retrieval.min_score must be a finite number or null, got nan",
    ),
    ({"retrieval": {"query_mode": 1}}, "retrieval.query_mode must be one of utterance, history, got 1"),
    (
        {"retrieval": {"query_history_turns": -2}},
        "retrieval.query_history_turns must be a whole number >= 0, got -2",
    ),
    (
        {"retrieval": {"exclude_recent": "maybe"}},
        "retrieval.exclude_recent must be true or false, got 'maybe'",
    ),
    ({"context": {"header": 0}}, "context.header must be text, got 0"),
    ({"context": {"chunk_prefix": 1}}, "context.chunk_prefix must be text, got 1"),
    ({"context": {"chunk_separator": 1}}, "context.chunk_separator must be text, got 1"),
    ({"context": {"include_sources": 3}}, "context.include_sources must be true or false, got 3"),
    (
        {"context": {"include_dates": []}},
        "context.include_dates must be true or false, got a value of type list",
    ),
    ({"context": {"tool_name": ""}}, "context.tool_name must be text that is not empty, got ''"),
    ({"context": {"max_chars": -1}}, "context.max_chars must be a whole number >= 0 or null, got -1"),
    ([1], "the configuration block must be an object, got a value of type list"),
]


@pytest.mark.parametrize(("config", "message"), WRONG, ids=[str(c)[:40] for c, _ in WRONG])
def test_a_wrong_value_names_plugin_key_rule_and_value(config: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(config)

    assert str(caught.value) == f"{PLUGIN}: {message}"
    assert isinstance(caught.value, ValueError)


def test_every_key_is_tried_with_a_wrong_value() -> None:
    """A key added to the settings needs a row in ``WRONG``."""
    tried = {
        f"{key}.{inner}" if isinstance(value, dict) else key
        for config, _ in WRONG
        if isinstance(config, dict)
        for key, value in config.items()
        for inner in (value if isinstance(value, dict) else [""])
    }
    schema = json_schema(RecallSettings)
    known = set()
    for key, entry in schema["properties"].items():
        reference = entry.get("$ref", "").rpartition("/")[2]
        inner = schema["$defs"][reference]["properties"] if reference else None
        known |= {f"{key}.{name}" for name in inner} if inner else {key}

    assert known - tried == set()


def test_several_wrong_values_are_told_at_once() -> None:
    with pytest.raises(ConfigError, match=r"max_history must .*; .*scope must"):
        load({"max_history": -1, "scope": "x"})


def test_null_means_the_default_except_where_null_is_a_value() -> None:
    settings = load(
        {"max_history": None, "max_history_chars": None, "retrieval": None, "context": {"max_chars": None}}
    )

    assert settings.max_history == 10
    assert settings.max_history_chars is None
    assert settings.retrieval.max_num_results == 5
    assert settings.context.max_chars is None
    assert settings.context.chunk_prefix == "- "


def test_a_number_may_come_as_text() -> None:
    settings = load({"max_history": "10", "retrieval": {"min_score": "0.5", "max_num_results": "3"}})

    assert (settings.max_history, settings.retrieval.min_score, settings.retrieval.max_num_results) == (
        10,
        0.5,
        3,
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"max_histroy": 3}, "unknown key 'max_histroy' is ignored; did you mean 'max_history'?"),
        (
            {"retrieval": {"max_results": 3}},
            "unknown key 'retrieval.max_results' is ignored; did you mean 'max_num_results'?",
        ),
        ({"context": {"heder": "x"}}, "unknown key 'context.heder' is ignored; did you mean 'header'?"),
    ],
)
def test_an_unknown_key_warns_and_suggests_the_nearest(
    config: dict[str, Any], expected: str, warnings: list[str]
) -> None:
    load(config)

    assert warnings == [f"{PLUGIN}: {expected}"]


def test_an_unknown_key_without_a_near_one_lists_the_known(warnings: list[str]) -> None:
    load({"zzzzzz": 3})

    assert len(warnings) == 1
    assert "known keys: context, inject_mode, max_history" in warnings[0]


def test_known_keys_do_not_warn(warnings: list[str]) -> None:
    load({"max_history": 3, "context": {"header": ""}, "retrieval": {}})

    assert warnings == []


def test_an_unknown_placeholder_warns_once_and_lists_the_known(warnings: list[str]) -> None:
    settings = load({"user_template": "{header} {contxt} {utterence} {contxt}\n{context}"})

    known = "known: {header}, {context}, {utterance}"
    assert warnings == [
        f"{PLUGIN}: user_template: unknown placeholder {{contxt}}, {{utterence}} stays as it is; {known}"
    ]
    assert settings.user_template == "{header} {contxt} {utterence} {contxt}\n{context}"


@pytest.mark.parametrize(
    "template",
    [
        "{system}\n{header}\n{context}",
        'Answer as {"facts": ["..."], "n": {"a": 1}} {context}',
        "{} {0} {1st} { system } {a-b} {{literal}} { {context}",
        "",
    ],
)
def test_braces_that_name_nothing_do_not_warn(template: str, warnings: list[str]) -> None:
    load({"system_prompt_template": template})

    assert warnings == []


def test_what_is_no_template_may_hold_braces(warnings: list[str]) -> None:
    load({"system_prompt": "{name}", "context": {"header": "{header}", "chunk_prefix": "{n}"}})

    assert warnings == []


class _Inner(Settings):
    weight: float = Field(1.0, gt=0)


class _Outer(Settings):
    members: list[str | _Inner] = Field(default_factory=list)
    api_key: str = ""
    name: str = "a"

    @field_validator("name")
    @classmethod
    def _plain(cls, value: str) -> str:
        if not value.isidentifier():
            raise ValueError("must be a plain identifier")
        return value


def test_a_key_path_counts_list_items() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(_Outer, {"members": ["x", {"weight": -1}]}, plugin="p")

    assert str(caught.value) == "p: members[1].weight must be a finite number > 0, got -1"


def test_a_rule_of_a_validator_reads_like_the_others() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(_Outer, {"name": "a b"}, plugin="p")

    assert str(caught.value) == "p: name must be a plain identifier, got 'a b'"


def test_a_secret_is_never_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(_Outer, {"api_key": 123456789}, plugin="p")

    assert "123456789" not in str(caught.value)
    assert "api_key must be text" in str(caught.value)


def test_settings_do_not_follow_the_callers_dict() -> None:
    config: dict[str, Any] = {"retrieval": {"max_num_results": 3}}
    settings = load(config)

    config["retrieval"]["max_num_results"] = 9

    assert settings.retrieval.max_num_results == 3


def test_key_path_reads_like_the_file() -> None:
    assert key_path(("members", 1, "config", "weight")) == "members[1].config.weight"


def test_loading_logs_nothing_of_a_correct_block(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        load({"system_prompt": "my secret persona"})

    assert "my secret persona" not in caplog.text
