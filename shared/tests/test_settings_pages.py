"""Each package's page tells of every key with its default, and of none that is not there; its samples work."""

from __future__ import annotations

import json
import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from ovos_utils.log import LOG

from ovos_memory.core.settings import RecallSettings, Settings

PACKAGES = Path(__file__).parents[2] / "packages"
PLUGINS = sorted(folder.name for folder in PACKAGES.glob("ovos-memory-plugin-*"))
LONG_TEXT = 60
"""Characters of a default that a table need not quote."""
ELSEWHERE = "as in all"
"""Stands for the defaults of a row that only lists keys which all retrievers share."""
MEMBER_KEYS = {"module", "name", "weight", "exponent", "config"}
"""Of a composite's members: a table of their own on its page."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def plugin(name: str) -> Any:
    return next(e for e in entry_points(group="opm.agents.memory") if e.name == name).load()


def keys_of(model: type[Settings], prefix: str = "") -> dict[str, Any]:
    """Return every key of a model by its path, with its default; sections by their keys."""
    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, Settings):
            found |= keys_of(type(default), f"{prefix}{name}.")
        else:
            found[prefix + name] = default
    return found


def told_on(page: str) -> dict[str, str]:
    """Return the keys of a page's key tables with what stands in the column of defaults."""
    told: dict[str, str] = {}
    is_table = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        is_table = line.startswith("|") and (is_table or cells[:2] == ["key", "default"])
        if is_table and line.startswith("| `"):
            keys = re.findall(r"`([^`]+)`", cells[0])
            told |= {key: cells[1] or (ELSEWHERE if len(keys) > 1 else "") for key in keys}
    return told


def covers(told: str, key: str) -> bool:
    return told == key or (told.endswith(".*") and key.startswith(told[:-1]))


def is_default(told: str, default: Any, memory: Any) -> bool:
    """Tell whether a cell shows a default; words may stand for what is computed, nothing for a long text."""
    if told == ELSEWHERE:
        return True
    if not told:
        return isinstance(default, str) and len(default) > LONG_TEXT
    quoted = re.fullmatch(r"`(.*)`", told)
    if quoted is None:
        return default in (None, "")
    text = quoted[1]
    if text.startswith("$XDG_DATA_HOME/"):
        return default is None and str(memory({}).files()[0]).endswith(text.removeprefix("$XDG_DATA_HOME"))
    if isinstance(default, str):
        return text in (default or '""', json.dumps(default))
    return bool(json.loads(text) == default)


@pytest.mark.parametrize("name", PLUGINS)
def test_the_page_tells_of_every_key_and_of_no_other(name: str) -> None:
    keys, page = keys_of(plugin(name).settings_model()), (PACKAGES / name / "README.md").read_text("utf-8")
    told = told_on(page)

    # What all retrievers share is told in words, with its table on core's page.
    shared = set(re.findall(r"`([a-z_.*]+)`", page)) if "every retriev" in page else set()
    assert [key for key in keys if not any(covers(each, key) for each in {*told, *shared})] == []
    own = MEMBER_KEYS if "members" in keys else set()
    assert [each for each in told if each not in own and not any(covers(each, key) for key in keys)] == []


@pytest.mark.parametrize("name", PLUGINS)
def test_the_page_tells_the_right_defaults(name: str) -> None:
    memory = plugin(name)
    keys = keys_of(memory.settings_model())
    told = told_on((PACKAGES / name / "README.md").read_text("utf-8"))

    wrong = {
        key: (told[key], default)
        for key, default in keys.items()
        if key in told and not is_default(told[key], default, memory)
    }
    assert wrong == {}


def test_cores_page_has_the_keys_that_all_retrievers_share() -> None:
    told = told_on((PACKAGES / "ovos-memory-core" / "README.md").read_text("utf-8"))
    keys = keys_of(RecallSettings)

    assert sorted(told) == sorted(keys)
    assert {key: told[key] for key, value in keys.items() if not is_default(told[key], value, None)} == {}


@pytest.mark.parametrize("name", PLUGINS)
def test_each_sample_makes_a_memory_without_a_word_of_warning(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(LOG, "warning", lambda text, *values: warnings.append(text % values))
    offered = [e for e in entry_points(group="opm.agents.memory.config") if e.name == f"{name}.config"]
    samples = [sample for entry in offered for sample in entry.load()]

    for sample in samples:
        assert isinstance(sample["display_name"], str) and isinstance(sample["offline"], bool)
        block = {key: value for key, value in sample.items() if key not in ("display_name", "offline")}
        needs_a_model = {"preload": False} if "embeddings_plugin" in block else {}
        memory = plugin(name)({**block, **needs_a_model})
        if not needs_a_model:
            assert memory.build_conversation_context("hello")[-1].content == "hello"

    assert samples and [line for line in warnings if name in line] == []
