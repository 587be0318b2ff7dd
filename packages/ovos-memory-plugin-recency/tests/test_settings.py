"""Every key: default, wrong type, wrong value, misspelt name."""

from pathlib import Path

import pytest
from ovos_utils.log import LOG

from ovos_memory.core.errors import ConfigError
from ovos_memory.recency import RecencyMemory
from ovos_memory.recency.settings import RecencySettings

README = Path(__file__).parents[1] / "README.md"


def test_defaults_are_those_of_the_documentation():
    settings = RecencyMemory().settings

    assert (settings.max_history, settings.max_age, settings.system_prompt) == (10, None, "")
    assert (settings.db_path, settings.backend, settings.max_history_chars) == (None, None, 24_000)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"max_history": -1}, "max_history"),
        ({"max_history": "ten"}, "max_history"),
        ({"max_history": True}, "max_history"),
        ({"max_age": -1}, "max_age"),
        ({"max_age": "old"}, "max_age"),
        ({"max_age": float("nan")}, "max_age"),
        ({"max_history_chars": -1}, "max_history_chars"),
        ({"system_prompt": {}}, "system_prompt"),
        ({"db_path": 5}, "db_path"),
        ({"db_path": " "}, "db_path"),
        ({"db_path": "a\0b"}, "db_path"),
        ({"backend": "xml"}, "backend"),
    ],
)
def test_a_wrong_setting_names_its_key(config, key):
    with pytest.raises(ConfigError, match=f"^ovos-memory-plugin-recency: {key} must"):
        RecencyMemory(config)


def test_a_misspelt_key_is_named_with_its_nearest(monkeypatch):
    lines = []
    monkeypatch.setattr(LOG, "warning", lambda text, *values: lines.append(text % values))

    RecencyMemory({"max_agee": 3})

    assert "'max_agee' is ignored; did you mean 'max_age'?" in lines[0]


def test_null_means_the_default_and_text_counts_as_a_number():
    assert RecencyMemory({key: None for key in RecencySettings.model_fields}).settings.max_history == 10
    assert RecencyMemory({"max_age": "1.5"}).settings.max_age == 1.5


def test_every_key_is_documented():
    page = README.read_text(encoding="utf-8")

    assert [key for key in RecencySettings.model_fields if f"`{key}`" not in page] == []
