"""The result says what was found, what is missing, and cites only what was shown."""

import pytest

from langgraph_engram.nodes.conclude import conclude
from langgraph_engram.results import UsageEntry


@pytest.fixture
def concluded(to_recall, piece):
    """Conclude a recall that found two pieces."""

    def run(answer, **fields):
        pieces = [piece("p0"), piece("p1")]
        state = {"request": to_recall(), "evidence": pieces, "pool": pieces, "round": 2, "went_deep": True}
        return conclude({**state, "run_id": "run", "answer": answer, **fields})["recollection"]

    return run


@pytest.mark.parametrize(
    ("answer", "fields", "verdict"),
    [
        ("At the lake [1].", {}, "sufficient"),
        ("At the lake [1].", {"missing": ["the year"]}, "partial"),
        ("I don't know.", {}, "absent"),
        ("I don't know. The memories do not say it.", {}, "absent"),
        ("", {}, "absent"),
        ("At the lake.", {"pool": []}, "absent"),
        ("Ana: I don't know how to swim. [1]", {}, "sufficient"),
    ],
)
def test_a_recall_has_a_verdict(concluded, answer, fields, verdict):
    """Absent without evidence or answer, partial when something is missing; "I don't know" may also be quoted."""
    assert concluded(answer, **fields).verdict == verdict


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [({"sufficient": True}, "sufficient"), ({"sufficient": False}, "partial"), ({"evidence": []}, "absent")],
)
def test_a_search_has_a_verdict_and_no_answer(concluded, to_recall, fields, verdict):
    """A search gives evidence only."""
    found = concluded("ignored", request=to_recall(mode="search"), **fields)

    assert (found.verdict, found.answer) == (verdict, None)


def test_the_result_adds_up_what_it_cost(concluded):
    """Entries of one node are summed; rounds and run are named."""
    told = concluded("x", usage=[UsageEntry(node="a", calls=1, prompt_tokens=5), UsageEntry(node="a", calls=2)])

    assert (told.usage.calls, told.usage.tokens, len(told.usage.by_node)) == (3, 5, 1)
    assert (told.rounds, told.run_id, told.went_deep) == (2, "run", True)


def test_unknown_is_said_in_words(concluded):
    """A recall without an answer says that it does not know."""
    assert concluded("").answer == "I don't know."
