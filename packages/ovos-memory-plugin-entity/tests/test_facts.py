from __future__ import annotations

import pytest

from ovos_memory.entity.evidence import find_evidence
from ovos_memory.entity.facts import Fact, FactBook, NewFact, guess_kind
from ovos_memory.entity.sameness import is_repeat
from ovos_memory.entity.slots import slot_of


def learn(book: FactBook, text: str, *, said: str = "", at: float = 0.0, replaces: int | None = None) -> Fact:
    return book.learn(NewFact(text, guess_kind(text), said or text, at, "s", replaces))


def texts(book: FactBook) -> list[str]:
    return [fact.text for fact in book.current]


@pytest.mark.parametrize(
    ("fact", "slot", "value"),
    [
        ("Name is Ann", "name", "ann"),
        ("Name is  Bob.", "name", "bob"),
        ("User's name: Bob", "name", "bob"),
        ("The user is called Bob", "name", "bob"),
        ("My name is José", "name", "jose"),
        ("Nome: Zé", "name", "ze"),
        ("Heißt Jürgen", "name", "jurgen"),
        ("Se llama Lucía", "name", "lucia"),
        ("S'appelle Zoé", "name", "zoe"),
        ("Si chiama Ugo", "name", "ugo"),
        ("Lives in Rome", "home", "rome"),
        ("moved from Rome to Oslo", "home", "oslo"),
        ("The user has moved to Oslo", "home", "oslo"),
        ("Wohnt in Köln", "home", "koln"),
        ("Ist von Köln nach Bonn gezogen", "home", "bonn"),
        ("Mora em Lisboa", "home", "lisboa"),
        ("Mudou-se de Lisboa para o Porto", "home", "o porto"),
        ("Vive en Madrid", "home", "madrid"),
        ("Habite à Lyon", "home", "lyon"),
        ("Works as a nurse", "job", "a nurse"),
        ("Works at Acme", "employer", "acme"),
        ("Is 41 years old", "age", "41"),
        ("Birthday is 3 May", "birthday", "3 may"),
        ("Favourite colour is blue", "favourite colour", "blue"),
        ("Dentist is Dr. Hall", "dentist", "dr. hall"),
        ("Has a dog named Rex", "dog", "rex"),
        ("Dog's name is Rex", "dog", "rex"),
        ("Wifi password: tulip", "password wifi", "tulip"),
    ],
)
def test_a_fact_with_one_current_value_is_recognised(fact: str, slot: str, value: str) -> None:
    found = slot_of(fact)

    assert found is not None and (found.name, found.value) == (slot, value)


