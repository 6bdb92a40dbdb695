"""Turn text into vectors by hashing its content stems: no weights, nothing to load. For tests and tiny machines.

Texts are near when they share stems; synonyms are strangers (feature hashing with signs, Weinberger et al. 2009).
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from langgraph_engram.encoder import Vectors
from langgraph_engram.language.tokens import content_stems

DIMENSIONS = 256


@lru_cache(maxsize=100_000)
def _hashed(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())


class HashingEncoder:
    """Encode by counting hashed content stems. The same on every machine; safe in many threads."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        """Choose how many dimensions the stems share; at least 1."""
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Give what identifies the vector space."""
        return f"hashing-{self._dimensions}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1, that of a text without content
            stems included.
        """
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature in content_stems(text):
                row[_hashed(feature) // 2 % self._dimensions] += 1 if _hashed(feature) % 2 else -1
            if not row.any():
                row[0] = 1  # no stems, or stems that cancel out: one direction for all of them
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
