from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.core.errors import ConfigError
from ovos_memory.core.settings import RecallSettings, load_settings
from ovos_memory.local_rag.settings import LocalRAGSettings
from ovos_memory.local_rag.source import IndexSource

PLUGIN = "ovos-memory-plugin-local-rag"


def load(config: dict[str, Any] | None = None) -> LocalRAGSettings:
    return load_settings(LocalRAGSettings, config, plugin=PLUGIN)


def ledger_path(**config: Any) -> str:
    return str(IndexSource(load(config), plugin=PLUGIN, clock=lambda: 0.0).ledger_path)


def test_the_defaults_are_those_of_the_documentation() -> None:
    settings = load()

    assert settings.embeddings_plugin == "ovos-gguf-embeddings-plugin"
    assert settings.embeddings_config == {}
    assert settings.embeddings_db_plugin == "ovos-chromadb-embeddings-plugin"
    assert settings.embeddings_db_config == {}
    assert settings.collection == "ovos_local_rag"
    assert settings.retrieval.max_num_results == 5
    assert settings.retrieval.min_score is None
    assert settings.retrieval.query_mode == "utterance"
    assert settings.retrieval.query_history_turns == 3
    assert settings.inject_mode == "system"
    assert settings.system_prompt == ""
    assert settings.max_history == 10
    assert (settings.db_path, settings.preload, settings.background) == (None, True, False)


def test_null_means_no_vector_store_and_elsewhere_the_default() -> None:
    assert load({"embeddings_db_plugin": None}).embeddings_db_plugin is None
    assert load({"embeddings_plugin": None}).embeddings_plugin == "ovos-gguf-embeddings-plugin"


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"collection": ""}, "collection"),
        ({"embeddings_config": "labse"}, "embeddings_config"),
        ({"background": "sometimes"}, "background"),
        ({"retrieval": {"max_num_results": 0}}, "retrieval.max_num_results"),
    ],
)
def test_a_wrong_setting_is_named(config: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError, match=rf"{PLUGIN}: .*{path}"):
        load(config)


def test_the_ledger_lies_beside_the_vectors(tmp_path: Path) -> None:
    folder = str(tmp_path / "vectors")

    assert ledger_path(embeddings_db_config={"path": folder}) == f"{folder}/ovos_local_rag.ledger.db"


def test_the_default_store_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert ledger_path() == str(tmp_path / "ovos" / "local_rag_db" / "ovos_local_rag.ledger.db")


def test_stores_that_differ_never_share_a_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    paths = [
        ledger_path(embeddings_db_plugin=None),
        ledger_path(embeddings_db_config={"host": "a"}),
        ledger_path(embeddings_db_config={"host": "b"}),
        ledger_path(embeddings_db_config={"host": "a", "port": 1}),
        ledger_path(embeddings_db_plugin="ovos-qdrant-embeddings-plugin", embeddings_db_config={"host": "a"}),
        ledger_path(embeddings_db_config={"host": "a"}, collection="Küche"),
    ]

    assert len(set(paths)) == len(paths)
    assert all(path.startswith(str(tmp_path / "ovos" / "local_rag")) for path in paths)


@pytest.mark.parametrize("path", ["~/x y/ü", "$HOME/x y/ü", "${HOME}/x y/ü"])
def test_paths_are_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert ledger_path(embeddings_db_config={"path": path}) == str(
        tmp_path / "x y" / "ü" / "ovos_local_rag.ledger.db"
    )
    assert ledger_path(db_path=path) == str(tmp_path / "x y" / "ü")


def test_a_relative_path_is_anchored_at_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert ledger_path(embeddings_db_config={"path": "vectors"}) == str(
        tmp_path / "vectors" / "ovos_local_rag.ledger.db"
    )


def test_a_store_in_memory_has_its_ledger_there_too() -> None:
    assert ledger_path(embeddings_db_config={"path": ":memory:"}) == ":memory:"


def test_the_configuration_given_is_not_touched() -> None:
    config = {"embeddings_db_config": {"path": "~/x"}, "embeddings_config": {"model": "m"}}
    before = json.dumps(config)

    IndexSource(load(config), plugin=PLUGIN, clock=lambda: 0.0)

    assert json.dumps(config) == before


def test_the_page_tells_of_every_key_and_its_default() -> None:
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `([a-z_]+)` \| (.+?) \|", page, re.MULTILINE))

    for name in set(LocalRAGSettings.model_fields) - set(RecallSettings.model_fields) - {"db_path"}:
        default = LocalRAGSettings.model_fields[name].get_default(call_default_factory=True)
        told = table[name].strip("`")
        assert told == (default if isinstance(default, str) and default else json.dumps(default)) or (
            told == "0" and default == 0.0
        ), name
