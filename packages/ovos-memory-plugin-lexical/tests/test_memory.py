"""What people say and ask, end to end."""

from __future__ import annotations

import math
import os
import random
import threading
import unicodedata

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.core.errors import ConfigError
from ovos_memory.lexical import LexicalMemory


def tell(memory: LexicalMemory, question: str, answer: str = "ok", session: str = "s") -> None:
    memory.update_history(
        [AgentMessage(MessageRole.USER, question), AgentMessage(MessageRole.ASSISTANT, answer)], session
    )


def in_memory(**config: object) -> LexicalMemory:
    return LexicalMemory({"db_path": ":memory:", "language": "en", **config})


def asked(memory: LexicalMemory, query: str, session: str | None = None, top_k: int = 5) -> list[str]:
    return [hit.content.split("\nA: ")[0].removeprefix("Q: ") for hit in memory.search(query, session, top_k)]


def failures(memory: LexicalMemory) -> object:
    return memory.health()["operations"]


# ---------------------------------------------------------------------- any text is only text
@pytest.mark.parametrize("query", ["POL-358", "pol-358?", "pol 358", "gpt-4o POL-358 100-200MB"])
def test_a_code_is_found_however_it_is_written(query):
    memory = in_memory()
    tell(memory, "the parcel code is POL-358", "noted")
    tell(memory, "TODO: water the ficus at 9:30")

    assert asked(memory, query)[0] == "the parcel code is POL-358"


@pytest.mark.parametrize("query", ["TODO: ficus", "9:30", "content:ficus", "terms:ficus"])
def test_a_colon_names_no_column(query):
    memory = in_memory()
    tell(memory, "the parcel code is POL-358", "noted")
    tell(memory, "TODO: water the ficus at 9:30")

    assert asked(memory, query)[0] == "TODO: water the ficus at 9:30"
    assert failures(memory) == {}


@pytest.mark.parametrize(
    "query",
    [
        "(harbour",
        "harbour)",
        "NEAR(harbour old)",
        "harbour AND",
        "NOT harbour",
        '"harbour',
        "^harbour",
        "harbour*",
    ],
)
def test_operators_are_words_like_others(query):
    memory = in_memory()
    tell(memory, "the memory of the (old) harbour")

    assert asked(memory, query) == ["the memory of the (old) harbour"]


def test_no_query_fails_or_changes_anything():
    memory = in_memory()
    tell(memory, "the memory of the (old) harbour")
    rnd = random.Random(1)
    queries = [
        'say "hi',
        "don't",
        '"',
        '""""',
        "'; DROP TABLE x; --",
        "{}[]",
        "\u200b",
        "?!…",
        "😀",
        "*",
        "\ud83d",
    ]
    queries += ["".join(chr(rnd.randrange(32, 127)) for _ in range(12)) for _ in range(200)]

    for query in queries:
        memory.search(query)

    assert failures(memory) == {}
    assert memory.journal.ledger.count() == 1


# ---------------------------------------------------------------------- function words
@pytest.mark.parametrize(
    ("language", "filler", "needle", "query"),
    [
        (
            "en",
            "what is the capital of country {}",
            "Rex the labrador arrived today",
            "what is my dog called",
        ),
        ("es", "cuál es la capital del país {}", "Rex el labrador llegó hoy", "cómo se llama mi perro"),
        ("de", "was ist die Hauptstadt von Land {}", "Rex der Labrador kam heute an", "wie heißt mein Hund"),
    ],
)
@pytest.mark.parametrize("configured", ["own", "en"])
def test_function_words_find_nothing(language, filler, needle, query, configured):
    memory = in_memory(language=language if configured == "own" else "en")
    for number in range(20):
        tell(memory, filler.format(number))
    tell(memory, needle)

    assert asked(memory, query) == []
    assert asked(memory, "labrador") == [needle]


def test_in_a_language_without_a_list_the_store_tells_what_binds_sentences_together():
    memory = in_memory()
    for number in range(40):
        tell(memory, f"mimi zibu karo wewe sana {number}", "mimi sana")
    tell(memory, "mimi kibanda cha samaki", "sana")

    assert asked(memory, "mimi wewe simba") == []
    assert asked(memory, "mimi sana samaki") == ["mimi kibanda cha samaki"]
    assert len(asked(memory, "mimi")) == 5


# ---------------------------------------------------------------------- scripts and spellings
def test_two_characters_are_enough_among_a_thousand_latin_turns():
    memory = in_memory()
    for number in range(1_000):
        tell(memory, f"turn {number} about the weather")
    told = [
        "昨日東京タワーに行きました",
        "我们的会议改到周三",
        "서울역에서 만나요",
        "ฉันชอบกาแฟเย็น",
        "重跑gen-itgc后",
    ]
    for text in told:
        tell(memory, text)

    for query, text in zip(["東京", "会议", "서울역", "กาแฟ", "itgc"], told, strict=True):
        assert asked(memory, query, top_k=1) == [text]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_marks_and_case_make_no_difference(form):
    memory = in_memory()
    tell(memory, unicodedata.normalize("NFC", "bệnh viện ở đường Nguyễn"))
    tell(memory, unicodedata.normalize("NFD", "café Müller"))
    tell(memory, "hava İSTANBUL üzerinde")

    for query in ("đường Nguyễn", "duong nguyen", "NGUYỄN", "bệnh viện"):
        assert asked(memory, unicodedata.normalize(form, query))[0].startswith(
            unicodedata.normalize("NFC", "bệnh")
        )
    for query in ("café", "cafe müller", "MULLER", "ＣＡＦＥ"):
        assert (
            unicodedata.normalize("NFC", asked(memory, unicodedata.normalize(form, query))[0])
            == "café Müller"
        )
    assert asked(memory, "istanbul") == asked(memory, "ISTANBUL") == ["hava İSTANBUL üzerinde"]


