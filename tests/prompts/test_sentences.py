"""Sentences are numbered so that a model can point at them, and stand alone after their speaker's name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.prompts.rendering import number_sentences
from tests.conftest import make_turn


def said(*texts, captions=()):
    return [
        make_turn(seq, text, speaker=speaker, captions=list(captions))
        for seq, (speaker, text) in enumerate(line.split(": ", 1) for line in texts)
    ]


@pytest.mark.parametrize(
    ("lines", "captions", "numbered"),
    [
        (["Ana: Hi Ben! I sold the car.", "Ben: Wow! Which bike did you buy?"], (),
         [(0, "Hi Ben!"), (1, "I sold the car."), (0, "Wow!"), (2, "Which bike did you buy?")]),
        (["Ana: Hi, I'm Ana.", "Ben: Nice to see you, Ana!"], (), [(1, "Hi, I'm Ana."), (0, "Nice to see you, Ana!")]),
        (["Ana: My new tent."], ["a red tent"], [(1, "My new tent."), (2, "a red tent")]),
    ],
    ids=["small talk", "names", "images"],
)  # fmt: skip
def test_what_says_something_has_a_number(lines, captions, numbered):
    """Small talk is shown, and nobody can cite it; who says their own name says something, and so does an image."""
    sentences = number_sentences(said(*lines, captions=captions))

    assert [(sentence.number, sentence.text) for sentence in sentences] == numbered
    assert not captions or sentences[-1].as_said == "Ana shares an image: a red tent"


def test_a_short_reply_is_told_with_its_question():
    """Also where the question came in an earlier call."""
    asked, reply = said("Ben: How many cats do you have?", "Ana: Two cats!")

    together, alone = number_sentences([asked, reply])[-1], number_sentences([reply], [asked])[-1]

    assert together.as_said == alone.as_said == "Ben: How many cats do you have? Ana: Two cats!"


def test_times_are_written_out():
    """What a model reads, and what is kept, has the day beside the word."""
    (sentence,) = number_sentences(said("Ana: I camped yesterday."))

    assert sentence.as_said == "Ana: I camped yesterday (7 May 2023)."
    assert "[1] I camped yesterday (7 May 2023)." in ExtractRecords((sentence.turn,)).render()[1].text


@given(st.lists(st.text(max_size=80), min_size=1, max_size=6))
def test_numbers_are_one_to_n_in_order(texts):
    """Whatever is said, no number is missing and none comes twice."""
    turns = [make_turn(seq, text) for seq, text in enumerate(texts)]

    numbers = [sentence.number for sentence in number_sentences(turns) if sentence.number]

    assert numbers == list(range(1, len(numbers) + 1))
