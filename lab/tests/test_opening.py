"""The cache of vectors on disk: what it asks of the encoder inside, and what it leaves there."""

import numpy as np

from engram_lab.opening import VectorCache
from langgraph_engram.embeddings.base import HashingEncoder


class CountingHashes:
    """A hashing encoder that remembers what it was asked."""

    name = "counting/1 of 2"

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        """Encode, and remember."""
        self.asked.append(list(texts))
        return HashingEncoder().encode(texts)


def test_a_later_process_encodes_nothing_again(tmp_path):
    """The vectors come back bit for bit; only what is new is asked for, and in one call."""
    first = VectorCache(CountingHashes(), tmp_path)
    before = first.encode(["a lake", "a boat"])
    first.close()
    inner = CountingHashes()

    later = VectorCache(inner, tmp_path)
    after = later.encode(["a boat", "a tent", "a lake", "a tent"])
    later.close()

    assert inner.asked == [["a tent"]]
    assert np.array_equal(after[[2, 0]], before)
    assert np.array_equal(after[1], after[3])


def test_no_text_is_left_on_disk(tmp_path):
    """Rows are found by hashes."""
    encoder = VectorCache(CountingHashes(), tmp_path)
    encoder.encode(["the harbour of Ghent"])
    encoder.close()

    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert b"Ghent" not in left
