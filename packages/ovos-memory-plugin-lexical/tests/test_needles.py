"""The right exchange among forty of its language, asked for in another form of the word.

Each file under ``needles/`` holds forty sentences of a language, ``sentence | question | question``; the sentence of the
line is what the questions mean.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from ovos_memory.lexical import LexicalMemory
from ovos_memory.lexical.folding import fold

FILES = sorted((Path(__file__).parent / "needles").glob("*.txt"))
LANGUAGES = [file.stem for file in FILES]
WANTED = set(
    [
        "en",
        "de",
        "es",
        "fr",
        "it",
        "pt",
        "nl",
        "ca",
        "gl",
        "eu",
        "da",
        "sv",
        "nb",
        "fi",
        "pl",
        "cs",
        "ru",
        "uk",
        "tr",
        "hu",
        "ar",
        "fa",
        "hi",
        "zh",
        "ja",
        "ko",
        "th",
        "vi",
    ]
)
ENOUGH = 0.95


def haystack(language: str) -> list[list[str]]:
    text = (Path(__file__).parent / "needles" / f"{language}.txt").read_text(encoding="utf-8")
    return [line.split(" | ") for line in text.splitlines()]


def remember(language: str, configured: str) -> LexicalMemory:
    memory = LexicalMemory({"db_path": ":memory:", "language": configured})
    for position, (sentence, *_) in enumerate(haystack(language)):
        spelt = unicodedata.normalize("NFD" if position % 2 else "NFC", sentence)
        memory.update_history(
            [AgentMessage(MessageRole.USER, spelt), AgentMessage(MessageRole.ASSISTANT, "OK")], "s"
        )
    return memory


def forms(question: str) -> Iterator[str]:
    yield unicodedata.normalize("NFC", question)
    yield unicodedata.normalize("NFD", question)
    yield question.upper()
    yield fold(question)


def is_among(sentence: str, found: list[str]) -> bool:
    return any(unicodedata.normalize("NFC", text).startswith(f"Q: {sentence}\n") for text in found)


def share_found(memory: LexicalMemory, language: str) -> float:
    asked = [
        is_among(sentence, [hit.content for hit in memory.search(form, top_k=3)])
        for sentence, *questions in haystack(language)
        for question in questions
        for form in forms(question)
    ]
    return sum(asked) / len(asked)


def test_every_language_of_ovos_has_needles():
    assert set(LANGUAGES) >= WANTED


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_haystack_has_forty_exchanges_and_a_dozen_questions(language):
    lines = haystack(language)

    assert len(lines) == 40
    assert sum(len(questions) for _, *questions in lines) >= 12


@pytest.mark.parametrize("language", LANGUAGES)
def test_inflected_and_differently_spelt_words_find_their_exchange(language):
    memory = remember(language, language)

    assert share_found(memory, language) >= ENOUGH


@pytest.mark.parametrize(
    "language", ["zh", "ja", "ko", "th", "vi", "ru", "uk", "es", "fr", "pt", "hi", "ar", "fa"]
)
def test_most_languages_are_found_without_being_configured(language):
    memory = remember(language, "en")

    assert share_found(memory, language) >= 0.9


def test_a_thousand_sentences_of_other_languages_do_not_crowd_out_a_two_character_word():
    memory = LexicalMemory({"db_path": ":memory:"})
    for language in LANGUAGES:
        for sentence, *_ in haystack(language):
            memory.update_history(
                [AgentMessage(MessageRole.USER, sentence), AgentMessage(MessageRole.ASSISTANT, "OK")],
                language,
            )

    for word, sentence in (
        ("台所", "台所を黄色に塗りました"),
        ("钢琴", "我在学弹钢琴"),
        ("냉장고", "냉장고가 밤새 윙윙거려요"),
    ):
        assert is_among(sentence, [hit.content for hit in memory.search(word, top_k=1)])
