"""The weights can be learned again from any annotated dialogues, and come out the same."""

import json

import numpy as np
import pytest

from engram_lab.training.boundary_model import FEATURES_BY_FILE, fit, main, train
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.segmentation.segmenter import FEATURES, WEIGHTS_FILE

SUBJECTS = {
    "bees": [
        "Do you keep bees?",
        "I keep bees in a hive.",
        "A hive of bees gives honey.",
        "Honey from a hive is best.",
    ],
    "skis": ["Do you ski?", "I ski on old skis.", "Old skis need wax and snow.", "Snow on old skis is slow."],
    "cakes": ["Do you bake?", "I bake a cake on Sunday.", "A cake needs eggs and butter.", "Butter makes a cake soft."],
}


@pytest.fixture
def file(tmp_path):
    """Six dialogues, each about two of three things in our own words."""
    path = tmp_path / "dialogues.jsonl"
    lines = []
    for first in SUBJECTS:
        for second in SUBJECTS:
            if first != second:
                said = [*SUBJECTS[first], *SUBJECTS[second]]
                utterances = [{"speaker": "AB"[index % 2], "text": text} for index, text in enumerate(said)]
                lines.append(json.dumps({"utterances": utterances, "boundaries": [0, 0, 0, 1, 0, 0, 0, 1]}))
    path.write_text("\n".join(lines))
    return path


def test_learning_twice_gives_the_same_weights(file, tmp_path):
    """Chance is seeded: the written files are equal, and hold a weight for each feature of their model."""
    written = [tmp_path / "one", tmp_path / "two"]

    for folder in written:
        folder.mkdir()
        main([str(file), "--out", str(folder), "--encoder", "hashing"])

    for name, features in FEATURES_BY_FILE.items():
        first, second = ((folder / name).read_bytes() for folder in written)
        assert first == second
        assert set(json.loads(first)["weights"]) == set(features)


def test_what_marks_boundaries_is_learned(file):
    """In these dialogues a question opens each subject, and turns of one subject share words."""
    model = train(file, HashingEncoder())[WEIGHTS_FILE]

    assert model.weights["asks"] > 0
    assert model.weights["coherence_1"] < 0


def test_a_known_regression_is_found():
    """With one informative column and many rows, the fitted odds are those that made the labels."""
    chance = np.random.default_rng(1)
    rows = np.zeros((20_000, len(FEATURES)))
    rows[:, 0] = chance.normal(size=len(rows))
    labels = (chance.random(len(rows)) < 1 / (1 + np.exp(1 - 2 * rows[:, 0]))).astype(float)

    model = fit(rows, labels, np.ones(len(rows)))

    assert model.weights[FEATURES[0]] == pytest.approx(2, abs=0.1)
    assert model.intercept == pytest.approx(-1, abs=0.1)