@pytest.mark.parametrize(
    "fact",
    [
        "Likes tea",
        "Is vegan",
        "Has a sister",
        "Rex is sick",
        "Allergy: nuts",
        "Daughter is Ann",
        "Hobbies: chess",
        "Goes to the gym",
        "",
    ],
)
def test_a_fact_that_may_have_others_beside_it_is_no_slot(fact: str) -> None:
    assert slot_of(fact) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Name is Ann", "User's name: Bob"),
        ("Lives in Rome", "moved from Rome to Oslo"),
        ("Wohnt in Köln", "Ist nach Bonn gezogen"),
        ("Mora em Lisboa", "Mudou-se para o Porto"),
        ("Vive en Madrid", "Se mudó a Sevilla"),
        ("Works at Acme", "Works for Globex"),
        ("Favourite colour is blue", "Favorite colour: green"),
        ("Has 2 children", "Has three children"),
        ("Likes coffee", "Does not like coffee"),
        ("Has a dog named Rex", "Dog is called Max"),
        ("Is 41 years old", "Is 42 years old"),
    ],
)
def test_a_newer_value_takes_the_place_of_the_old_one(old: str, new: str) -> None:
    book = FactBook()
    first = learn(book, old, at=1)

    second = learn(book, new, at=2)

    assert texts(book) == [new]
    assert [(f.text, f.replaced_at, f.replaced_by) for f in book.all if not f.is_current] == [
        (first.text, 2, second.id)
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Prefers tea", "Prefers coffee", "actually I prefer coffee now"),
        ("Plays the violin", "Plays the cello", "I changed from the violin to the cello"),
        ("Has a cat", "Has a parrot", "I no longer have a cat, I have a parrot"),
    ],
)
def test_a_correction_in_the_users_words_replaces(old: str, new: str, said: str) -> None:
    book = FactBook()
    learn(book, old, at=1)

    learn(book, new, said=said, at=2)

    assert texts(book) == [new]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Likes tea", "Likes coffee"),
        ("Is allergic to nuts", "Is allergic to milk"),
        ("Likes tea", "Is allergic to tea tree oil"),
        ("Works as a nurse", "Works at Acme"),
        ("Has a dog", "Has a cat"),
        ("Has a dog named Rex", "Has a dog named Max"),
        ("Daughter is Ann", "Daughter is Eve"),
        ("Name is Ann", "Sister's name is Eve"),
        ("Meets Tom on Monday at 9", "Meets Ann on Friday at 8"),
        ("喜欢喝茶", "喜欢咖啡"),
    ],
)
def test_facts_that_are_both_true_stand_side_by_side(old: str, new: str) -> None:
    book = FactBook()
    learn(book, old, at=1)

    learn(book, new, at=2)

    assert texts(book) == [old, new]


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("Name is Bob", "Name is  Bob.", "Name is Bob"),
        ("Name is Bob", "User's name: Bob", "Name is Bob"),
        ("Name is Bob", "Name is Bob Smith", "Name is Bob Smith"),
        ("Name is Bob Smith", "My name is Bob", "Name is Bob Smith"),
        ("Likes green tea", "The user loves green tea.", "Likes green tea"),
        ("Has a sister", "Has a sister in Paris", "Has a sister in Paris"),
        ("Mag Käse", "Liebt Käse", "Mag Käse"),
        ("Is vegan", "User is a vegan", "Is vegan"),
        ("Has two dogs", "Has 2 dogs", "Has two dogs"),
    ],
)
def test_near_duplicates_become_one_fact(old: str, new: str, kept: str) -> None:
    book = FactBook()
    learn(book, old, at=1)

    learn(book, new, at=2)

    assert texts(book) == [kept]
    assert (book.current[0].confirmations, book.current[0].confirmed_at) == (1, 2)


def test_a_repeat_of_the_other_sign_is_none() -> None:
    assert not is_repeat("Likes tea", "Does not like tea")


def test_what_was_said_earlier_never_replaces_what_was_said_later() -> None:
    book = FactBook()
    learn(book, "Name is Bob", at=5)

    learn(book, "Name is Ann", at=3)

    assert texts(book) == ["Name is Bob"]
    assert len(book.all) == 2


def test_a_replacement_that_the_model_asks_for_counts_when_it_makes_sense() -> None:
    book = FactBook()
    old = learn(book, "Drinks coffee every morning", at=1)

    learn(book, "Drinks tea", said="I gave up coffee, I drink tea", at=2, replaces=old.id)

    assert texts(book) == ["Drinks tea"]


def test_a_replacement_with_a_wrong_number_is_an_addition() -> None:
    book = FactBook()
    wrong = learn(book, "Is allergic to nuts", at=1)

    learn(book, "Works at Acme", said="I work at Acme", at=2, replaces=wrong.id)

    assert texts(book) == ["Is allergic to nuts", "Works at Acme"]


@pytest.mark.parametrize(
    ("said", "is_gone"),
    [("I'm not vegan any more", True), ("I am vegan", False), ("it is not raining", False)],
)
def test_only_the_users_own_words_take_a_fact_back(said: str, is_gone: bool) -> None:
    book = FactBook()
    fact = learn(book, "Is vegan", at=1)

    assert book.take_back(fact.id, said, 2) is is_gone
    assert texts(book) == ([] if is_gone else ["Is vegan"])


def test_beyond_the_limit_replaced_facts_go_first_and_lasting_kinds_last() -> None:
    book = FactBook()
    for at, text in enumerate(["Name is Ann", "Is diabetic", "Likes tea", "Likes jazz", "Name is Bob"]):
        learn(book, text, at=at)
    learn(book, "Likes tea", at=9)

    book.limit(4)
    assert [f.text for f in book.all] == ["Is diabetic", "Likes tea", "Likes jazz", "Name is Bob"]
    book.limit(3)
    assert texts(book) == ["Is diabetic", "Likes tea", "Name is Bob"]
    book.limit(2)
    assert texts(book) == ["Is diabetic", "Name is Bob"]


