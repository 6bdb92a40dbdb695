"""A reading can be learned again, and comes out the same."""

import numpy as np
import pytest

from engram_lab.training import readings
from engram_lab.training.readings import LABELS, learn_reading
from engram_lab.training.sentences import Labelled
from langgraph_engram.embeddings.readings import DOWN, factors
from langgraph_engram.retrieval.queries import SORTS

QUERIES = [Labelled("thanks", {SORTS: "idle"}), Labelled("Plan the team lunch.", {SORTS: "message"})]
PAIRS = [("Plan the team lunch.", "I'm allergic to peanuts."), ("Write the parser.", "We run Python 3.6.")]


def test_learning_twice_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The factors are those of the layers that the package's graph updates, and change in the first step."""
    monkeypatch.setattr(readings, "EPOCHS", {"message": 2})

    (first, heads), (second, again) = (
        learn_reading("message", [QUERIES], PAIRS, ["Lunch is at noon."], ["The train is late."]) for _ in range(2)
    )

    assert heads == again
    assert heads.keys() == set(LABELS["message"])
    assert first.keys() == factors("message").keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert all(rows.any() for rows in first.values())
    assert {rows.shape[0] for name, rows in first.items() if name.endswith(DOWN)} == {8}
