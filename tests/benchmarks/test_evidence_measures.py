"""What a piece holds, what fits a budget, and what of an answer is shown follow their definitions word by word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.benchmarks.scores import (
    Passage,
    all_evidence_recall,
    answer_token_recall,
    content_stems,
    evidence_recall,
    fit_budget,
    fit_budgets,
    holds,
    statements_of,
    to_passage,
)
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Evidence, Record, Turn

STATED = ["I planted three apple trees yesterday.", "The soil is heavy clay!"]


def piece(text, *turn_ids, synthesis=False):
    """Make a piece."""
    return Passage(text=text, turn_ids=list(turn_ids), synthesis=synthesis)


def test_content_stems_are_distinct_stemmed_and_without_stop_words():
    """Lower case, a-z and 0-9 alone: other letters part words, and the stop list goes."""
    assert content_stems("The Trees, trees! I've planted 3 in Zürich") == {"tree", "plant", "3", "rich", "z"}


def test_a_turn_states_its_sentences_and_captions():
    """What has no content stem states nothing."""
    assert statements_of("Wow! So it is? We sold it.\nBye", ["a red barn", ""]) == [
        "Wow!",
        "We sold it.",
        "Bye",
        "a red barn",
    ]


@pytest.mark.parametrize(
    ("one", "held"),
    [
        (piece("Ilse: planted apple trees", "D1:1"), True),
        (piece("three apple pies", "D1:1"), False),
        (piece("three apple trees", "D1:1"), True),
        (piece("heavy boots", "D1:1"), False),
        (piece("clay that was heavy", "D1:1"), True),
        (piece("I planted three apple trees yesterday.", "D1:2"), False),
        (piece("I planted three apple trees yesterday.", "D1:1", "D1:2", "D1:3"), True),
        (piece("I planted three apple trees yesterday.", "D1:1", "D1:2", "D1:3", "D1:4"), False),
        (piece("I planted three apple trees yesterday.", "D1:1", synthesis=True), False),
    ],
)
def test_a_piece_holds_a_turn_that_it_cites_and_tells(one, held):
    """It cites it among at most three, is no synthesis, and has half the stems of one sentence (three of five)."""
    assert holds(one, "D1:1", STATED) is held


def test_half_of_a_sentence_is_enough():
    """Two of the four stems of a sentence hold it; one does not."""
    assert holds(piece("apple clay", "D1:1"), "D1:1", ["Apple trees love clay"])
    assert not holds(piece("apple", "D1:1"), "D1:1", ["Apple trees love clay"])


def test_recall_counts_turns_and_all_recall_counts_questions():
    """One of two turns held: one half, and not all. Without evidence neither applies."""
    shown = [piece("the soil is heavy clay", "D1:1"), piece("nothing of it", "D1:2")]
    evidence = {"D1:1": STATED, "D1:2": ["My sister Runa sells cider."]}

    assert evidence_recall(shown, evidence) == 0.5
    assert all_evidence_recall(shown, evidence) == 0.0
    assert all_evidence_recall(shown, {"D1:1": STATED}) == 1.0
    assert evidence_recall([], evidence) == 0.0
    assert evidence_recall(shown, {}) is all_evidence_recall(shown, {}) is None


def test_answer_tokens_are_looked_for_in_all_pieces_together():
    """Two of three distinct stems, from two pieces; a gold answer of stop words alone is not measured."""
    shown = [piece("Runa's cider", "D1:2"), piece("sisters meet", "D1:3")]

    assert answer_token_recall(shown, "Her sister Runa; her sister Vera") == pytest.approx(2 / 3)
    assert answer_token_recall([], "Runa") == 0.0
    assert answer_token_recall(shown, "yes and no, all of it") == 0.0
    assert answer_token_recall(shown, "no, not any") is None


def test_the_prefix_that_fits_stops_at_the_first_that_does_not():
    """A token is four characters, rounded up; a later, shorter piece is not drawn forward."""
    pieces = [piece("x" * 9), piece("x" * 4), piece("x" * 5), piece("x")]

    assert [len(fit_budget(pieces, budget)) for budget in (2, 3, 4, 5, 6, 7)] == [0, 1, 2, 2, 3, 4]
    assert fit_budgets(pieces)["500"] == pieces


@given(st.lists(st.text(max_size=30)), st.integers(0, 60))
def test_what_fits_is_the_longest_prefix_within_the_budget(texts, budget):
    """It fits, and with the next piece it would not."""
    pieces = [piece(text) for text in texts]

    fitting = fit_budget(pieces, budget)

    cost = sum(count_tokens(one.text) for one in fitting)
    following = pieces[len(fitting) : len(fitting) + 1]
    assert fitting == pieces[: len(fitting)]
    assert cost <= budget
    assert all(cost + count_tokens(one.text) > budget for one in following)


def test_a_piece_cites_its_turns_by_the_data_sets_ids():
    """A source whose turn is not shown is cited too, so that a piece cannot hide how much it rests on."""
    turn = Turn(turn_id="t1", session_id="s", seq=0, role="user", speaker="Ilse", text="x", external_id="D1:1")
    bare = turn.model_copy(update={"turn_id": "t2", "external_id": None})
    record = Record(record_id="r", content="x", session_id="s", event_id="e", seq=0, source_turn_ids=["t1", "t3"])
    evidence = Evidence(evidence_id="e", text="Ilse: x", record=record, turns=[turn, bare])

    assert to_passage(evidence) == piece("Ilse: x", "D1:1", "t2", "t3")
    assert to_passage(Evidence(evidence_id="e", text="x", synthesis_id="y")).synthesis