def test_important_facts_outlive_sixty_others() -> None:
    book = FactBook()
    for at, text in enumerate(["Name is Bob", "Lives in Oslo", "Is allergic to nuts", "Wife is Ann"]):
        learn(book, text, at=at)
    for number in range(60):
        learn(book, f"Saw movie{number} yesterday", at=10 + number)
        book.limit(50)

    assert texts(book)[:4] == ["Name is Bob", "Lives in Oslo", "Is allergic to nuts", "Wife is Ann"]
    assert len(book.all) == 50


def test_no_limit_keeps_all() -> None:
    book = FactBook()
    for number in range(70):
        learn(book, f"Saw movie{number}", at=number)

    book.limit(0)

    assert len(book.all) == 70


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("Name is Bob", "hi, I'm Bob"),
        ("User's name: Bob", "you can call me Bob"),
        ("Name is Mia", "ich heiße Mia"),
        ("name is mia", "my name is mia"),
        ("Likes tea", "I really love tea"),
        ("Lives in Oslo", "No, I live in Oslo"),
        ("Lives in Oslo", "no i live in oslo"),
        ("Lives in Oslo", "I don't live in Rome any more, I live in Oslo"),
        ("Has 2 children", "we have two kids, I mean children"),
        ("Is not vegan anymore", "I am no longer vegan"),
        ("Is allergic to nuts", "I can't eat nuts, they make me ill"),
        ("Wohnt in Köln", "Ich wohne in Köln."),
        ("Mora em Lisboa", "eu moro em lisboa"),
        ("Birthday is 3 May", "my birthday is May 3rd"),
        ("Is vegan", "can you remember that I'm vegan?"),
        ("Name is Bob", "My name is Bob, what's yours?"),
        ("喜欢喝茶", "我喜欢喝茶"),
        ("Любит чай", "я люблю чай"),
        ("Has a dog named Rex", "Tenho um cão chamado Rex"),
    ],
)
def test_what_the_user_said_is_a_fact(fact: str, said: str) -> None:
    assert find_evidence(fact, said) is not None


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("Name is Bob", "hi, I'm Ann"),
        ("Owns a yacht", "hi, I'm Bob"),
        ("Name is Mari Lopez", "my name is Maria Lopez"),
        ("Has 3 children", "I have two children"),
        ("Lives in Rome", "I don't live in Rome any more, I live in Oslo"),
        ("Is vegan", "I am not vegan any more"),
        ("Likes tea", "I hate tea"),
        ("Hates tea", "I love tea"),
        ("Likes Oslo", "do you like Oslo?"),
        ("Enjoys hiking in mountains on weekends", "I love hiking"),
        ("User", "hello"),
        ("Name is Bob", ""),
        ("喜欢咖啡", "我喜欢喝茶"),
    ],
)
def test_what_the_user_did_not_say_is_no_fact(fact: str, said: str) -> None:
    assert find_evidence(fact, said) is None


def test_evidence_is_the_sentence_that_says_it() -> None:
    found = find_evidence("Name is Bob", "Good morning! I am Bob. What's the weather?")

    assert found is not None and found.words == "I am Bob."


@pytest.mark.parametrize(
    ("text", "given", "kind"),
    [
        ("Name is Bob", "", "name"),
        ("Lives in Oslo", "other", "address"),
        ("Is allergic to nuts", "", "health"),
        ("Wife is Ann", "", "family"),
        ("Wife is Ann", "name", "family"),
        ("Likes tea", "preference", "preference"),
        ("Likes tea", "beverage", "other"),
    ],
)
def test_kinds_come_from_the_model_or_the_words(text: str, given: str, kind: str) -> None:
    assert guess_kind(text, given) == kind


def test_a_stored_fact_reads_back() -> None:
    fact = Fact(1, "a", "other", 1.0, "s", "w", 2, 3.0, 4.0, 5)

    assert Fact.from_dict({**fact.as_dict(), "of a newer version": 1}) == fact
