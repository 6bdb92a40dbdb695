"""The result says what was found, what is missing, and cites only what was shown."""

import pytest

from langgraph_engram.nodes.conclude import Conclude
from langgraph_engram.schema import Intent
from langgraph_engram.settings import RetrieveSettings


@pytest.fixture
def concluded(to_recall, passage, store):
    """Conclude a recall that found two passages."""

    def run(answer, **fields):
        passages = [passage("p0"), passage("p1")]
        state = {"request": to_recall(), "evidence": passages, "pool": passages, "round": 2, "went_deep": True}
        state["intent"] = Intent(query="Where?", anchor="Where?")
        conclude = Conclude(store, RetrieveSettings(relevance_threshold=0.5))
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
    found = concluded(answer, **fields)

    assert (found.verdict, found.answer) == (verdict, answer or "I don't know.")


@pytest.mark.parametrize(("relevance", "verdict"), [([0.1, 0.5], "partial"), ([0.4], "absent"), ([], "absent")])
def test_a_search_has_a_verdict_by_relevance_and_no_answer(concluded, to_recall, passage, relevance, verdict):
    """A search gives evidence only, and calls none of it sufficient."""
    evidence = [passage(f"p{number}").model_copy(update={"relevance": value}) for number, value in enumerate(relevance)]

    found = concluded("ignored", request=to_recall(mode="search"), evidence=evidence)

    assert (found.verdict, found.answer, found.quoted) == (verdict, None, False)
    assert found.evidence == evidence


@pytest.mark.parametrize(("relevance", "verdict"), [(0.5, "partial"), (0.4, "absent")])
def test_quotes_are_partial_or_nothing(concluded, passage, relevance, verdict):
    """What rules quote is never sufficient; where nothing is relevant they quote nothing."""
    pool = [passage("p0").model_copy(update={"relevance": relevance})]

    recollection = concluded('Ana: "I swim." [1]', quoted=True, pool=pool)

    assert (recollection.verdict, recollection.quoted) == (verdict, verdict == "partial")
    assert recollection.answer == ('Ana: "I swim." [1]' if recollection.quoted else "I don't know.")
