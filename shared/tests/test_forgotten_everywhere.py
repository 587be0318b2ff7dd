"""C40: a secret told to a composite of all backends, then forgotten with the command: nothing has it, on disk neither."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.household import Household
from ovos_memory.testing.messages import pair, texts
from ovos_memory.testing.processes import Child, Location

SECRET = "xylophonist"
TOLD = f"I am a {SECRET}"
ALL = {"lately": 2, "words": 1, "facts": 1, "gist": 1, "meaning": 1}
"""What a phrase of the secret's exchange takes away; the memory in RAM has gone with its process."""
CHROMA, QDRANT = "ovos-chromadb-embeddings-plugin", "ovos-qdrant-embeddings-plugin"
STORES = [
    None,
    pytest.param(CHROMA, marks=pytest.mark.models),
    pytest.param(QDRANT, marks=pytest.mark.models),
]
Homes = Callable[[str | None], Household]


def facts(payload: dict[str, Any]) -> str:
    """Answer as a model that finds the secret in what it is shown."""
    return json.dumps([f"Is a {SECRET}"] if TOLD in json.dumps(payload) else [])


def summary(payload: dict[str, Any]) -> str:
    """Answer as a model that repeats the secret whenever it is shown it."""
    told = f"The user is a {SECRET}. " if SECRET in json.dumps(payload) else ""
    return f"{told}The user and the assistant talked about tea, the garden and the weather."


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Homes]:
    """Return a function that makes a home with a vector store of some kind."""
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    with FakeServer([facts]) as first, FakeServer([summary]) as second:

        def make(store: str | None) -> Household:
            home = Household(tmp_path, store=store, facts_url=first.url, summary_url=second.url)
            monkeypatch.syspath_prepend(str(home.installed))
            return home

        yield make


def tell_all(memory: Any) -> None:
    for number in range(4):
        memory.update_history(pair(f"I like tea number {number}", "noted"), "s")
        memory.update_history(pair(f"my garden has {number} trees", "nice"), "other")
    memory.update_history(pair(TOLD, f"a {SECRET}, how nice"), "s")
    Household.tell(memory, [f"the weather is fine on day {number}" for number in range(5)], "s")


def knowing(memory: Any) -> set[str]:
    """Return the members that know the secret."""
    told = {m.name: texts(m.memory.build_conversation_context("who am I", "s")) for m in memory.members}
    for member in memory.members:
        told[member.name] += texts(member.memory.get_history("s")) + json.dumps(list(member.memory.export()))
        if hasattr(member.memory, "search"):
            told[member.name] += str(member.memory.search(f"{SECRET} nice", "s", 50))
    return {name for name, text in told.items() if SECRET in text}


def of_others(memory: Any) -> list[Any]:
    """Return the other session's records that survive a restart."""
    return [record for record in memory.records("other") if not record.id.startswith("now/")]


@pytest.mark.parametrize("by", ["phrase", "session"])
@pytest.mark.parametrize("store", STORES)
def test_a_secret_is_forgotten_by_all_backends(homes: Homes, store: str | None, by: str) -> None:
    home = homes(store)
    memory = home.open()
    tell_all(memory)
    assert knowing(memory) == set(ALL)
    others, whole = of_others(memory), {m.name: len(list(m.memory.records("s"))) for m in memory.members}
    memory.close()
    (home.data / "lexical.db.corrupt-1").write_text(SECRET)
    (home.data / "facts.json.1x.bak").write_text(SECRET)
    assert len(home.files_with(SECRET)) >= 5

    condition = ["--query", TOLD.upper()] if by == "phrase" else ["--session", "s"]
    done = home.json("forget", *condition, "--yes")
    assert done["leftovers"] == done["unproven"] == []
    assert done["counts"] == ({**ALL, "now": 0} if by == "phrase" else {**whole, "now": 0})
    assert home.files_with(SECRET) == []
    for _ in range(2):  # and after a restart
        memory = home.open()
        assert knowing(memory) == set()
        assert of_others(memory) == others
        found = [hit.content for hit in memory.search("tea number 2", "s")]
        assert any("tea number 2" in content for content in found) == (by == "phrase")
        memory.close()
    assert home.files_with(SECRET) == []
    if by == "session":
        assert home.files_with("tea number") == []


@pytest.mark.parametrize("store", STORES[:2])
def test_a_running_persona_forgets_and_learns_with_its_next_turn(homes: Homes, store: str | None) -> None:
    home = homes(store)
    memory = home.open()
    tell_all(memory)
    memory.close()
    persona = Child(Location("ovos_memory.composite", "CompositeMemory", None), home.block)
    shown = texts(persona.build_conversation_context("who am I", "s"))
    assert shown.count(SECRET) >= 4
    persona.update_history(pair("good night", "sleep well"), "s")  # it has opened everything by now

    done = home.run("forget", "--query", TOLD, "--yes", "--json")
    told = json.loads(done.out)
    assert {name: count for name, count in told["counts"].items() if count} == ALL, told
    assert SECRET not in texts(persona.build_conversation_context("who am I", "s"))
    is_held = store is not None  # by the persona, which alone can clean it
    assert (done.code, len(told["leftovers"])) == ((4, 1) if is_held else (0, 0)), told
    assert all("when it is next written to" in sentence for sentence in told["leftovers"])

    home.json("edit", "words/s_1", "--question", "I like juniper number 1")
    shown = texts(persona.build_conversation_context("what do I like, juniper?", "s"))
    assert "juniper" in shown and "tea number 1" not in shown
    assert all(
        "juniper" in r["text"]
        for r in home.json("list", "--session", "s")
        if r["id"] in ("words/s_1", "meaning/s_1")
    )
    persona.update_history(pair("and so on", "sure"), "s")
    assert home.files_with(SECRET) == []
    persona.end()
