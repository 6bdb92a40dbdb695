"""A quote counts where it is from an evidence turn; a language model's answer has no quotes."""

import pytest

from langgraph_engram.benchmarks.quotes import quote_recall, quoted_turns, split_by_answer
from langgraph_engram.results import Recollection
from langgraph_engram.schema import Evidence, Turn


@pytest.fixture
def told():
    """An answer of two quotes from a passage of three turns."""
    texts = ("Do you keep bees?", "I keep bees. They sting!", "I got stung.")
    turns = [
        Turn(turn_id=f"t{seq}", session_id="s", seq=seq, role="user", speaker="Ana", text=text, external_id=f"D1:{seq}")
        for seq, text in enumerate(texts)
    ]
    answer = 'Ana, asked "Do you keep bees?": "I keep bees." [1]\nAna: "I got stung." [1]'
    evidence = [Evidence(evidence_id="e", text="", turns=turns)]
    return Recollection(query="?", answer=answer, quoted=True, verdict="partial", evidence=evidence)


def test_a_quote_is_from_the_turn_that_holds_its_sentence(told):
    """Not from the question that it replies to."""
    assert quoted_turns(told) == [["D1:1"], ["D1:2"]]
    assert quoted_turns(told.model_copy(update={"quoted": False})) == []


@pytest.mark.parametrize(("most", "recall"), [(1, 0.0), (3, 1.0)])
def test_the_first_quotes_count(told, most, recall):
    """Those of a question without evidence do not."""
    assert quote_recall(quoted_turns(told), ["D1:2"], most) == recall
    assert quote_recall(quoted_turns(told), [], most) is None
    assert quote_recall(None, ["D1:2"], most) == 0.0


def test_a_run_quotes_or_answers(told):
    """Where a language model answered any question, all count as its own."""
    by_rules, by_model = (type("Line", (), {"quotes": quotes}) for quotes in ([], None))

    assert split_by_answer([by_rules, by_rules]) == ([by_rules, by_rules], ())
    assert split_by_answer([by_rules, by_model]) == ((), [by_rules, by_model])
