"""A shortened text is some of its words in their order, and never another fact than the whole."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.compression.llmlingua2 import kept_places, must_stay, shorten

FILLERS = st.sampled_from("really the lake and quite we camped by our tent i think it was nice".split())
TELLING = st.sampled_from("Oslo 7 [12] 2023-05-08 June friday not don't seven NASA Runa's cold?".split())
LIKELY = st.floats(0, 1)
RATES = st.floats(0.01, 1)


@st.composite
def texts(draw, words=FILLERS):
    """Words, and how likely each is to be kept."""
    said = draw(st.lists(words, max_size=40))
    return said, draw(st.lists(LIKELY, min_size=len(said), max_size=len(said)))


@given(texts(FILLERS | TELLING), RATES)
def test_what_is_kept_stands_in_order(said, rate):
    """The result is a subsequence of the words, and no larger than the rate and what must stay allow."""
    words, likely = said

    kept = kept_places(words, likely, rate)

    assert kept == sorted(set(kept))
    assert set(kept) <= set(range(len(words)))
    assert len(kept) == max(ceil(rate * len(words)), sum(must_stay(words)))


@given(texts(), RATES)
def test_the_share_is_the_rate_up_to_one_word(said, rate):
    """Where no word must stay, at most one word more than the share is kept."""
    words, likely = said

    kept = kept_places(words, likely, rate)

    assert rate * len(words) <= len(kept) < rate * len(words) + 1


@given(texts(), RATES)
def test_the_likeliest_are_kept(said, rate):
    """No word is left out that is likelier than one that is kept."""
    words, likely = said

    kept = kept_places(words, likely, rate)

    left_out = set(range(len(words))) - set(kept)
    assert not kept or max((likely[one] for one in left_out), default=0) <= min(likely[one] for one in kept)


@given(texts(FILLERS | TELLING), RATES)
def test_what_tells_always_stays(said, rate):
    """Numbers, numbers in brackets, dates, names, denials and questions survive any rate."""
    words, likely = said
    telling = [word for word in words if not word.isalpha() or not word.islower() or word in ("not", "seven", "friday")]

    read = shorten(" ".join(words), likely, rate).split()

    assert [word for word in read if word in telling] == telling


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Maren moved there", "Maren"),
        ("we met Will there", "Will"),
        ("Will moved there", "Will"),
        ("the US team won", "US"),
        ("we saw it last weekend (the weekend of 8 June 2024) there", "(the weekend of 8 June 2024)"),
        ("I never did like it", "never"),
        ("we couldn’t see it", "couldn’t"),
        ("it has (really quite) a few", "it"),
        ("was it cold?", "cold?"),
        ("The lake was nice", "The"),
    ],
)
def test_at_the_lowest_rate_the_telling_words_are_left(text, kept):
    """Without a telling word one word stays; a capital that only opens the text tells nothing."""
    likely = [0.5] * len(text.split())

    assert shorten(text, likely, 0.001) == kept


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_text_without_words_stays_as_it_is(text):
    """White space is not touched."""
    assert shorten(text, [], 0.5) == text


def test_a_text_that_would_say_nothing_stays_whole():
    """Where only a dash would be left, what was said is read."""
    assert shorten("well - then", [0.1, 0.9, 0.1], 0.3) == "well - then"


def test_each_word_needs_a_probability():
    """Probabilities of another text are refused."""
    with pytest.raises(ValueError, match="3 words have 2"):
        kept_places(["a", "b", "c"], [0.1, 0.2], 0.5)
