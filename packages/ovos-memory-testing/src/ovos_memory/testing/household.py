"""A home with a persona that has every backend there is, and the ``ovos-memory`` command run in it.

Nothing is imported from the backends: they are members of a composite, found by their entry points.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ovos_memory.testing.commands import Ended, run_command
from ovos_memory.testing.messages import pair

COMPOSITE = "ovos-memory-plugin-composite"
_EMBEDDER = "words-of-tests"
_ENTRY_POINTS = f"""[opm.embeddings.text]
{_EMBEDDER} = ovos_memory.testing.fakes.embedder:FakeEmbedder
"""
_DRAIN_S = 60.0
_TIMEOUT_S = 900.0


class Household:
    """Somebody's files, persona and memories.

    An embeddings plugin that needs no model is installed for it: put :attr:`installed` on ``sys.path``.

    Args:
        home: An empty folder.
        store: Vector store of the local-rag member; ``None``: none beside its ledger.
        facts_url: Server of the entity member's model.
        summary_url: Server of the longterm member's model.
        chat_url: Server that the persona talks with; ``None``: a persona without an engine.
    """

    def __init__(
        self,
        home: Path,
        *,
        store: str | None = None,
        facts_url: str,
        summary_url: str,
        chat_url: str | None = None,
    ) -> None:
        self.home = home
        self.data = home / "data"
        self.installed = home / "installed"
        self._install()
        self.block = self._block(store, facts_url, summary_url)
        handlers = [] if chat_url is None else ["ovos-chat-openai-plugin"]
        engine = {"api_url": chat_url, "key": "none", "allow_system_prompts": True}
        persona = {
            "name": "Rosie",
            "handlers": handlers,
            "ovos-chat-openai-plugin": engine,
            "memory_module": COMPOSITE,
            COMPOSITE: self.block,
        }
        self.persona = home / "config" / "ovos_persona" / "rosie.json"
        self.persona.parent.mkdir(parents=True)
        self.persona.write_text(json.dumps(persona), encoding="utf-8")

    def _install(self) -> None:
        folder = self.installed / "words_of_tests-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: words-of-tests\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(_ENTRY_POINTS)

    def _block(self, store: str | None, facts_url: str, summary_url: str) -> dict[str, Any]:
        vectors: dict[str, Any] = {
            "embeddings_plugin": _EMBEDDER,
            "embeddings_db_plugin": store,
            "db_path": self._path("vectors.db"),
            "timeout_s": 60,
        }
        if store is not None:
            vectors["embeddings_db_config"] = {"path": self._path("vectors")}
        short = {"recent_window": 2, "summarize_every": 3}
        members = [
            _member("lately", "recency", max_history=0, db_path=self._path("recency.json")),
            _member("words", "lexical", db_path=self._path("lexical.db")),
            _member("facts", "entity", api_url=facts_url, db_path=self._path("facts.json")),
            _member("gist", "longterm", api_url=summary_url, db_path=self._path("gist.db"), **short),
            _member("now", "short-term"),
            _member("meaning", "local-rag", **vectors),
        ]
        return {"members": members, "member_timeout_s": 60}

    def _path(self, name: str) -> str:
        return str(self.data / name)

    # ------------------------------------------------------------------ the memory
    def open(self) -> Any:
        """Return the composite, in this process."""
        from ovos_plugin_manager.agents import load_memory_plugin

        found: Any = load_memory_plugin(COMPOSITE)
        return found(config=self.block)

    @staticmethod
    def tell(memory: Any, said: Iterable[str], session_id: str, *, answer: str = "noted") -> None:
        """Hold a conversation, and wait until models and workers have dealt with it."""
        for question in said:
            memory.update_history(pair(question, answer), session_id)
        Household.settle(memory)

    @staticmethod
    def settle(memory: Any) -> None:
        """Wait until the members' models have dealt with everything."""
        for member in memory.members:
            if hasattr(member.memory, "workplace"):
                assert member.memory.workplace.worker.drain(_DRAIN_S), member.name

    # ------------------------------------------------------------------ the command
    @property
    def environment(self) -> dict[str, str]:
        """The variables of the command's process."""
        folders = {f"XDG_{name}_HOME": str(self.home / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
        paths = os.pathsep.join(dict.fromkeys([str(self.installed), *(path for path in sys.path if path)]))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OVOS_")}
        return {**clean, **folders, "HOME": str(self.home), "PYTHONPATH": paths, "COLUMNS": "200"}

    def run(self, *arguments: str, stdin: str = "") -> Ended:
        """Run ``ovos-memory`` in a process whose imports are paid for."""
        return run_command(
            "ovos_memory.cli.main:main",
            arguments,
            environment=self.environment,
            stdin=stdin,
            preload=["ovos_memory.testing.all_plugins"],
            timeout_s=_TIMEOUT_S,
        )

    def run_afresh(self, variables: Mapping[str, str], *arguments: str) -> Ended:
        """Run it as a shell does, with more variables."""
        done = subprocess.run(
            [sys.executable, "-m", "ovos_memory.cli.main", *arguments],
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: str) -> Any:
        """Run it with ``--json`` and return what it says.

        Raises:
            AssertionError: It failed.
        """
        done = self.run(*arguments, "--json")
        assert done.code == 0, (done.code, done.out, done.err)
        return json.loads(done.out)

    def files_with(self, text: str) -> list[str]:
        """Return the files of the stores that hold a text's bytes: logs, temporary files and copies are among them."""
        files = [file for file in self.data.rglob("*") if file.is_file()]
        return [str(file) for file in files if text.encode() in file.read_bytes()]


def _member(name: str, module: str, **config: Any) -> dict[str, Any]:
    return {"name": name, "module": f"ovos-memory-plugin-{module}", "config": config}
