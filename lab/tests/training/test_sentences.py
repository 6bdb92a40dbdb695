"""What tells what lasts, how broad a query is and of which sort can be learned again, and comes out the same."""

import json
from collections import Counter
from typing import get_args

import numpy as np
import pytest

from engram_lab.training.logistic import fit_logistic
from engram_lab.training.sentences import (
    BREADTH_QUERIES,
    SENTENCES,
    SORT_QUERIES,
    confusion,
    frequent_terms,
    messages,
    read_examples,
    read_held_out,
    said_in_passing,
    train,
    voiced_messages,
)
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.extraction.lasting import LABELS, PACKAGE, PASSED_ON, PASSED_ON_THRESHOLD, VOICE_FILE
from langgraph_engram.logistic import TextClassifier
from langgraph_engram.retrieval.queries import SORTS
from langgraph_engram.schema import Breadth

TEXTS = [
    *(("instruction", f"Always answer {word} when I ask about {{topic}}.") for word in ("briefly", "fully", "kindly")),
    *(("preference", f"I prefer {word} tea.") for word in ("green", "black", "white", "cold")),
    *(("state", f"I am a {word}.") for word in ("nurse", "pilot", "baker", "judge")),
    *(("other", f"The {word} is late.") for word in ("train", "bus", "ferry", "guest")),
    *(("topic", word) for word in ("boats", "bread", "tax")),
]


def test_learning_twice_gives_the_same_weights(tmp_path):
    """The weights depend on the texts and the encoder alone."""
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in TEXTS))
    examples, texts = read_examples(path)
    kinds = ["instruction", "preference", "state"]

    first, second = (train(HashingEncoder(), examples, frequent_terms(texts, 4), kinds) for _ in range(2))

    assert first == second
    assert set(first) == set(kinds)


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        (SENTENCES, {"instruction", "preference", "state", "other"}),
        (BREADTH_QUERIES, {*get_args(Breadth)}),
        (SORT_QUERIES, {*SORTS, "question"}),
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
    assert {example.label for example in said_in_passing()} - {"instruction"} == {*LABELS[1:], "other"}
    assert {example.label for example in messages()} == {*SORTS, "question"}


def test_what_is_held_out_is_tried_and_never_learned():
    """About a third of the newer texts is held out, some of each sort; what was learned takes each for one of them."""
    held_out = read_held_out(SORT_QUERIES)
    fitted = read_examples(SORT_QUERIES)[0]
    learned = train(HashingEncoder(), fitted[::8], ["?"], SORTS)

    counts = confusion(HashingEncoder(), learned, held_out)

    assert not {example.text for example in held_out} & {example.text for example in fitted}
    assert min(sum(found.values()) for found in counts.values()) > 50
    assert sum(sum(found.values()) for found in counts.values()) == len(held_out)


def test_messages_of_other_authors_show_whose_wish_it_is():
    """No author is on both sides; of the messages that were never learned few that pass a wish on look like one."""
    authors = [{line["style"] for line, _ in voiced_messages(held_out=held_out)} for held_out in (False, True)]
    lines, voiced = zip(*voiced_messages(held_out=True), strict=True)
    texts = [sentence.surrounded for sentence in voiced]

    weighed = TextClassifier.load((PASSED_ON,), PACKAGE, VOICE_FILE).probabilities(
        texts, open_encoder(None).inner.encode([f"user: {text}" for text in texts])
    )
    own = Counter(line["label"] for line, row in zip(lines, weighed, strict=True) if row[0] < PASSED_ON_THRESHOLD)

    assert authors[0].isdisjoint(authors[1])
    assert own[PASSED_ON] <= 5
    assert own["own"] >= 90


def test_a_column_of_rounding_noise_gets_no_weight():
    """Where an encoder leaves a dimension empty but for noise, other noise on another machine changes nothing."""
    rows = np.column_stack([np.tile([0.0, 1.0], 20), np.random.default_rng(0).normal(0, 1e-33, 40)])

    _, weights = fit_logistic(rows, np.tile([0.0, 1.0], 20), np.ones(40))

    assert abs(weights[1]) < 1e-9 < weights[0]
