"""Every key: default, wrong type, wrong value, misspelt name."""

from pathlib import Path

import pytest
from ovos_utils.log import LOG

from ovos_memory.core.errors import ConfigError
from ovos_memory.short_term import BasicShortTermMemory
from ovos_memory.short_term.settings import ShortTermSettings

README = Path(__file__).parents[1] / "README.md"


def test_defaults_are_those_of_the_documentation():
    settings = BasicShortTermMemory().settings

    assert (settings.max_history, settings.system_prompt, settings.max_history_chars) == (5, "", 24_000)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"max_history": -1}, "max_history"),
        ({"max_history": "five"}, "max_history"),
        ({"max_history": True}, "max_history"),
        ({"max_history": 2.5}, "max_history"),
        ({"max_history_chars": -1}, "max_history_chars"),
        ({"system_prompt": ["x"]}, "system_prompt"),
    ],
)
def test_a_wrong_setting_names_its_key(config, key):
    with pytest.raises(ConfigError, match=f"^ovos-memory-plugin-short-term: {key} must"):
        BasicShortTermMemory(config)


def test_a_misspelt_key_is_named_with_its_nearest(monkeypatch):
    lines = []
    monkeypatch.setattr(LOG, "warning", lambda text, *values: lines.append(text % values))

    BasicShortTermMemory({"max_histroy": 3})

    assert "'max_histroy' is ignored; did you mean 'max_history'?" in lines[0]


def test_null_means_the_default_and_text_counts_as_a_number():
    assert BasicShortTermMemory({"max_history": None, "system_prompt": None}).settings.max_history == 5
    assert BasicShortTermMemory({"max_history": "7"}).settings.max_history == 7


def test_every_key_is_documented():
    page = README.read_text(encoding="utf-8")

    assert [key for key in ShortTermSettings.model_fields if f"`{key}`" not in page] == []
