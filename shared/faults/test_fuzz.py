"""Anything a host may hand over: no exception reaches it, and the last message is the user's utterance."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faultlib.account import Account
from faultlib.kinds import KINDS, RETRIEVERS, make, opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole, ToolCall

from ovos_memory.core.errors import ConfigError
from ovos_memory.core.llm.reply import Reply
from ovos_memory.testing.checks import check_context
from ovos_memory.testing.messages import pair

pytestmark = pytest.mark.faults

PIECES = [
    *(
        "tea",
        "harbour",
        "",
        " ",
        "\x00",
        "\ud83d",
        "\udc81",
        "😀",
        "\u202e",
        "\u2066",
        "\u200b",
        "\ufeff",
        "\ufffe",
    ),
    *(
        "e" + "\u0301" * 300,
        "昨日東京",
        "ฉันชอบกาแฟ",
        "हिन्दी",
        "İı",
        "ﷺ",
        "\r\n",
        "\u2028",
        "\x1b[2J",
        "{",
        "}",
        "{}",
        "{0}",
    ),
    *(
        '"',
        "'",
        '""""',
        "*",
        "NEAR(",
        ")",
        "AND",
        "OR NOT",
        "^",
        "content:",
        "-",
        "a" * 3_000,
        "%s",
        "\\",
        "1e999",
        "$HOME",
    ),
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=6).map("".join)
TEXT = TEXT | st.text(st.characters(), max_size=30) | st.integers(0, 0x10FFFF).map(chr)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.integers(), inner, max_size=3),
    max_leaves=6,
)
SESSION = st.none() | TEXT
CALLS = st.lists(
    st.builds(ToolCall, id=TEXT, name=TEXT, arguments=st.dictionaries(TEXT, VALUE, max_size=2)), max_size=2
)
CONTENT = TEXT | st.none() | VALUE
MESSAGE = st.builds(
    AgentMessage,
    role=st.sampled_from(list(MessageRole)),
    content=CONTENT,
    tool_calls=st.none() | CALLS,
    tool_call_id=st.none() | TEXT,
    name=st.none() | TEXT,
)
ODD = VALUE | st.builds(SimpleNamespace, role=TEXT, content=CONTENT)
MESSAGES = st.none() | st.lists(MESSAGE | MESSAGE | MESSAGE | ODD, max_size=5)
FUZZ = settings(max_examples=30, suppress_health_check=list(HealthCheck), database=None, deadline=None)
HUGE = ("the tea \u0301\ud83d x y " * 125_000)[:2_000_000]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_message_no_session_and_no_utterance_reaches_the_caller_as_an_exception(
    kind: str, account: Account, tmp_path: Path
) -> None:
    with opened(kind, tmp_path) as memory:

        @FUZZ
        @given(messages=MESSAGES, session=SESSION, utterance=st.none() | TEXT)
        def attack(messages: Any, session: Any, utterance: Any) -> None:
            with account.bad_input("messages, sessions, utterances"):
                memory.update_history(messages, session)
                check_context(memory.build_conversation_context(utterance, session), utterance)
                memory.get_history(session)
                memory.health()
                if KINDS[kind].retrieves:
                    assert isinstance(memory.search(utterance, session), list)

        attack()
        memory.update_history(pair("question 1", "answer"), "after all that")
        assert any("question 1" in r.text for r in memory.records(session_id="after all that"))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_two_megabytes_are_taken(kind: str, account: Account, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as memory, account.bad_input("two megabytes"):
        memory.update_history(pair(HUGE, HUGE), "s")
        for utterance in ("tea", HUGE):
            check_context(memory.build_conversation_context(utterance, "s"), utterance)
        assert sum(len(m.content) for m in memory.build_conversation_context("tea", "s")) < 100_000


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_no_query_and_no_stored_text_reaches_the_caller_as_an_exception(
    kind: str, account: Account, tmp_path: Path
) -> None:
    with opened(kind, tmp_path) as memory:
        for number in range(5):
            memory.update_history(pair(f"the old harbour {number}", "lovely"), "s")

        @FUZZ
        @given(query=CONTENT, session=SESSION, top_k=st.none() | st.integers(-3, 10**12), metadata=VALUE)
        def attack(query: Any, session: Any, top_k: Any, metadata: Any) -> None:
            with account.bad_input("queries and stored texts"):
                found = memory.search(query, session, top_k)
                assert all(math.isfinite(hit.score) for hit in found)
                if hasattr(memory, "store"):
                    assert isinstance(memory.store(query, session, metadata=metadata), str)

        attack()
        assert any("harbour" in hit.content for hit in memory.search("harbour", "s"))


@pytest.mark.parametrize("kind", RETRIEVERS)
@pytest.mark.parametrize("mode", ["system", "developer", "system_prompt", "user", "tool"])
def test_no_template_reaches_the_caller_as_an_exception(
    kind: str, mode: str, account: Account, tmp_path: Path
) -> None:
    serial = iter(range(10**6))

    @settings(FUZZ, max_examples=8)
    @given(template=TEXT, other=TEXT, header=TEXT, prefix=TEXT)
    def attack(template: str, other: str, header: str, prefix: str) -> None:
        changes = {"inject_mode": mode, "user_template": template, "system_prompt_template": other}
        changes |= {
            "system_prompt": header,
            "context": {"header": header, "chunk_prefix": prefix, "max_chars": 500},
        }
        with account.bad_input("templates"), opened(kind, tmp_path / str(next(serial)), changes) as memory:
            memory.update_history(pair("the old harbour", "lovely"), "s")
            context = memory.build_conversation_context("harbour", "t")
            assert context[-1].role is MessageRole.USER and context[-1].content.endswith("harbour")

    attack()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_settings_work_or_name_their_key(kind: str, account: Account, tmp_path: Path) -> None:
    """A wrong setting is a ConfigError that names the key; everything else works."""
    from ovos_memory.testing.settings import key_paths

    model = type(make(kind, tmp_path / "probe")).settings_model()
    keys = sorted({key for key, _ in key_paths(model())} - {"db_path", "members"})
    serial = iter(range(10**6))

    @settings(FUZZ, max_examples=60)
    @given(key=st.sampled_from(keys), value=VALUE)
    def attack(key: str, value: Any) -> None:
        changes: dict[str, Any] = {}
        *parents, leaf = key.split(".")
        inner = changes
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[leaf] = value
        with account.bad_input("settings"):
            try:
                memory = make(kind, tmp_path / str(next(serial)), changes)
            except ConfigError as error:
                assert leaf in str(error), f"{error} does not name {key}"
                return
            memory.update_history(pair("the old harbour", "lovely"), "s")
            assert memory.build_conversation_context("harbour", "s")[-1].content.endswith("harbour")
            getattr(memory, "close", lambda: None)()

    attack()


@pytest.mark.parametrize(
    "value", [None, [], "x", 3, [["a", 1]], {1: 2}, {"members": 3}, {"members": [None, 3, {}]}]
)
@pytest.mark.parametrize(
    "factory",
    # The stand-in for a vector store reads the configuration itself.
    sorted(
        {kind.factory for name, kind in KINDS.items() if name != "local-rag-store"},
        key=lambda each: each.__name__,
    ),
)
def test_a_configuration_of_another_shape_is_a_config_error_or_works(
    factory: Callable[..., Any], value: Any, account: Account
) -> None:
    with account.bad_input("settings"):
        try:
            factory(value)
        except ConfigError as error:
            assert "ovos-memory-plugin-" in str(error)


class Babbling:
    """A model that answers what it is told to."""

    def __init__(self) -> None:
        self.reply: Any = Reply("")

    def ask(self, prompt: str, **options: Any) -> Any:
        return self.reply

    def ready_in_s(self) -> float:
        return 0.0

    def health(self) -> dict[str, Any]:
        return {}


REPLY = TEXT | st.lists(
    st.sampled_from(
        [
            *'[]{}",:',
            "```json\n",
            "<think>",
            "</think>",
            '"add"',
            '["a"]',
            '{"fact": "I like tea"}',
            "null",
            "\\ud83d",
        ]
    )
    | TEXT,
    max_size=12,
).map("".join)


@pytest.mark.parametrize("kind", ["entity-json", "longterm-json"])
def test_no_reply_of_a_model_reaches_the_caller_as_an_exception(
    kind: str, account: Account, tmp_path: Path
) -> None:
    model = Babbling()
    memory = make(kind, tmp_path, {"max_wait_s": 0.3, "request_timeout": 1}, chat=model)

    @settings(FUZZ, max_examples=60)
    @given(reply=REPLY, is_cut=st.booleans())
    def attack(reply: str, is_cut: bool) -> None:
        with account.bad_input("replies of a language model"):
            model.reply = Reply.read(reply, is_cut=is_cut)
            memory.update_history(pair("I like tea", "noted"), "s")
            context = memory.build_conversation_context("hello", "s")
            check_context(context, "hello")

    attack()
    model.reply = Reply("[]")
    memory.close()
