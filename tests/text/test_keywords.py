"""Names and keywords carry the meaning of a text, small talk none; topics are named by what recurs in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.text.keywords import (
    NO_TOPIC,
    document_frequencies,
    is_small_talk,
    keywords_of,
    proper_names,
    topic_of,
    topic_words,
)

GYM = ["I joined a gym, and yesterday the yoga class began.", "Which yoga class, Maria?", "Yoga at noon, in Porto!"]
BEES = ["My bees gave honey before the class.", "Honey from your bees again!"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Gardens bloom, and Tom met Ana Lima.", ["Tom", "Ana Lima"]),
        ("I see Dr. Weaver on Mondays. Lunch is with Mrs. Lima.", ["Dr. Weaver", "Mrs. Lima"]),
        ("We went to the Isle of Wight.\n\nBeaches are near.", ["Isle of Wight"]),
        ('She read "Blue Train" -- Books again.', ["Blue Train"]),
    ],
)
def test_a_capital_at_the_start_of_a_sentence_is_no_name(text, names):
    """Elsewhere a run of capitals is one."""
    found = proper_names(text)

    assert found == names


@pytest.mark.parametrize(
    ("sentence", "small"),
    [
        ("Thanks, Ben!", True),
        ("Wow, that's great news!", False),
        ("I see 3.", False),
        ("So proud of you, really inspiring!", True),
        ("Let me know if you need anything else!", True),
        ("", True),
        ("Hi, I'm Ana.", False),
    ],
)
def test_small_talk_has_no_substance(sentence, small):
    """Greetings, praise and agreement go, others' names too; a number, a noun or the speaker's own name stays."""
    assert is_small_talk(sentence, ["Ben"]) is small


def test_a_topic_is_named_by_keywords_and_goes_on_without():
    """Three keywords name it; small talk keeps the topic before."""
    assert topic_of(keywords_of("My sister Runa teaches music")) == "Runa, teaches, sister"
    assert topic_of(keywords_of("ok, thanks"), "bees") == "bees"
    assert topic_of([]) == NO_TOPIC


def test_what_recurs_here_and_not_elsewhere_names_a_subject():
    """Yoga is said in each turn; the class is mentioned beside the bees too, and the speaker is no subject."""
    spread = document_frequencies([*GYM, *BEES])

    gym, bees = (topic_words(texts, spread, ["Maria", "Ben"], 3) for texts in (GYM, BEES))

    assert gym == ["yoga", "Porto", "class"]
    assert bees[:2] == ["honey", "bees"]


@given(st.lists(st.text(max_size=60), max_size=5), st.integers(0, 4))
def test_no_more_words_than_asked_for_and_none_twice(texts, most):
    """Whatever is said."""
    found = topic_words(texts, document_frequencies(texts), ["Ana"], most)

    assert len(found) <= most
    assert len(set(found)) == len(found)
