"""The F1 families, BLEU-1 and the temporal score give the figures that can be worked out by hand."""

import math

import pytest

from engram_lab.answer_scores import bleu1_amem, f1_amem, f1_locomo

ANY, MULTI_HOP, OPEN_DOMAIN = 4, 1, 3


@pytest.mark.parametrize(
    ("answer", "gold", "official", "multi_hop", "amem"),
    [
        ("painting and running", "Running, painting", 1.0, 2 / 3, 0.8),
        ("the adoption agencies", "Adoption agency", 1.0, 1.0, 0.4),
        ("May 7, 2023", "7 May 2023", 1.0, 0.8, 1.0),
        ("", "7 May 2023", 0.0, 0.0, 0.0),
        ("no idea", "cider", 0.0, 0.0, 0.0),
        ("red red barn", "red barn", 0.8, 0.8, 1.0),
    ],
)
def test_the_two_f1_differ_as_published(answer, gold, official, multi_hop, amem):
    """The pairs of the papers' code: stems, articles, commas and repeats are treated differently."""
    scores = [f1_locomo(answer, gold, ANY), f1_locomo(answer, gold, MULTI_HOP), f1_amem(answer, gold)]

    assert scores == pytest.approx([official, multi_hop, amem])


def test_bleu_is_precision_with_a_penalty_for_brevity():
    """Two of three words at equal length; all of one word where two are wanted; nothing shared."""
    assert bleu1_amem("the red barn", "red barn, old") == pytest.approx(2 / 3 * math.exp(1 - 4 / 3))
    assert bleu1_amem("barn", "Red barn") == pytest.approx(math.exp(-1))
    assert bleu1_amem("red red red", "red barn") == pytest.approx(1 / 3)
    assert bleu1_amem("cider", "red barn") == 0.0
    assert bleu1_amem("", "red barn") == 0.0
