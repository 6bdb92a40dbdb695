"""What names a subject: what recurs in it and seldom stands elsewhere, names above all, and nobody who speaks."""

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.text.keywords import spread_of, topic_words

GYM = ["I joined a gym, and yesterday the yoga class began.", "Which yoga class, Maria?", "Yoga at noon, in Porto!"]
BEES = ["My bees gave honey before the class.", "Honey from your bees again!"]


def test_what_recurs_here_and_not_elsewhere_names_a_subject():
    """Yoga is said in each turn; the class is talked of beside the bees too, and who speaks tells nothing."""
    spread = spread_of([*GYM, *BEES])

    gym, bees = (topic_words(texts, spread, ["Maria", "Ben"], 3) for texts in (GYM, BEES))

    assert gym == ["yoga", "Porto", "class"]
    assert bees[:2] == ["honey", "bees"]


def test_words_that_name_nothing_are_left_out():
    """Numbers, times and small talk are no subject; without any other word there is none."""
    texts = ["Well, before yesterday there were three or 400 of them!", "Thanks, that sounds great."]

    assert topic_words(texts, spread_of(texts), [], 5) == []


@given(st.lists(st.text(max_size=60), max_size=5), st.integers(0, 4))
def test_no_more_words_than_asked_for_and_none_twice(texts, most):
    """Whatever is said."""
    found = topic_words(texts, spread_of(texts), ["Ana"], most)

    assert len(found) <= most
    assert len(set(found)) == len(found)
