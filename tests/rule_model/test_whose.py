"""What is told of one is not told of another: neither of whoever listens, nor of those around whoever speaks."""

import pytest

from langgraph_engram.rules.reading import read

UNKNOWN = ""


def answered(reading):
    """Give the answer that is told of a reading, without its citations."""
    return reading.answer.split(" [")[0] if reading.about else UNKNOWN


@pytest.mark.parametrize(
    ("query", "people", "lines", "told"),
    [
        ("What is Ben allergic to?", ["Ben"], ["Ana: I'm allergic to cats.", "Ben: Oh, I like cats."], UNKNOWN),
        ("What is Ana allergic to?", ["Ana"], ["Ana: I'm allergic to cats.", "Ben: Oh, I like cats."], "Cats"),
        ("When did Ben pass his test?", ["Ben"], ["Ana: I passed my test in May.", "Ben: Well done!"], UNKNOWN),
        ("When did Ana pass her test?", ["Ana"], ["Ana: I passed my test in May.", "Ben: Well done!"], "May 2023"),
        ("When did Ben pass his test?", ["Ben"], ["Ana: I passed my test in May.", "Ben: Me too!"], "8 May 2023"),
        (
            "When did Ann go to Paris?",
            ["Ann"],
            ["Ann: I go to Lisbon in June.", "Ken: I went to Paris in May."],
            UNKNOWN,
        ),
        ("Is Ana vegetarian?", ["Ana"], ["Ana: My wife is vegetarian."], UNKNOWN),
        ("Is Ana's wife vegetarian?", ["Ana"], ["Ana: My wife is vegetarian."], "Yes"),
        ("Does Ana work at a bank?", ["Ana"], ["Ana: My job is great, I work at a bank."], "Yes"),
        ("Does Ana speak French?", ["Ana"], ["Ana: My mother is French, so I speak French."], "Yes"),
        ("How old is Ana?", ["Ana"], ["Ana: My birthday is today, I'm 40 years old."], "40"),
        ("Am I vegetarian?", [], ["user: My wife is vegetarian."], UNKNOWN),
        ("Did Ana break her leg?", ["Ana"], ["Ana: Biscuit broke his leg."], UNKNOWN),
        ("Did Biscuit break his leg?", [], ["Ana: Biscuit broke his leg."], "Yes"),
        ("How old is Jon?", ["Jon"], ["Jon: Meet Biscuit, he's three years old."], UNKNOWN),
        ("How old is Pia?", ["Pia"], ["Jon: Meet Biscuit, he's three years old.", "Pia: I like cats."], UNKNOWN),
        ("How old is Biscuit?", [], ["Jon: Meet Biscuit, he's three years old."], "Three"),
        ("How old is Jon?", ["Jon"], ["Pia: How old are you, Jon?", "Jon: I'm 32."], "32"),
    ],
)
def test_an_answer_is_of_whom_it_is_asked_for(query, people, lines, told, heard, intent):
    """Where nothing is known of them, nothing is told."""
    reading = read(query, intent(query, speakers=people), heard(*lines))

    assert answered(reading) == told


@pytest.mark.parametrize(
    ("query", "sentence", "told"),
    [
        ("Who went to Paris?", "I went to Paris with my sister.", "Ana"),
        ("Who will bake the cake?", "I'll bake the cake, lemon with raspberries.", "Ana"),
        ("Who painted the kitchen?", "Painted the kitchen green!", "Ana"),
        ("Who is having twins?", "Kate and I are having twins.", "Kate and Ana"),
        ("Who is vegan?", "Nora is vegan, remember.", "Nora"),
        ("Who is older, Ada or Ruth?", "Ruth cries more. And Ada is older by nine minutes.", "Ada"),
        ("Who plays the cello?", "My sister plays the cello.", "Ana's sister"),
        ("Who plays the cello?", "My sister Runa plays the cello.", "Runa"),
        ("Who sang?", "Plus, it rained.", UNKNOWN),
        ("Who wrote Dune?", "I am reading Dune, which Frank Herbert wrote.", "Frank Herbert"),
        ("Who ate the pizza?", "I bought pizza and Leo ate it all.", "Leo"),
        ("Who baked the cake?", "I ate the cake that Mia baked.", "Mia"),
        ("Who lent me the drill?", "I have the drill that Otto lent me.", "Otto"),
        ("Who went to Paris with me?", "I went to Paris with Leo.", "Leo"),
        ("Who invited me to the wedding?", "I got invited to the wedding by Otto.", "Otto"),
        ("What is the name of Ana's dog trainer?", "Our dog Rex has a trainer, Sven.", "Sven"),
        ("What is the name of my sister's husband?", "My sister Lena's husband is Tom.", "Tom"),
        ("What is the name of Ana's doctor?", "My doctor is Dr. Mary Smith.", "Dr. Mary Smith"),
        ("What are Ana's cats called?", "My cats are called Tom and Jerry.", "Tom and Jerry"),
        ("What is Ana's sister called?", "My sister called Monday and we talked.", UNKNOWN),
        ("What is Ana's cat called?", "My cat is lovely " + "A" * 4_000, UNKNOWN),
        ("Who adopted a dog?", "The shelter is full.", UNKNOWN),
        ("What is the name of Ana's tutor?", "I'm learning Dutch with a tutor.", UNKNOWN),
        ("What is the name of Ana's cat?", "I moved to Bergen, my cat Miso came along.", "Miso"),
        ("What is Ana's cat called?", "Miso, my old cat, sleeps.", "Miso"),
        ("What is Ana's cat called?", "The cat? We called her Miso.", "Miso"),
        ("What is my wife's name?", "My wife is pregnant.", UNKNOWN),
    ],
)
def test_who_does_it_and_what_they_are_called_are_said(query, sentence, told, heard, intent):
    """Who says "I" does it; a name is told beside what bears it."""
    reading = read(query, intent(query, speakers=["Ana"] if "Ana" in query else []), heard(f"Ana: {sentence}"))

    assert answered(reading) == told


def test_a_reply_is_a_name_where_the_question_asks_for_one(heard, intent):
    """The reply alone does not say of whom."""
    lines = heard("Ana: We got a puppy!", "Ben: What's the puppy's name?", "Ana: Biscuit!")

    assert (
        answered(read("What is Ana's puppy called?", intent("What is Ana's puppy called?", speakers=["Ana"]), lines))
        == "Biscuit"
    )
