"""What recognises standing statements can be learned again, and comes out the same."""

import json

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.extraction.standing import KINDS
from training.standing import FILLED, read_examples, train

LINES = [
    *(("instruction", f"Always answer {word} when I ask about {{topic}}.") for word in ("briefly", "fully", "kindly")),
    *(("preference", f"I prefer {word} tea.") for word in ("green", "black", "white", "cold")),
    *(("identity", f"I am a {word}.") for word in ("nurse", "pilot", "baker", "judge")),
    *(("other", f"The {word} is late.") for word in ("train", "bus", "ferry", "guest")),
    *(("topic", word) for word in ("boats", "bread", "tax")),
]


def test_learning_twice_gives_the_same_weights(tmp_path):
    """The weights depend on the sentences and the encoder alone."""
    path = tmp_path / "sentences.jsonl"
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in LINES))

    first, second = (train(HashingEncoder(), path) for _ in range(2))

    assert first == second
    assert set(first) == set(KINDS)


def test_the_sentences_are_labelled_and_varied():
    """A frame is filled with several topics, and none of the sentences stands there twice."""
    examples, texts = read_examples()

    assert {example.label for example in examples} == {*KINDS, "other"}
    assert len(set(texts)) == len(texts)
    assert not any("{" + "topic}" in example.text for example in examples)
    assert len(examples) > len(texts) + FILLED
