"""Rules of discretion: what people said, and who they are, is in the store and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ovos_memory.testing.messages import assistant, call, pair, tool, user
from ovos_memory.testing.suite import MemorySuite, needs

SECRET = "xylophonist"
SESSION = "Rosie::ann@example.org"


class PrivacySuite(MemorySuite):
    """Logs hold ids, lengths and counts; session ids as a hash."""

    def test_nothing_that_was_said_is_logged(self, capfd: pytest.CaptureFixture[str]) -> None:
        """At any level, in any of the methods; nor who said it."""
        memory = self.new()
        self._talk(memory)

        self._is_discreet(capfd)

    @needs("persistent")
    def test_trouble_does_not_make_it_talk(self, capfd: pytest.CaptureFixture[str]) -> None:
        """Texts of foreign exceptions quote what they choke on."""
        self.folder.mkdir(mode=0o700)
        (self.folder / "blocked").write_text("not a folder")
        memory = self.new(folder=self.folder / "blocked")
        self._talk(memory)

        self._is_discreet(capfd)

    def test_broken_input_does_not_make_it_talk(self, capfd: pytest.CaptureFixture[str]) -> None:
        """What cannot be understood is not quoted either."""
        memory = self.new()
        odd: list[Any] = [
            [{"role": "user", "content": SECRET}],
            [SECRET],
            [user({"text": SECRET}), assistant([SECRET, {"type": "text", "text": None}])],
            [user(SECRET), assistant(None, call("c1", word=SECRET)), tool(SECRET, "c2")],
        ]
        for messages in odd:
            memory.update_history(messages, SESSION)
        self._talk(memory)

        self._is_discreet(capfd)

    @needs("persistent")
    def test_what_was_said_is_in_the_store_only(self) -> None:
        """No copy below the home, in the working directory or in a folder for temporary files."""
        memory = self.new()
        self._talk(memory)
        memory.close()

        assert not _files_with(self.home.path, SECRET) and not _files_with(self.home.working, SECRET)

    def _talk(self, memory: Any) -> None:
        memory.update_history(pair(f"I am a {SECRET} \ud83d", f"a {SECRET}, how nice"), SESSION)
        memory.update_history([user(f"what does a {SECRET} do")], SESSION)
        memory.build_conversation_context(f"when does the {SECRET} play", SESSION)
        memory.get_history(SESSION)
        if self.retrieves:
            memory.search(f'{SECRET}" OR *', SESSION)
        if self.stores_texts:
            memory.store(f"the {SECRET} is in", SESSION)
        getattr(memory, "health", lambda: None)()
        getattr(memory, "close", lambda: None)()

    def _is_discreet(self, capfd: pytest.CaptureFixture[str]) -> None:
        printed = capfd.readouterr()
        everything = "\n".join((self.logs.text(), printed.out, printed.err))
        told = [line for line in everything.splitlines() if SECRET in line.lower() or SESSION in line]
        assert not told, told


def _files_with(folder: Path, text: str) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]
