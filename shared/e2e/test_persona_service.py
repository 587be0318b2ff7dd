"""Our memories in the persona service of a running assistant: spoken to over the bus, restarted, stopped."""

from __future__ import annotations

import threading

import pytest
from home import Home
from ovos_persona import Persona

FACT = "my parcel is in locker POL-358"
QUESTION = "which locker is my parcel in"
RECORDS_WHOLE_EXCHANGES = hasattr(Persona, "remember")
"""Older personas record every utterance and every spoken sentence, each as it comes."""


def memories(home: Home, models) -> dict[str, tuple[str | None, dict]]:
    """Return a persona's name, its memory plugin and its settings, for each way to remember."""

    def path(name):
        return str(home.folder / "memories" / name)

    nobody = {"api_url": "http://127.0.0.1:9/v1", "request_timeout": 1}
    rag = {
        "embeddings_plugin": "ovos-gguf-embeddings-plugin",
        "embeddings_config": {"model": str(models / "all-minilm-l6-v2-q8_0.gguf")},
        "embeddings_db_plugin": "ovos-chromadb-embeddings-plugin",
        "embeddings_db_config": {"path": path("vectors")},
    }
    members = [
        {"module": "ovos-memory-plugin-recency", "config": {"db_path": path("composite-recency.json")}},
        {"module": "ovos-memory-plugin-lexical", "config": {"db_path": path("composite-lexical.db")}},
    ]
    return {
        "Default": (None, {}),
        "Shortly": ("ovos-memory-plugin-short-term", {}),
        "Recently": ("ovos-memory-plugin-recency", {"db_path": path("recency.json")}),
        "Lexi": ("ovos-memory-plugin-lexical", {"db_path": path("lexical.db")}),
        "Vector": ("ovos-memory-plugin-local-rag", rag),
        "Entity": ("ovos-memory-plugin-entity", {"db_path": path("facts.json"), **nobody}),
        "Summary": ("ovos-memory-plugin-longterm", {"db_path": path("summaries.db"), **nobody}),
        "Composer": ("ovos-memory-plugin-composite", {"members": members}),
        "Apart": ("ovos-memory-plugin-lexical", {"db_path": path("apart.db"), "scope": "session"}),
    }


NAMES = ("Default", "Shortly", "Recently", "Lexi", "Vector", "Entity", "Summary", "Composer")
LASTING = NAMES[2:]


@pytest.fixture(scope="module")
def box(kind, home, models):
    for name, (plugin, settings) in memories(home, models).items():
        home.add_persona(name, plugin, **settings)
    home.configure(default_persona="Default")
    box = kind(home)
    box.start()
    yield box
    box.stop()


@pytest.fixture(scope="module")
def told(box):
    """The box after every persona was told the fact, in a session per persona."""
    for name in NAMES:
        box.say(f"talk to {name}", f"with-{name}")
        box.say(FACT, f"with-{name}")
    return box


@pytest.fixture(scope="module")
def restarted(told):
    """The box after a restart."""
    for name in NAMES:
        told.say(QUESTION, f"with-{name}")
    told.restart()
    return told


@pytest.mark.parametrize("name", NAMES)
def test_what_was_said_reaches_the_engine_in_the_next_turn(told, home, name):
    spoken = told.say("and now a word about the weather", f"with-{name}")

    assert spoken == ["You said and now a word about the weather.", "I will remember."]
    assert FACT in home.heard_last(name, "and now a word about the weather")


@pytest.mark.parametrize("name", LASTING)
def test_memory_survives_a_restart(restarted, home, name):
    restarted.say(f"talk to {name}", f"with-{name}")

    restarted.say(QUESTION + " again", f"with-{name}")

    assert FACT in home.heard_last(name, QUESTION + " again")


@pytest.mark.parametrize("name", NAMES[:2])
def test_short_term_memory_ends_with_the_process(restarted, home, name):
    restarted.say(f"talk to {name}", f"with-{name}")

    restarted.say(QUESTION + " again", f"with-{name}")

    assert FACT not in home.heard_last(name, QUESTION + " again")


def test_an_answer_of_several_sentences_is_one_document(told, home):
    told.say("talk to Apart", "streamed")
    told.say("the spare key hangs behind the shed", "streamed")

    told.say("where is the spare key", "streamed")

    roles_and_texts = home.heard("Apart")[-1]
    between = " " if RECORDS_WHOLE_EXCHANGES else "\n"
    answer = f"You said the spare key hangs behind the shed.{between}I will remember."
    assert ["assistant", answer] in roles_and_texts


def test_sessions_stay_apart(told, home):
    told.say("talk to Apart", "mother")
    told.say("talk to Apart", "father")
    told.say("the present for Tom is a red bicycle", "mother")

    told.say("which present does Tom get", "father")

    assert "bicycle" not in home.heard_last("Apart", "which present does Tom get")


def test_two_sessions_in_parallel_lose_and_mix_nothing(told, home):
    sessions = ("upstairs", "downstairs")
    for session in sessions:
        told.say("talk to Apart", session)

    def talk(session):
        for number in range(8):
            told.say(f"{session} item {number}", session)

    threads = [threading.Thread(target=talk, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    for session, other in zip(sessions, reversed(sessions), strict=True):
        told.say(f"list the items {session}", session)
        before = home.heard_last("Apart", f"list the items {session}")
        assert all(f"You said {session} item {number}." in before for number in range(3, 8))
        assert f"{other} item" not in before


def test_personas_are_switched_by_voice_and_each_keeps_its_own(told, home):
    told.say("talk to Recently", "switching")
    told.say("the boiler man is called Achterberg", "switching")

    told.say("talk to Shortly", "switching")
    told.say("who fixed it", "switching")
    told.say("talk to Recently", "switching")
    told.say("who fixed the boiler", "switching")

    assert "Achterberg" not in home.heard_last("Shortly", "who fixed it")
    assert "Achterberg" in home.heard_last("Recently", "who fixed the boiler")


@pytest.mark.skipif(
    not RECORDS_WHOLE_EXCHANGES, reason="this persona records each sentence before it is stopped"
)
@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_is_stopped_leaves_nothing_behind(told, home, name):
    session = f"stopping-{name}"
    told.say(f"talk to {name}", session)
    told.say("the hedge trimmer is at the neighbours", session)

    told.utter("count the apples", session)
    told.wait_spoken("One.", session)
    told.say("stop", session)
    home.go_on(name)
    told.wait_handled(session)
    told.say("thank you", session)

    assert "Two." not in told.spoken[session]
    before = home.heard_last(name, "thank you")
    assert "hedge trimmer" in before
    assert "apples" not in before
    assert "One." not in before
