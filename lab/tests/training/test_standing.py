"""What tells standing statements and broad queries can be learned again, and comes out the same."""

import json

import pytest

from engram_lab.training.standing import QUERIES, SENTENCES, read_examples, train, train_breadth
from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.extraction.standing import KINDS
from langgraph_engram.retrieval import queries

STANDING = [
    *(("instruction", f"Always answer {word} when I ask about {{topic}}.") for word in ("briefly", "fully", "kindly")),
    *(("preference", f"I prefer {word} tea.") for word in ("green", "black", "white", "cold")),
    *(("identity", f"I am a {word}.") for word in ("nurse", "pilot", "baker", "judge")),
    *(("other", f"The {word} is late.") for word in ("train", "bus", "ferry", "guest")),
]
BROAD = [
    *(("summary", f"Give me a {word} summary of {{topic}}.") for word in ("short", "long", "clear", "full")),
    *(("timeline", f"In what order did I {word} {{topic}}?") for word in ("plan", "do", "see", "mention")),
    *(("narrow", f"When did I {word} {{topic}}?") for word in ("plan", "do", "see", "mention")),
]
TOPICS = [("topic", word) for word in ("boats", "bread", "tax")]


@pytest.mark.parametrize(("learn", "lines", "kinds"), [(train, STANDING, KINDS), (train_breadth, BROAD, queries.BROAD)])
def test_learning_twice_gives_the_same_weights(tmp_path, learn, lines, kinds):
    """The weights depend on the texts and the encoder alone."""
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in [*lines, *TOPICS]))

    first, second = (learn(HashingEncoder(), path) for _ in range(2))

    assert first == second
    assert set(first) == set(kinds)


@pytest.mark.parametrize(("path", "labels"), [(SENTENCES, {*KINDS, "other"}), (QUERIES, {*queries.BROAD, "narrow"})])
def test_the_texts_are_labelled_and_varied(path, labels):
    """A frame is filled with several topics, and none of the texts stands there twice."""
    examples, texts = read_examples(path)

    assert {example.label for example in examples} == labels
    assert len(set(texts)) == len(texts) < len(examples)
    assert not any("{" + "topic}" in example.text for example in examples)
