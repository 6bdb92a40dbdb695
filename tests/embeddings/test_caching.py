"""The cache of vectors: what it asks of the encoder inside."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from langgraph_engram.embeddings.base import CachingEncoder, Vectors


class CountingEncoder:
    """Turn a text into a direction of its own, and remember what was asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an angle that depends on the text alone."""
        self.asked.append(list(texts))
        angles = np.array([sum(map(ord, text)) + len(text) for text in texts], dtype=np.float32)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_only_what_is_missing_is_encoded_and_in_one_call() -> None:
    """Known texts and repeats cost nothing."""
    inner = CountingEncoder()
    encoder = CachingEncoder(inner)
    encoder.encode(["a", "b"])

    encoder.encode(["c", "a", "d", "c", "b"])
    encoder.encode(["d", "a"])

    assert inner.asked == [["a", "b"], ["c", "d"]]


@given(some.lists(some.lists(some.text(max_size=3), max_size=6), max_size=6), some.integers(0, 4))
def test_vectors_are_those_of_the_inner_encoder(calls: list[list[str]], size: int) -> None:
    """Whatever is asked in whatever order, and however little is remembered."""
    encoder = CachingEncoder(CountingEncoder(), size=size)

    for texts in calls:
        assert np.array_equal(encoder.encode(texts), CountingEncoder().encode(texts))


def test_the_text_used_longest_ago_is_forgotten_first() -> None:
    """Being asked for again counts as use."""
    inner = CountingEncoder()
    encoder = CachingEncoder(inner, size=2)
    for text in ("a", "b", "a", "c"):
        encoder.encode([text])

    encoder.encode(["a"])
    encoder.encode(["b"])

    assert inner.asked == [["a"], ["b"], ["c"], ["b"]]


def test_what_a_caller_does_to_an_array_stays_with_the_caller() -> None:
    """The remembered rows cannot be written through what was given."""
    encoder = CachingEncoder(CountingEncoder())
    expected = encoder.encode(["a"]).copy()

    encoder.encode(["a"])[:] = 0

    assert np.array_equal(encoder.encode(["a"]), expected)


def test_many_threads_may_encode_at_once() -> None:
    """While texts come and go, every thread gets its own rows."""
    encoder = CachingEncoder(CountingEncoder(), size=5)
    texts = [f"text {number % 11}" for number in range(1200)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: encoder.encode([text]), texts))

    assert all(np.array_equal(row, CountingEncoder().encode([text])) for row, text in zip(found, texts, strict=True))


def test_a_failure_is_not_remembered() -> None:
    """What could not be encoded is asked for again."""

    class FailingOnce(CountingEncoder):
        def encode(self, texts: Sequence[str]) -> Vectors:
            vectors = super().encode(texts)
            if len(self.asked) == 1:
                raise ConnectionError("gone for a moment")
            return vectors

    encoder = CachingEncoder(FailingOnce())
    with pytest.raises(ConnectionError):
        encoder.encode(["a"])

    assert encoder.encode(["a"]).shape == (1, 2)
