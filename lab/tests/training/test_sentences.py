"""What readings are learned from is labelled and varied, and what was learned holds for what was held out."""

from collections import Counter
from typing import get_args

import numpy as np
import pytest

from engram_lab.training.logistic import fit_logistic
from engram_lab.training.sentences import (
    BREADTH_QUERIES,
    SENTENCES,
    SORT_QUERIES,
    breadths,
    messages,
    read_examples,
    read_held_out,
    said_in_passing,
    sorts,
    statements,
    voiced_messages,
    voices,
)
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.extraction.lasting import LABELS, PACKAGE, PASSED_ON, PASSED_ON_THRESHOLD, WEIGHTS_FILE
from langgraph_engram.logistic import TextClassifier, sigmoid
from langgraph_engram.retrieval import queries
from langgraph_engram.schema import Breadth


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        (SENTENCES, {"instruction", "preference", "state", "other"}),
        (BREADTH_QUERIES, {*get_args(Breadth)}),
        (SORT_QUERIES, {*queries.SORTS}),
    ],
)
def test_the_texts_are_labelled_and_varied(path, labels):
    """A frame is filled with several topics, and none of the texts stands there twice."""
    examples, texts = read_examples(path)

    assert {example.label for example in examples} == labels
    assert len(set(texts)) == len(texts) <= len(examples)
    assert not any("{" + "topic}" in example.text for example in examples)


def test_people_and_pairs_are_examples_of_every_kind():
    """What they say in passing lasts or does not, and some of what they ask needs nothing of it."""
    assert {example.label for example in said_in_passing()} == {*LABELS, "other"}
    assert {example.label for example in messages()} == {*queries.SORTS}


@pytest.mark.parametrize("read", [statements, voices, sorts, breadths])
def test_each_label_is_of_its_group(read):
    """Of a group of several labels a text has one; each text counts for something."""
    for example in read():
        assert example.labels
        assert example.weight > 0
        assert all(label in group for group, label in example.labels.items() if len(group) > 1)


def test_what_is_held_out_is_taken_for_what_it_is():
    """About a third of the newer queries is held out, some of each sort; nine of ten are told."""
    held_out = read_held_out(SORT_QUERIES)
    learned = {example.text for example in read_examples(SORT_QUERIES)[0]}
    encoder = open_encoder(None).inner
    classifier = TextClassifier.load(queries.SORTS, "langgraph_engram.retrieval", queries.WEIGHTS_FILE)

    rows = classifier.scores(encoder.encode_as("message", [example.text for example in held_out]))
    right = [
        example.label == queries.SORTS[found] for example, found in zip(held_out, rows.argmax(axis=1), strict=True)
    ]

    assert learned.isdisjoint(example.text for example in held_out)
    assert min(Counter(example.label for example in held_out).values()) >= 100
    assert np.mean(right) >= 0.88


def test_messages_of_other_authors_show_whose_wish_it_is():
    """No author with a style is on both sides; of what was never learned little that is passed on looks like a wish."""
    authors = [
        {line["style"] for line, _ in voiced_messages(held_out=held_out) if "style" in line}
        for held_out in (False, True)
    ]
    lines, voiced = zip(*voiced_messages(held_out=True), strict=True)
    texts = [f"user: {sentence.surrounded}" for sentence in voiced]

    classifier = TextClassifier.load((PASSED_ON,), PACKAGE, WEIGHTS_FILE)
    weighed = sigmoid(classifier.scores(open_encoder(None).inner.encode_as("statement", texts)))
    own = Counter(line["label"] for line, row in zip(lines, weighed, strict=True) if row[0] < PASSED_ON_THRESHOLD)

    assert authors[0].isdisjoint(authors[1])
    assert own[PASSED_ON] <= 5
    assert own["own"] >= 90


def test_a_column_of_rounding_noise_gets_no_weight():
    """Where an encoder leaves a dimension empty but for noise, other noise on another machine changes nothing."""
    rows = np.column_stack([np.tile([0.0, 1.0], 20), np.random.default_rng(0).normal(0, 1e-33, 40)])

    _, weights = fit_logistic(rows, np.tile([0.0, 1.0], 20), np.ones(40))

    assert abs(weights[1]) < 1e-9 < weights[0]