def test_a_hindi_word_is_not_taken_apart():
    memory = in_memory()
    tell(memory, "मुझे हिन्दी बोलना पसंद है")
    tell(memory, "हाथी बड़ा है")
    tell(memory, "नदी का पानी")

    assert asked(memory, "हिन्दी") == ["मुझे हिन्दी बोलना पसंद है"]


def test_half_an_emoji_costs_neither_the_turn_nor_the_search(tmp_path):
    path = str(tmp_path / "m.db")
    memory = LexicalMemory({"db_path": path})
    tell(memory, "lamp \ud83d is red", "ok \udc81")

    for query in ("red lamp", "lamp \ud83d"):
        assert asked(memory, query) == ["lamp \ufffd is red"]
    memory.close()
    assert [m.content for m in LexicalMemory({"db_path": path}).get_history("s")] == [
        "lamp \ufffd is red",
        "ok \ufffd",
    ]


# ---------------------------------------------------------------------- ranking
def test_a_question_about_it_is_answered_by_its_neighbours():
    memory = in_memory()
    for number in range(30):
        tell(memory, f"tell me a story about castle {number}")
    tell(memory, "the red bicycle had a flat tyre", "what a pity")
    tell(memory, "I had it mended in the shop on Elm street", "good")
    for number in range(30):
        tell(memory, f"the shop on Oak street sold song {number}")

    assert asked(memory, "which shop on which street mended the bicycle")[0].startswith("I had it mended")


def test_an_exchange_that_goes_on_about_a_hit_comes_behind_all_hits():
    memory = in_memory()
    tell(memory, "the weather is lovely", "indeed")
    tell(memory, "I bought a Bianchi bicycle", "nice")
    tell(memory, "how much was it?", "you said 900 euros")
    tell(memory, "the oven needs cleaning", "noted")
    tell(memory, "my other bicycle was stolen", "sorry")
    tell(memory, "dinner was delicious", "good")

    hits = [hit.content for hit in memory.search("bicycle")]

    assert sorted(hits[:2]) == [
        "Q: I bought a Bianchi bicycle\nA: nice",
        "Q: my other bicycle was stolen\nA: sorry",
    ]
    assert hits[2:] == ["Q: how much was it?\nA: you said 900 euros"]
    assert len(asked(memory, "bicycle", top_k=2)) == 2
    assert asked(memory, "elephant") == []


def test_a_named_day_prefers_what_was_said_then():
    now = [0.0]
    memory = LexicalMemory({"db_path": ":memory:", "language": "en"}, clock=lambda: now[0])
    for day in range(1, 26):
        now[0] = 1_704_067_200.0 + day * 86_400
        tell(memory, f"we cooked a meal, dish {chr(64 + day)}")

    assert asked(memory, "what did we cook on 10 January 2024", top_k=1) == ["we cooked a meal, dish I"]
    assert asked(memory, "what did we cook yesterday", top_k=1) == ["we cooked a meal, dish X"]


def test_it_tells_how_well_a_moment_fits_a_named_time():
    now = 1_704_067_200.0 + 20 * 86_400
    memory = LexicalMemory({"db_path": ":memory:", "language": "en"}, clock=lambda: now)
    noon = [1_704_067_200.0 + (day - 0.5) * 86_400 for day in (9, 10, 11, 30)]

    before, then, soon_after, later = memory.time_fit("what did we cook on 10 January 2024?", noon)

    assert (before, then, later) == (0, 1, 0)
    assert 0 < soon_after < 1
    assert memory.time_fit("what did we cook?", noon) == [0, 0, 0, 0]
    assert memory.time_fit("yesterday", []) == []


