from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovos_memory.lexical import english
from ovos_memory.lexical.analysis import Analyzer
from ovos_memory.lexical.endings import light_stemmer
from ovos_memory.lexical.folding import fold
from ovos_memory.lexical.function_words import function_words, spoken_languages
from ovos_memory.lexical.languages import language_code
from ovos_memory.lexical.tokens import MAX_WORD_CHARS, tokens
from ovos_memory.lexical.word_lists import SPACED

ENGLISH = Analyzer("en")


def asked(query: str, language: str = "en") -> list[str]:
    return [word.term for word in Analyzer(language).query(query)]


@given(st.text())
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_both_unicode_forms_fold_to_the_same(text):
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text))


@given(st.text())
def test_no_text_is_too_strange_to_be_analysed(text):
    terms = ENGLISH.terms(text)

    assert all(term and not any(c.isspace() for c in term) for term in terms)
    assert all(len(term) <= MAX_WORD_CHARS for term in terms)
    ENGLISH.query(text)


@given(
    st.lists(st.sampled_from(["turtle", "POL-358", "東京", "café", "9:30", "हिन्दी", "e-mail"]), min_size=1)
)
def test_what_a_query_asks_for_stands_in_a_text_of_the_same_words(words):
    text = " ".join(words)

    assert set(asked(text)) <= set(ENGLISH.terms(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("İSTANBUL", "istanbul"),
        ("ıstanbul", "ISTANBUL"),
        ("ＡＢＣ", "abc"),
        ("أحمد", "احمد"),
        ("ا\u0654حمد", "احمد"),
        ("Straße", "STRASSE"),
        ("Ёжик", "ежик"),
        ("đường", "duong"),
        ("søster", "soster"),
        ("Αθήνα", "ΑΘΗΝΑ"),
        ("ὁδός", "ΟΔΟΣ"),
        ("شَمْس", "شمس"),
        ("کتاب", "كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("٣٤", "34"),
        ("co\u00adoperate", "cooperate"),
        ("ǅ", "dž"),
    ],
)
def test_spellings_that_readers_take_for_the_same_word_are_the_same(one, other):
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"), [("हिन्दी", "हनद"), ("йод", "иод"), ("їжа", "іжа"), ("が", "か"), ("கா", "க")]
)
def test_marks_that_make_another_word_stay(one, other):
    assert fold(one) != fold(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pol-358", {"pol", "358", "pol358"}),
        ("gpt-4o", {"gpt", "4o", "gpt4o"}),
        ("e-mail", {"e", "mail", "email"}),
        ("9:30", {"9", "30", "9:30"}),
        ("100-200mb", {"100", "200mb", "200", "mb", "100-200mb"}),
        ("joe.b@example.com", {"joe", "b", "example", "com", "joebexamplecom"}),
        ("caroline's", {"caroline"}),
        ("l'aigua", {"aigua"}),
        ("м'ята", {"мята"}),
        ("great.thanks", {"great", "thanks"}),
        ("重跑gen-itgc后", {"重", "跑", "重跑", "gen", "itgc", "genitgc", "后"}),
        ("東京", {"東", "京", "東京"}),
        ("हिन्दी।", {"हिन्दी"}),
        ("\u200b?!…😀", set()),
    ],
)
def test_compounds_are_cut_whole_and_in_parts(text, found):
    assert {token.text for token in tokens(fold(text))} == found


@pytest.mark.parametrize(
    "words",
    [
        ("go", "goes", "went", "gone", "going"),
        ("child", "children"),
        ("hop", "hopping", "hopped", "hops"),
        ("relate", "relational", "related"),
        ("happy", "happiness"),
        ("buy", "bought", "buying"),
        ("photo", "photograph"),
        ("colour", "color", "colours"),
    ],
)
def test_forms_of_an_english_word_have_one_stem(words):
    assert len({english.stem(word) for word in words}) == 1


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("motoring", "motor"),
        ("sky", "sky"),
        ("as", "as"),
    ],
)
def test_regular_english_words_are_stemmed_as_porter_published_it(word, stem):
    assert english.stem(word) == stem


@pytest.mark.parametrize("language", sorted(SPACED))
def test_a_query_of_function_words_asks_for_nothing(language):
    words = sorted(function_words(language))

    assert asked(" ".join(words), language) == []


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("what is my dog called", ["dog", "call"]),
        ("¿cómo se llama mi perro?", ["perro"]),
        ("Wie heißt mein Hund?", ["hund"]),
        ("我的狗叫什么名字", ["狗"]),
        ("昨日東京に", ["昨日", "日東", "東京", "京に"]),
        ("what is it", []),
        ("cá voi", ["ca", "voi"]),
        ("a", []),
        ("", []),
    ],
)
def test_only_content_words_are_asked_for(query, content):
    assert asked(query) == content


def test_a_language_is_told_by_its_function_words():
    assert spoken_languages(["wie", "heisst", "mein"])[0] == ["de"]
    assert spoken_languages(["turtle"]) == ([], 0)


@pytest.mark.parametrize(
    ("tag", "code"), [("pt-BR", "pt"), ("EN_us", "en"), ("no", "nb"), ("x", None), ("", None), ("de;", None)]
)
def test_language_tags(tag, code):
    assert language_code(tag) == code


def test_words_of_other_scripts_keep_their_own_stemmer():
    assert Analyzer("en").terms("собаками собака") == ["собак", "собак"]
    assert Analyzer("uk").terms("підвалах") == [light_stemmer("uk")("підвалах")]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("question", "is_elliptic"),
    [
        ("and where did I put it?", True),
        ("where is the dog, dogs and dog", True),  # one word in several forms
        ("where is the pol-358 now", False),  # its parts are words of their own
        ("dónde está el perro", True),
        ("où est la clé", True),
        ("where is my blue bicycle", False),
        ("où est la clé du garage", False),
        ("it", False),  # too short to be a question
        ("", False),
    ],
)
def test_a_question_of_one_telling_word_needs_what_was_said_before_it(question, is_elliptic):
    assert ENGLISH.is_elliptic(question) is is_elliptic


OTHERS = {"dog", "dogs", "walking", "pol-358", "3", "it's", "clé", "где", "犬"}
WORDS = sorted(OTHERS.union(*map(str.split, SPACED.values())))


@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=8).map(" ".join))
def test_a_question_needs_what_was_said_before_it_when_its_query_has_one_word_at_most(question):
    spelt = [token for token in tokens(fold(question)) if token.kind == "word"]

    assert ENGLISH.is_elliptic(question) is (len(spelt) >= 3 and len(ENGLISH.query(question)) <= 1)
