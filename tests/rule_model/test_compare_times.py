"""What came first, and how long lies between, is told by the times of the sentences found."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.rules.compare_times import compare_times
from langgraph_engram.rules.reading import NOTHING, read
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.text.questions import time_question

NOW = datetime(2024, 6, 30, 12, tzinfo=UTC)
SAID = (
    (datetime(2024, 6, 2, tzinfo=UTC), "I adopted a greyhound yesterday, so happy!"),
    (datetime(2024, 6, 20, tzinfo=UTC), "I bought the harbour flat today."),
    (datetime(2024, 6, 20, tzinfo=UTC), "I've been taking cello lessons for two months now."),
    (datetime(2024, 6, 21, tzinfo=UTC), "I never saw the comet, but I heard of it."),
    (datetime(2024, 6, 21, tzinfo=UTC), "Have you seen the new lighthouse film?"),
)


@pytest.fixture
def compared():
    """Compare by what was said over a month."""
    said = [Utterance(place, "Ana", text, moment, around=text) for place, (moment, text) in enumerate(SAID)]

    def compare(query, now=NOW):
        return compare_times(time_question(query), said, now)

    return compare


@pytest.mark.parametrize(
    ("query", "text", "places"),
    [
        ("Which happened first, the harbour flat or the greyhound?", "The greyhound", (1, 0)),
        ("Which did I do most recently, adopt the greyhound or buy the harbour flat?", "Buy the harbour flat", (0, 1)),
        ("Which did I start first, the cello lessons or the greyhound?", "The cello lessons", (2, 0)),
        ("How many days passed between adopting the greyhound and buying the harbour flat?", "19 days", (0, 1)),
        ("How many weeks before I bought the harbour flat did I adopt the greyhound?", "3 weeks", (1, 0)),
        ("How many days ago did I buy the harbour flat?", "10 days", (1,)),
        ("How long ago did I adopt the greyhound?", "4 weeks", (0,)),
    ],
)
def test_times_are_compared(compared, query, text, places):
    """By what a sentence says of its time, or since when it has gone on; each part is cited."""
    found = compared(query)

    assert (found.text, found.places) == (text, places)


@pytest.mark.parametrize(
    "query",
    [
        "Which happened first, the harbour flat or the sailing trip?",
        "How many days passed between the sailing trip and adopting the greyhound?",
        "How many days passed between adopting the greyhound and adopting the greyhound?",
        "How many days ago did I see the comet?",
    ],
)
def test_what_is_not_told_is_not_compared(compared, query):
    """A part that no sentence tells of has no time, and nothing lies between a thing and itself."""
    assert compared(query) is None


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Who came to Oslo first, Ana or Ben?", "Ben"),
        ("How many days ago did Ben come to Oslo?", "28 days"),
        ("How many days ago did Ana come to Oslo?", "15 days"),
    ],
)
def test_what_people_say_is_about_them(query, text):
    """They say "I", and the query says their names."""
    days = ((2, "Ben", "I came to Oslo at last!"), (15, "Ana", "I came to Oslo by train."))
    said = [
        Utterance(place, speaker, told, datetime(2024, 6, day, tzinfo=UTC), around=told)
        for place, (day, speaker, told) in enumerate(days)
    ]

    assert compare_times(time_question(query), said, NOW, frozenset({"ana", "ben"})).text == text


def test_a_name_that_nothing_mentions_leaves_a_comparison_unanswered(heard, intent):
    """A race in Bergen is not the race in Oslo."""
    found = heard("Ana: I ran the race in Bergen on 3 May 2023.", "Ana: I married on 6 May 2023.")
    asked = "How many days before I married did I run the race in {}?"

    assert read(asked.format("Oslo"), intent(asked.format("Oslo")), found) == NOTHING
    assert read(asked.format("Bergen"), intent(asked.format("Bergen")), found).answer == "3 days [2][1]"
