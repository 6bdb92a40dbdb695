"""What tells broad queries from narrow ones can be learned again, and comes out the same."""

import json

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.retrieval.outline import KINDS
from training.breadth import QUERIES, train_breadth
from training.standing import read_examples

LINES = [
    *(("summary", f"Give me a {word} summary of {{topic}}.") for word in ("short", "long", "clear", "full")),
    *(("timeline", f"In what order did I {word} {{topic}}?") for word in ("plan", "do", "see", "mention")),
    *(("narrow", f"When did I {word} {{topic}}?") for word in ("plan", "do", "see", "mention")),
    *(("topic", word) for word in ("boats", "bread", "tax")),
]


def test_learning_twice_gives_the_same_weights(tmp_path):
    """The weights depend on the queries and the encoder alone."""
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in LINES))

    first, second = (train_breadth(HashingEncoder(), path) for _ in range(2))

    assert first == second
    assert set(first) == set(KINDS)


def test_the_queries_are_labelled_and_varied():
    """None of them stands there twice, and narrow ones are the most, since most queries are."""
    examples, texts = read_examples(QUERIES)
    labels = [example.label for example in examples]

    assert set(labels) == {*KINDS, "narrow"}
    assert len(set(texts)) == len(texts)
    assert labels.count("narrow") > len(labels) / 2