def test_scores_are_positive_finite_and_descending():
    memory = in_memory()
    for number in range(30):
        tell(memory, f"turtle number {number} " + "swims " * (number % 5), session=f"s{number % 3}")

    scores = [hit.score for hit in memory.search("which turtle swims as number 7", top_k=30)]

    assert len(scores) == 30
    assert all(score > 0 and math.isfinite(score) for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_min_score_keeps_the_better_ones():
    memory = in_memory(retrieval={"min_score": 3.0, "max_num_results": 10})
    for number in range(20):
        tell(memory, f"the harbour, visit {number}")
    tell(memory, "the lighthouse in the harbour")

    assert asked(memory, "lighthouse harbour") == ["the lighthouse in the harbour"]


def test_repeats_of_a_session_count_once_and_do_not_crowd_out():
    memory = in_memory()
    tell(memory, "the lamp in the hall is broken")
    for _ in range(400):
        tell(memory, "switch the lamp on")

    assert sorted(asked(memory, "lamp")) == ["switch the lamp on", "the lamp in the hall is broken"]


def test_the_rarest_word_is_searched_however_common():
    memory = in_memory()
    for number in range(50):
        tell(memory, f"caroline said thing {number}")

    assert len(asked(memory, "Caroline", top_k=100)) == 50


# ---------------------------------------------------------------------- sessions
def test_session_scope_finds_its_own_and_nothing_else():
    memory = in_memory(scope="session")
    for number in range(200):
        tell(memory, "tea with lemon " * 5, session=f"user{number}")
    for quiet in ("user%", "user_", "USER1", "user"):
        tell(memory, f"one tea for {quiet}", session=quiet)

    assert asked(memory, "tea", "user%") == ["one tea for user%"]
    assert asked(memory, "tea", "user") == ["one tea for user"]
    assert asked(memory, "tea", "nobody") == []
    assert asked(memory, "tea", None) == []


@pytest.mark.parametrize("small", [0, 2_000])
def test_a_session_is_complete_whichever_way_it_is_searched(monkeypatch, small):
    monkeypatch.setattr("ovos_memory.lexical.search.SMALL_SESSION", small)
    memory = in_memory(scope="session")
    for number in range(150):
        tell(memory, f"turtle {number}", session="own" if number % 10 == 0 else "other")

    assert sorted(asked(memory, "turtle", "own", top_k=50)) == sorted(
        f"turtle {n}" for n in range(0, 150, 10)
    )
    assert len(asked(memory, "turtle", "other", top_k=500)) == 135


# ---------------------------------------------------------------------- files and settings
def test_words_that_only_others_use_do_not_change_what_a_session_finds():
    ours = [
        f"on day {n} I read a geographic magazine by the lake" if n == 20 else f"day {n} was calm"
        for n in range(40)
    ]
    alone, crowded = in_memory(scope="session"), in_memory(scope="session")
    for memory in (alone, crowded):
        for text in ours:
            tell(memory, text, session="mine")
    for n in range(100):
        tell(crowded, f"geography lesson {n} is by the river", session="others")
    tell(crowded, "day 41 was calm", session="mine")
    tell(alone, "day 41 was calm", session="mine")

    for query in ("the geography?", "geography by a river", "calm days"):
        assert asked(crowded, query, "mine") == asked(alone, query, "mine") != []
    assert asked(crowded, "the geography?", "mine") == [ours[20]]


def test_what_cannot_be_written_is_recalled_all_the_same(tmp_path):
    (tmp_path / "file").write_text("in the way")
    memory = LexicalMemory({"db_path": str(tmp_path / "file" / "m.db")})

    tell(memory, "the harbour is closed", session="a")
    tell(memory, "the turtle sleeps", session="b")

    assert asked(memory, "harbour") == ["the harbour is closed"]
    assert [m.content for m in memory.get_history("a")] == ["the harbour is closed", "ok"]


def test_two_memories_of_one_file_see_each_other(tmp_path):
    one, other = (LexicalMemory({"db_path": str(tmp_path / "m.db")}) for _ in range(2))
    tell(one, "the harbour is closed")

    assert asked(other, "harbour") == ["the harbour is closed"]


def test_threads_search_and_tell_at_once(tmp_path):
    memory = LexicalMemory({"db_path": str(tmp_path / "m.db")})

    def work(worker: int) -> None:
        for number in range(40):
            tell(memory, f"worker{worker} told number{number}", session=f"s{worker}")
            assert asked(memory, f"worker{worker} number{number}", top_k=1) == [
                f"worker{worker} told number{number}"
            ]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures(memory) == {}
    assert memory.journal.ledger.count() == 240


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("table", "a b"),
        ("table", "x; DROP TABLE y"),
        ("table", "1st"),
        ("table", ""),
        ("table", "sqlite_x"),
        ("table", 3),
        ("language", "the moon"),
        ("language", ""),
        ("db_path", ""),
        ("db_path", 7),
        ("scope", "world"),
    ],
)
def test_a_wrong_setting_names_its_key(key, value):
    with pytest.raises(ConfigError, match=rf"ovos-memory-plugin-lexical: {key} must"):
        LexicalMemory({"db_path": ":memory:", key: value})


def test_the_language_is_that_of_ovos_unless_it_is_set(monkeypatch):
    monkeypatch.setattr("ovos_memory.lexical.handle.configured_language", lambda: "de")

    assert LexicalMemory({"db_path": ":memory:"})._handle.analyzer.language == "de"
    assert LexicalMemory({"db_path": ":memory:", "language": "pt-BR"})._handle.analyzer.language == "pt"


def test_relative_paths_belong_to_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    memory = LexicalMemory()
    tell(memory, "the harbour is closed")

    assert (tmp_path / "ovos" / "lexical_memory.db").exists()
    assert oct(os.stat(tmp_path / "ovos" / "lexical_memory.db").st_mode & 0o777) == "0o600"
