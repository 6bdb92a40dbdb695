"""Two compared things are searched for each by itself."""

from langgraph_engram.retrieval.fusion import interleave
from langgraph_engram.retrieval.grouping import Candidate
from langgraph_engram.retrieval.queries import part_intents
from langgraph_engram.schema import Intent


def asking(query: str) -> Intent:
    """Make the intent of a query about Ana."""
    return Intent(query=query, anchor=query, keywords=["Miso", "race"], speakers=["Ana"])


def test_each_part_has_an_intent_of_its_own():
    """A short part is searched for with what the query says of both."""
    first, second = part_intents(asking("Which came home first, Miso or the winner of the harbour race?"))

    assert (first.anchor, first.keywords, first.speakers) == ("Miso came home", ["Miso"], ["Ana"])
    assert (second.anchor, second.keywords) == ("the winner of the harbour race", ["race"])


def test_one_thing_is_searched_for_as_it_is():
    """A time from now has one part."""
    assert part_intents(asking("How many days ago did I meet Miso?")) == []
    assert part_intents(asking("Where is Miso?")) == []


def test_rankings_take_turns_and_nothing_comes_twice():
    """A turn that is shown with another's piece has had its turn."""
    one = [Candidate("record", 1, 0.9, joined=(2,)), Candidate("record", 3, 0.5)]
    other = [Candidate("record", 2, 0.8), Candidate("turn", 1, 0.7)]

    found = list(interleave([iter(one), iter(other)]))

    assert [(one.kind, one.position) for one in found] == [("record", 1), ("turn", 1), ("record", 3)]
    assert list(interleave([])) == []
