"""Caches of vectors: what they ask of the encoder inside, and what they leave on disk."""

from collections.abc import Sequence
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from langgraph_engram.embeddings.base import HashingEncoder, Vectors
from langgraph_engram.embeddings.caching import CachedEncoder, DiskCachedEncoder


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
    encoder = CachedEncoder(inner)
    encoder.encode(["a", "b"])

    encoder.encode(["c", "a", "d", "c", "b"])
    encoder.encode(["d", "a"])

    assert inner.asked == [["a", "b"], ["c", "d"]]


@given(some.lists(some.lists(some.text(max_size=3), max_size=6), max_size=6), some.integers(0, 4))
def test_vectors_are_those_of_the_inner_encoder(calls: list[list[str]], size: int) -> None:
    """Whatever is asked in whatever order, and however little is remembered."""
    encoder = CachedEncoder(CountingEncoder(), size=size)

    for texts in calls:
        assert np.array_equal(encoder.encode(texts), CountingEncoder().encode(texts))


def test_the_text_used_longest_ago_is_forgotten_first() -> None:
    """Being asked for again counts as use."""
    inner = CountingEncoder()
    encoder = CachedEncoder(inner, size=2)
    for text in ("a", "b", "a", "c"):
        encoder.encode([text])

    encoder.encode(["a"])
    encoder.encode(["b"])

    assert inner.asked == [["a"], ["b"], ["c"], ["b"]]


def test_more_texts_than_are_remembered_are_all_encoded() -> None:
    """A long write does not lose rows to its own later ones."""
    encoder = CachedEncoder(CountingEncoder(), size=3)
    texts = [str(number) for number in range(50)]

    vectors = encoder.encode(texts)

    assert np.array_equal(vectors, CountingEncoder().encode(texts))


def test_what_a_caller_does_to_an_array_stays_with_the_caller() -> None:
    """The remembered rows cannot be written through what was given."""
    encoder = CachedEncoder(CountingEncoder())
    expected = encoder.encode(["a"]).copy()

    encoder.encode(["a"])[:] = 0

    assert np.array_equal(encoder.encode(["a"]), expected)


def test_many_threads_may_encode_at_once() -> None:
    """While texts come and go, every thread gets its own rows."""
    encoder = CachedEncoder(CountingEncoder(), size=5)
    wrong: list[str] = []

    def ask(start: int) -> None:
        for number in range(300):
            text = f"text {(start + number) % 11}"
            if not np.array_equal(encoder.encode([text]), CountingEncoder().encode([text])):
                wrong.append(text)

    threads = [Thread(target=ask, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_a_failure_is_not_remembered() -> None:
    """What could not be encoded is asked for again."""

    class FailingOnce(CountingEncoder):
        def encode(self, texts: Sequence[str]) -> Vectors:
            vectors = super().encode(texts)
            if len(self.asked) == 1:
                raise ConnectionError("gone for a moment")
            return vectors

    encoder = CachedEncoder(FailingOnce())
    with pytest.raises(ConnectionError):
        encoder.encode(["a"])

    assert encoder.encode(["a"]).shape == (1, 2)


def test_the_name_is_the_inner_encoders() -> None:
    """A cache does not make another vector space."""
    assert CachedEncoder(CountingEncoder()).name == "counting"


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
    first = DiskCachedEncoder(CountingHashes(), tmp_path)
    before = first.encode(["a lake", "a boat"])
    first.close()
    inner = CountingHashes()

    later = DiskCachedEncoder(inner, tmp_path)
    after = later.encode(["a boat", "a tent", "a lake", "a tent"])
    later.close()

    assert inner.asked == [["a tent"]]
    assert np.array_equal(after[[2, 0]], before)
    assert np.array_equal(after[1], after[3])


def test_no_text_is_left_on_disk(tmp_path):
    """Rows are found by hashes."""
    encoder = DiskCachedEncoder(CountingHashes(), tmp_path)
    encoder.encode(["the harbour of Ghent"])
    encoder.close()

    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert b"Ghent" not in left


def test_each_vector_space_has_a_file_of_its_own(tmp_path):
    """Vectors of other weights are never mixed; names that are no file names are made ones."""
    counting, hashing = DiskCachedEncoder(CountingHashes(), tmp_path), DiskCachedEncoder(HashingEncoder(), tmp_path)

    assert counting.file != hashing.file
    assert counting.file.parent == hashing.file.parent == tmp_path
    assert counting.name == "counting/1 of 2"
    counting.close()
    hashing.close()


@pytest.fixture(scope="module")
def disk_cache(tmp_path_factory):
    """One encoder for many examples."""
    encoder = DiskCachedEncoder(HashingEncoder(), tmp_path_factory.mktemp("vectors"))
    yield encoder
    encoder.close()


@given(some.lists(some.text(max_size=8), max_size=8))
def test_vectors_on_disk_are_those_of_the_inner_encoder(disk_cache, texts):
    """Whatever is asked in whatever order, twice."""
    expected = HashingEncoder().encode(texts)

    assert np.array_equal(disk_cache.encode(texts), expected)
    assert np.array_equal(disk_cache.encode(texts), expected)
