"""Encode texts by counting hashed content stems: an encoder that needs no weights, for tests and quick trials."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.text.tokens import content_stems

DIMENSIONS = 256


class HashingEncoder:
    """Encode by counting hashed content stems. The same on every machine; safe in many threads."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        """Create an encoder with this many dimensions, at least 1."""
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Return the name of the vector space."""
        return f"hashing-{self._dimensions}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1, also for a text without content
            stems.
        """
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for stem in content_stems(text):
                row[_hash(stem) // 2 % self._dimensions] += 1 if _hash(stem) % 2 else -1
            if not row.any():
                row[0] = 1  # no stems, or stems that cancel out: one direction for all of them
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@lru_cache(maxsize=100_000)
def _hash(stem: str) -> int:
    return int.from_bytes(hashlib.blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest())
