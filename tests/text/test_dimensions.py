"""The place that a sentence tells of is read off its prepositions."""

import pytest

from langgraph_engram.text.statements import location_of


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("I moved from Bergen to Oslo.", "Oslo"),
        ("I am from Bergen.", "Bergen"),
        ("I never went to Paris, but I met my aunt in Rome.", "Rome"),
        ("I never went to Paris.", ""),
        ("In May we sailed near Port Ellery.", "Port Ellery"),
        ("We meet on Friday.", ""),
        ("We swim on Fridays, and camp at Lake Bled.", "Lake Bled"),
    ],
)
def test_the_place_is_where_something_happened(sentence, place):
    """Not where it did not, nor where somebody came from, nor a day."""
    assert location_of(sentence) == place
