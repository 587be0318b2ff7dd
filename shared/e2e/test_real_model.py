"""A real model answers, and what was recalled reaches it: over a server, and in process.

A model of this size answers too poorly for its words to be judged: what is tested is what it is given.
"""

from __future__ import annotations

import pytest
from ovos_bus_client.session import Session
from ovos_persona import Persona
from recording_proxy import recording

FACT = "my parcel is in locker POL-358"
QUESTION = "which locker is my parcel in"
RULE = "Answer in one short sentence."
LEXICAL = "ovos-memory-plugin-lexical"
OPENAI = "ovos-chat-openai-plugin"
GGUF = "ovos-chat-gguf-plugin"
MODES = ("system", "system_prompt", "developer", "user", "tool")
ROLES = {
    "system": "system",
    "system_prompt": "system",
    "developer": "developer",
    "user": "user",
    "tool": "tool",
}
"""The role in which each mode hands over what was recalled."""
PASSES_WITHOUT_SYSTEM = {"developer", "user", "tool"}
"""What an engine still passes on where `allow_system_prompts` is not set."""
SERVER_REFUSES = {"developer", "tool"}
"""What llama-cpp-python's server answers with an error: it knows no developer, and its templates no empty content."""


def make_persona(mode, engine, settings, tmp_path):
    """Return a persona who was told the fact in another session, so that only recall can know it."""
    config = {
        "name": "Ada",
        "handlers": [engine],
        engine: settings,
        "memory_module": LEXICAL,
        LEXICAL: {"db_path": str(tmp_path / "m.db"), "inject_mode": mode, "system_prompt": RULE},
    }
    persona = Persona("Ada", config)
    persona.remember(FACT, "Locker POL-358, noted.", Session("yesterday"))
    return persona


def ask(persona):
    session = Session("today")
    return persona.chat(persona.get_messages(QUESTION, session), session)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_recalled_reaches_the_model_over_a_server(mode, api_url, tmp_path):
    with recording(api_url) as proxy:
        settings = {"api_url": proxy.url, "allow_system_prompts": True, "max_tokens": 4}
        answer = ask(make_persona(mode, OPENAI, settings, tmp_path))

        got = proxy.last_messages()
        assert [message["role"] for message in got if "POL-358" in (message["content"] or "")] == [
            ROLES[mode]
        ]
        assert bool(answer) == (proxy.statuses[-1] == 200) == (mode not in SERVER_REFUSES)


@pytest.mark.parametrize("mode", MODES)
def test_an_engine_that_drops_system_messages_keeps_the_other_modes(mode, api_url, tmp_path):
    with recording(api_url) as proxy:
        ask(make_persona(mode, OPENAI, {"api_url": proxy.url, "max_tokens": 4}, tmp_path))

        got = [message["role"] for message in proxy.last_messages()]
        assert "system" not in got
        reached = any("POL-358" in (message["content"] or "") for message in proxy.last_messages())
        assert reached == (mode in PASSES_WITHOUT_SYSTEM)


@pytest.fixture(scope="module")
def read_by_the_model():
    """What the models in this process read, as text."""
    import llama_cpp

    read, tokenize = [], llama_cpp.Llama.tokenize

    def spy(self, text, *arguments, **more):
        read.append(bytes(text).decode())
        return tokenize(self, text, *arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llama_cpp.Llama, "tokenize", spy)
        yield read


@pytest.mark.parametrize("allowed", [True, False], ids=["system-allowed", "system-dropped"])
@pytest.mark.parametrize("mode", MODES)
def test_what_is_recalled_reaches_the_model_in_process(mode, allowed, models, read_by_the_model, tmp_path):
    model = str(models / "smollm2-135m-instruct.gguf")
    settings = {"model": model, "verbose": False, "max_tokens": 2, "allow_system_prompts": allowed}
    persona = make_persona(mode, GGUF, settings, tmp_path)
    read_by_the_model.clear()

    answer = ask(persona)

    read = "\n".join(read_by_the_model)
    assert answer
    assert QUESTION in read
    assert ("POL-358" in read) == (allowed or mode in PASSES_WITHOUT_SYSTEM)
