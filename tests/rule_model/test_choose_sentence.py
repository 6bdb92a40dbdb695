"""The sentence that answers comes first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.rules.choose_sentence import rank, rarity
from langgraph_engram.rules.query_verbs import verb_stems
from langgraph_engram.rules.utterances import Utterance, gather
from langgraph_engram.text.questions import answer_type


@pytest.mark.parametrize(
    ("query", "lines", "best"),
    [
        # What covers the query.
        ("What did Ana plant?", ["Ana: It rained.", "Ana: I planted two plum trees."], "I planted two plum trees."),
        # Not the question, but the reply to it.
        ("What does Ana collect?", ["Ben: What do you collect?", "Ana: Old tin boxes."], "Old tin boxes."),
        # Not another person's words.
        ("What does Ana grow?", ["Ben: I grow red beans.", "Ana: I grow white roses."], "I grow white roses."),
        # Not small talk.
        ("What does Ana grow?", ["Ben: What do you grow?", "Ana: Thanks, Ben! White roses."], "White roses."),
        # What holds the type that is asked for.
        ("Why did Ana sell the boat?", ["Ana: I sold the boat.", "Ana: I sold the boat because it leaked."],
         "I sold the boat because it leaked."),
    ],
)  # fmt: skip
def test_the_sentence_that_answers_comes_first(query, lines, best, heard, intent):
    """By cover, reply, voice and type."""
    evidence = heard(*lines)

    ranked = rank(query, intent(query, speakers=["Ana"]), answer_type(query), gather(evidence), evidence)

    assert ranked[0].said.text == best
    assert len(ranked) == len(gather(evidence))


def test_a_rare_stem_weighs_more(said):
    """What every sentence mentions tells none from another."""
    weights = rarity({"boat", "lantern"}, [said("The boat."), said("A boat with a lantern."), said("My boat.")])

    assert weights["lantern"] > weights["boat"]
    assert sum(weights.values()) == pytest.approx(1)


@given(st.sets(st.sampled_from(["boat", "lantern", "shed"])), st.lists(st.text(max_size=20), max_size=5))
def test_weights_are_shares(needed, texts):
    """Whatever is needed and said."""
    weights = rarity(needed, [Utterance(0, "Ana", text) for text in texts])

    assert set(weights) == needed
    assert sum(weights.values()) == pytest.approx(1 if needed and texts else 0)


def test_everyday_verbs_answer_for_one_another():
    """Who purchased something bought it; a noun before the auxiliary is no verb."""
    assert verb_stems("What did Ana buy?") >= {"bui", "purchas"}
    assert verb_stems("Which of Ana's gifts did Ben like?") >= {"like", "enjoi"}
    assert "win" not in verb_stems("Which of Ana's gifts did Ben like?")
    assert verb_stems("") == frozenset()
