"""The port through which texts become vectors, its cache, an encoder without weights, and which texts are encoded."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from threading import Lock
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.schema import Turn
from langgraph_engram.text.markdown import chunks_of, is_cut_whole, prose_of
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.words import content_stems

Vectors: TypeAlias = NDArray[np.float32]
Reading = Literal["message", "statement"]
"""What a text is read for: what bears on a message, or what a statement is good for."""

LONG_TEXT = 1000
"""Characters from which a text is encoded sentence by sentence: about what 256 tokens hold."""
MAX_OPENING = 200
"""Characters of a chunk of a long message that are encoded: its headings, and what it begins with."""
MOST_TEXTS = 400
"""Texts of a turn that its vector is the mean of, evenly chosen: as many of a long message say what it is about."""
CACHED_TEXTS = 20_000
"""Texts whose vectors are cached: 30 MB of vectors of 384 dimensions, and the texts."""


class Encoder(Protocol):
    """Turn texts into unit vectors."""

    @property
    def name(self) -> str:
        """Return the name of the vector space. A store refuses an encoder of another name."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1. No texts give (0, dimensions).
        """


@runtime_checkable
class ReadingEncoder(Encoder, Protocol):
    """An encoder that can read texts for more than what they are about."""

    def encode_as(self, reading: Reading, texts: Sequence[str]) -> Vectors:
        """Encode texts as `encode` does, by another reading."""


def encode_as(encoder: Encoder, reading: Reading, texts: Sequence[str]) -> Vectors | None:
    """Return the unit vectors of texts by a reading; None if the encoder has none."""
    return encoder.encode_as(reading, texts) if isinstance(encoder, ReadingEncoder | CachingEncoder) else None


def can_read(encoder: Encoder) -> bool:
    """Return whether an encoder, or the one behind its caches, has readings."""
    return can_read(encoder.inner) if isinstance(encoder, CachingEncoder) else isinstance(encoder, ReadingEncoder)


def texts_of_turn(turn: Turn) -> list[str]:
    """Return the texts whose mean vector stands for a turn, at least one."""
    if len(turn.text) < LONG_TEXT:
        return [turn.indexed_text]
    chunks = [opening_of(f"{turn.speaker}: {chunk}") for chunk in chunks_of(turn.text, turn.role)]
    plain = turn.text if not chunks else "" if is_cut_whole(turn.text, turn.role) else prose_of(turn.text)
    texts = [*(f"{turn.speaker}: {sentence}" for sentence in split_sentences(plain)), *chunks, *turn.captions]
    return texts[:: max(1, -(-len(texts) // MOST_TEXTS))]


def opening_of(chunk: str) -> str:
    """Return the part of a chunk of a long message that its vector is made of: its words are found by all of it."""
    return chunk[:MAX_OPENING]


def texts_of_narrative(text: str) -> list[str]:
    """Return the texts whose mean vector stands for a narrative, at least one."""
    return [text] if len(text) < LONG_TEXT else split_sentences(text) or [text]


def encode_items(encoder: Encoder, texts_by_item: Sequence[Sequence[str]]) -> Vectors:
    """Encode items, in order, each by the mean of its texts: one unit row an item."""
    if not texts_by_item:
        return encoder.encode([])
    distinct = list(dict.fromkeys(text for texts in texts_by_item for text in texts))
    vectors = dict(zip(distinct, encoder.encode(distinct), strict=True))
    return np.stack([mean_of(texts, vectors) for texts in texts_by_item])


def mean_of(texts: Sequence[str], vectors: Mapping[str, Vectors]) -> Vectors:
    """Return the mean of the unit vectors of texts, at least one, weighted by length and scaled to length 1."""
    if len(texts) == 1:
        return vectors[texts[0]]
    weights = np.array([len(text) for text in texts], dtype=np.float32)
    total: Vectors = weights @ np.stack([vectors[text] for text in texts])
    return np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), dtype=np.float32)  # opposite vectors: 0


class CachingEncoder:
    """Encode texts with `inner` unless their vectors are cached. As safe in many threads as `inner` is."""

    def __init__(self, inner: Encoder, size: int = CACHED_TEXTS) -> None:
        """Create an empty cache of `size` vectors; the least recently used is evicted first, 0 caches nothing."""
        self.inner = inner
        self._size = size
        self._rows: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._lock = Lock()

    @property
    def name(self) -> str:
        """Return the inner encoder's name: the vector space is the same."""
        return self.inner.name

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, the missing ones in one call. The array is not shared with the cache."""
        return self._cached("", texts, self.inner.encode)

    def encode_as(self, reading: Reading, texts: Sequence[str]) -> Vectors | None:
        """Encode texts by a reading, as `encode` does; None if the inner encoder has none."""
        if not can_read(self.inner):
            return None
        return self._cached(reading, texts, partial(encode_as, self.inner, reading))

    def _cached(self, reading: str, texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors | None]) -> Vectors:
        if not texts:
            return self.inner.encode(texts)
        keys = [(reading, text) for text in texts]
        with self._lock:
            rows = {key: self._rows[key] for key in keys if key in self._rows}
            for key in rows:
                self._rows.move_to_end(key)
        missing = [key for key in dict.fromkeys(keys) if key not in rows]
        if missing:
            encoded = encode([text for _, text in missing])
            fresh = {key: row.copy() for key, row in zip(missing, () if encoded is None else encoded, strict=True)}
            rows |= fresh
            with self._lock:
                self._rows |= fresh
                while len(self._rows) > self._size:
                    self._rows.popitem(last=False)
        return np.stack([rows[key] for key in keys])


class HashingEncoder:
    """Encode by counting hashed content stems. The same on every machine; safe in many threads."""

    def __init__(self, dimensions: int = 256) -> None:
        self.name = f"hashing-{dimensions}"
        self._dimensions = dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order; a text without content stems has a vector of length 1 too."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for position, sign in map(_hash, content_stems(text)):
                row[position % self._dimensions] += sign
            if not row.any():
                row[0] = 1  # no stems, or stems that cancel out: one direction for all of them
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@lru_cache(maxsize=100_000)
def _hash(stem: str) -> tuple[int, int]:
    number = int.from_bytes(hashlib.blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return number // 2, 1 if number % 2 else -1
