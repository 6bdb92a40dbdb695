"""A vector is that of the text itself, or the mean of its sentences' where it is long."""

import numpy as np
import pytest

from langgraph_engram.embeddings.base import (
    LONG_TEXT,
    MOST_TEXTS,
    HashingEncoder,
    encode_items,
    mean_of,
    texts_of_narrative,
    texts_of_turn,
)
from langgraph_engram.text.markdown import MAX_CHUNK, chunks_of
from tests.conftest import make_turn


def turn(text):
    """Make a turn of an assistant."""
    return make_turn(0, text, role="assistant", speaker="assistant")


def test_a_short_turn_is_one_text():
    """It is what it was."""
    one = turn("Take the ferry. It leaves at noon.")

    assert texts_of_turn(one) == [one.indexed_text]
    assert np.array_equal(
        encode_items(HashingEncoder(), [texts_of_turn(one)])[0], HashingEncoder().encode([one.indexed_text])[0]
    )


def test_a_long_turn_is_read_to_its_end():
    """Each of its passages counts by what it begins with."""
    long = turn("We walked along the shore for a while. " * (MAX_CHUNK // 20) + "The lighthouse keeper plays chess.")

    texts = texts_of_turn(long)
    vectors = encode_items(HashingEncoder(), [texts, texts_of_turn(turn("Yes."))])

    assert all(text.startswith("assistant: We walked along the shore") for text in texts)
    assert len(texts) == len(chunks_of(long.text, "assistant")) > 1
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-6)


def test_a_document_is_encoded_by_its_passages():
    """Not by its sentences beside them."""
    sentences = [f"My number is {number}." for number in range(3 * MOST_TEXTS)]

    texts = [
        texts_of_turn(make_turn(0, " ".join(sentences), role=role, speaker="Ana")) for role in ("user", "assistant")
    ]

    assert texts[0] == texts[1]
    assert len(texts[0]) < len(sentences) / 20


def test_a_very_long_turn_is_a_bounded_number_of_texts():
    """They are spread over all of it, up to its end."""
    sentences = [f"I am {number}." for number in range(3 * MOST_TEXTS)]

    texts = texts_of_turn(make_turn(0, " ".join(sentences), role="user", speaker="user"))

    assert MOST_TEXTS // 2 <= len(texts) <= MOST_TEXTS
    assert texts[-1] in [f"user: {sentence}" for sentence in sentences[-5:]]


def test_a_narrative_is_read_to_its_end_too():
    """A short one is one text; of a long one every sentence counts."""
    short, sentence = "Mon 1 May 2023: Ana moved. Ben: I know.", "Ana: I walked along the shore for a while."

    assert texts_of_narrative(short) == [short]
    assert texts_of_narrative(" ".join([sentence] * (LONG_TEXT // 40))) == [sentence] * (LONG_TEXT // 40)
    assert texts_of_narrative("?" * LONG_TEXT) == ["?" * LONG_TEXT]


def test_long_sentences_weigh_more():
    """The mean of sentences is that of their words, nearly; of opposite ones, which has no length, it stays finite."""
    east, north = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)

    mean, none = mean_of(["aaa", "b"], {"aaa": east, "b": north}), mean_of(["a", "b"], {"a": east, "b": -east})

    assert mean == pytest.approx(np.array([3, 1]) / np.sqrt(10), abs=1e-6)
    assert np.isfinite(none).all()


@pytest.mark.parametrize(
    ("reason", "purpose", "expected"),
    [
        ("", "", "Ana: I run to stay fit."),
        ("", "to stay fit", "Ana: I run to stay fit."),
        ("her knee healed", "to stay fit", "Ana: I run to stay fit. her knee healed"),
        ("", "a marathon", "Ana: I run to stay fit. a marathon"),
    ],
)
def test_a_record_is_found_by_its_reason_and_purpose_too(record, reason, purpose, expected):
    """They stand beside the content where they are not words of it."""
    assert record(0, "Ana: I run to stay fit.", reason=reason, purpose=purpose).indexed_text == expected
