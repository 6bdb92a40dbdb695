"""Numbers are read by their value, however they are written."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.text.words import numbers_in, plain_number, spelled_numbers, stem


@pytest.mark.parametrize(
    ("written", "plain"),
    [("1,200", "1200"), ("1,234,567.80", "1234567.8"), ("3.50", "3.5"), ("1.2.3", "1.2.3"), ("007", "007")],
)
def test_marks_and_empty_decimals_go(written, plain):
    """What is no amount stays as it is."""
    assert plain_number(written) == plain


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("thirty guests", "30"),
        ("two hundred and fifty euros", "250"),
        ("two hundred and fifty thousand euros", "250000"),
        ("three hundred and two pages", "302"),
        ("a dozen eggs", "12"),
        ("a couple of days", "2"),
    ],
)
def test_numbers_are_spelled_out_too(said, number):
    """Up to millions, with dozens and pairs."""
    assert number in spelled_numbers(said.replace("-", " ").split())


def test_the_parts_of_a_number_are_numbers():
    """Nobody knows how words were meant to be grouped."""
    assert spelled_numbers(["twenty", "five", "cats"]) == ["20", "5", "25"]


@given(st.integers(0, 10**9))
def test_a_thousands_mark_changes_no_value(value):
    """Grouped or not, the number is the same."""
    assert numbers_in(f"It cost {value:,} in all") == [str(value)]


def test_threads_stem_at_once_without_mixing_their_words():
    """A stemmer that threads share gave stems of two words at once, or failed."""
    told = [
        f"{stem}{number}{ending}" for number in range(400) for stem in ("relat", "walk") for ending in ("ional", "ing")
    ]
    alone = [stem.__wrapped__(word) for word in told]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [stem.__wrapped__(word) for word in told], range(16)):
            assert found == alone
