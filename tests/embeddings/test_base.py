"""The encoder that needs no weights, and what the cache of vectors asks of the encoder inside."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from langgraph_engram.embeddings.base import CachingEncoder, HashingEncoder, Vectors


class CountingEncoder(HashingEncoder):
    """Remember what was asked."""

    def __init__(self) -> None:
        super().__init__(8)
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the hashed vectors of texts."""
        self.asked.append(list(texts))
        return super().encode(texts)


@pytest.mark.parametrize(
    ("size", "calls", "asked"),
    [(9, ["ab", "cadcb", "da"], ["ab", "cd"]), (2, ["a", "b", "a", "c", "a", "b"], ["a", "b", "c", "b"])],
)
def test_only_what_is_missing_is_encoded_and_in_one_call(size: int, calls: list[str], asked: list[str]) -> None:
    """Known texts and repeats cost nothing; the text used longest ago is forgotten first.

    What a caller does to an array stays with the caller.
    """
    inner = CountingEncoder()
    encoder = CachingEncoder(inner, size=size)

    for texts in calls:
        vectors = encoder.encode(list(texts))
        assert np.array_equal(vectors, HashingEncoder(8).encode(list(texts)))
        vectors[:] = 0

    assert inner.asked == [list(texts) for texts in asked]


@given(some.lists(some.lists(some.text(max_size=3), max_size=6), max_size=6), some.integers(0, 4))
def test_vectors_are_those_of_the_inner_encoder(calls: list[list[str]], size: int) -> None:
    """Whatever is asked in whatever order, and however little is remembered."""
    encoder = CachingEncoder(CountingEncoder(), size=size)

    for texts in calls:
        assert np.array_equal(encoder.encode(texts), CountingEncoder().encode(texts))


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
    """Word order, endings and stop words make no difference, nor this machine or process; other words do."""
    camping, camps, soup = HashingEncoder().encode(["Camping by the lake", "lake camps", "soup for dinner"])

    assert camping @ camps == pytest.approx(1)
    assert camping @ soup < 0.5
    assert np.flatnonzero(HashingEncoder(8).encode(["camping"])).tolist() == [3]
    assert HashingEncoder(8).name == "hashing-8"
