"""What a passage holds, what fits a budget, what of an answer is shown, and what is quoted follow their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_lab.evidence_scores import (
    Passage,
    all_evidence_recall,
    answer_token_recall,
    content_stems,
    evidence_recall,
    fit_budget,
    holds,
    quote_recall,
    quoted_turns,
    statements_of,
)
from langgraph_engram.results import Recollection, count_tokens
from langgraph_engram.schema import Evidence, Turn

STATED = ["I planted three apple trees yesterday.", "The soil is heavy clay!"]


def passage(text, *turn_ids, synthesis=False):
    """Make a passage."""
    return Passage(text=text, turn_ids=list(turn_ids), synthesis=synthesis)


def test_content_stems_are_distinct_stemmed_and_without_stop_words():
    """Lower case, a-z and 0-9 alone: other letters part words, and the stop list goes."""
    assert content_stems("The Trees, trees! I've planted 3 in Zürich") == {"tree", "plant", "3", "rich", "z"}


def test_a_turn_states_its_sentences_and_captions():
    """What has no content stem states nothing."""
    stated = statements_of("Wow! So it is? We sold it.\nBye", ["a red barn", ""])

    assert stated == ["Wow!", "We sold it.", "Bye", "a red barn"]


@pytest.mark.parametrize(
    ("shown", "held"),
    [
        (passage("Ilse: planted apple trees", "D1:1"), True),
        (passage("three apple pies", "D1:1"), False),
        (passage("three apple trees", "D1:1"), True),
        (passage("heavy boots", "D1:1"), False),
        (passage("clay that was heavy", "D1:1"), True),
        (passage("I planted three apple trees yesterday.", "D1:2"), False),
        (passage("I planted three apple trees yesterday.", "D1:1", "D1:2", "D1:3"), True),
        (passage("I planted three apple trees yesterday.", "D1:1", "D1:2", "D1:3", "D1:4"), False),
        (passage("I planted three apple trees yesterday.", "D1:1", synthesis=True), False),
    ],
)
def test_a_passage_holds_a_turn_that_it_cites_and_mentions(shown, held):
    """It cites it among at most three, is no synthesis, and has half the stems of one sentence (three of five)."""
    assert holds(shown, "D1:1", STATED) is held


def test_recall_counts_turns_and_all_recall_counts_questions():
    """One of two turns held: one half, and not all. Without evidence neither applies."""
    shown = [passage("the soil is heavy clay", "D1:1"), passage("nothing of it", "D1:2")]
    evidence = {"D1:1": STATED, "D1:2": ["My sister Runa sells cider."]}

    assert evidence_recall(shown, evidence) == 0.5
    assert all_evidence_recall(shown, evidence) == 0.0
    assert all_evidence_recall(shown, {"D1:1": STATED}) == 1.0
    assert evidence_recall([], evidence) == 0.0
    assert evidence_recall(shown, {}) is all_evidence_recall(shown, {}) is None


def test_answer_tokens_are_looked_for_in_all_passages_together():
    """Two of three distinct stems, from two passages; a gold answer of stop words alone is not measured."""
    shown = [passage("Runa's cider", "D1:2"), passage("sisters meet", "D1:3")]

    assert answer_token_recall(shown, "Her sister Runa; her sister Vera") == pytest.approx(2 / 3)
    assert answer_token_recall([], "Runa") == 0.0
    assert answer_token_recall(shown, "yes and no, all of it") == 0.0
    assert answer_token_recall(shown, "no, not any") is None


@given(st.lists(st.text(max_size=30)), st.integers(0, 60))
def test_what_fits_is_the_longest_prefix_within_the_budget(texts, budget):
    """It fits, and with the next passage it would not."""
    passages = [passage(text) for text in texts]

    fitting = fit_budget(passages, budget)

    cost = sum(count_tokens(passage.text) for passage in fitting)
    following = passages[len(fitting) : len(fitting) + 1]
    assert fitting == passages[: len(fitting)]
    assert cost <= budget
    assert all(cost + count_tokens(passage.text) > budget for passage in following)


@pytest.fixture
def recollection():
    """An answer of two quotes from a passage of three turns."""
    texts = ("Do you keep bees?", "I keep bees. They sting!", "I got stung.")
    turns = [
        Turn(turn_id=f"t{seq}", session_id="s", seq=seq, role="user", speaker="Ana", text=text, external_id=f"D1:{seq}")
        for seq, text in enumerate(texts)
    ]
    answer = 'Ana, asked "Do you keep bees?": "I keep bees." [1]\nAna: "I got stung." [1]'
    evidence = [Evidence(evidence_id="e", text="", turns=turns)]
    return Recollection(query="?", answer=answer, quoted=True, verdict="partial", evidence=evidence)


def test_a_quote_is_from_the_turn_that_holds_its_sentence(recollection):
    """Not from the question that it replies to."""
    assert quoted_turns(recollection) == [["D1:1"], ["D1:2"]]
    assert quoted_turns(recollection.model_copy(update={"quoted": False})) == []


@pytest.mark.parametrize(("most", "recall"), [(1, 0.0), (3, 1.0)])
def test_the_first_quotes_count(recollection, most, recall):
    """Those of a question without evidence do not."""
    assert quote_recall(quoted_turns(recollection), ["D1:2"], most) == recall
    assert quote_recall(quoted_turns(recollection), [], most) is None
    assert quote_recall(None, ["D1:2"], most) == 0.0
