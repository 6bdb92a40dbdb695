"""What `KeptEncoder` asks of the encoder inside it, and what it leaves on disk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from langgraph_engram.embeddings.caching import DiskCachedEncoder
from langgraph_engram.embeddings.factory import HashingEncoder


class Counting:
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
    first = DiskCachedEncoder(Counting(), tmp_path)
    before = first.encode(["a lake", "a boat"])
    first.close()
    inner = Counting()

    later = DiskCachedEncoder(inner, tmp_path)
    after = later.encode(["a boat", "a tent", "a lake", "a tent"])
    later.close()

    assert inner.asked == [["a tent"]]
    assert np.array_equal(after[[2, 0]], before)
    assert np.array_equal(after[1], after[3])


def test_no_text_is_left_on_disk(tmp_path):
    """Rows are found by hashes."""
    encoder = DiskCachedEncoder(Counting(), tmp_path)
    encoder.encode(["the harbour of Ghent"])
    encoder.close()

    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert b"Ghent" not in left


def test_each_vector_space_has_a_file_of_its_own(tmp_path):
    """Vectors of other weights are never taken for one's own; names that are no file names are made ones."""
    one, other = DiskCachedEncoder(Counting(), tmp_path), DiskCachedEncoder(HashingEncoder(), tmp_path)

    assert one.file != other.file
    assert one.file.parent == other.file.parent == tmp_path
    assert one.name == "counting/1 of 2"
    one.close()
    other.close()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """One encoder for many examples."""
    encoder = DiskCachedEncoder(HashingEncoder(), tmp_path_factory.mktemp("vectors"))
    yield encoder
    encoder.close()


@given(some.lists(some.text(max_size=8), max_size=8))
def test_vectors_are_those_of_the_inner_encoder(kept, texts):
    """Whatever is asked in whatever order, twice."""
    expected = HashingEncoder().encode(texts)

    assert np.array_equal(kept.encode(texts), expected)
    assert np.array_equal(kept.encode(texts), expected)
