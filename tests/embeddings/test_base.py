"""The encoder that needs no weights, and what the cache of vectors asks of the encoder inside."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from langgraph_engram.embeddings.base import CachingEncoder, HashingEncoder, Vectors


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


def test_every_text_has_a_unit_vector():
    """Empty texts and texts of stop words too."""
    vectors = HashingEncoder(32).encode(["I went camping", "", "the", "🏕", "\ud83d"])

    assert (vectors.shape, vectors.dtype) == ((5, 32), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    assert HashingEncoder(32).encode([]).shape == (0, 32)


def test_texts_of_the_same_stems_are_one():
    """Word order, endings and stop words make no difference; other words do."""
    camping, camps, soup = HashingEncoder().encode(["Camping by the lake", "lake camps", "soup for dinner"])

    assert camping @ camps == pytest.approx(1)
    assert camping @ soup < 0.5


def test_vectors_are_the_same_everywhere():
    """They depend on nothing of this machine or this process."""
    vector = HashingEncoder(8).encode(["camping"])[0]

    assert np.flatnonzero(vector).tolist() == [3]
    assert HashingEncoder(8).name == "hashing-8"
