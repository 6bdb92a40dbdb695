"""Vectors without weights."""

import numpy as np
import pytest

from langgraph_engram.embeddings.base import HashingEncoder


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
