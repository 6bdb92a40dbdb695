"""Ask an encoder only for texts whose vectors are not remembered. This module does not know where they are."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.encoder import Encoder, Vectors

Rows: TypeAlias = dict[str, NDArray[np.float32]]
"""Vectors by their texts."""


class RememberingEncoder(ABC):
    """Encode with `inner` what is not remembered. Many threads may use it at once, if they may use `inner`."""

    def __init__(self, inner: Encoder) -> None:
        """Remember for `inner`, which is asked for all that is missing in one call."""
        self.inner = inner

    @property
    def name(self) -> str:
        """Give the inner encoder's name: the vector space is the same."""
        return self.inner.name

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order. The array is the caller's own.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1.
        """
        if not texts:
            return self.inner.encode(texts)
        rows = self._recall(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in rows]
        if missing:
            fresh = {text: row.copy() for text, row in zip(missing, self.inner.encode(missing), strict=True)}
            self._remember(fresh)
            rows |= fresh
        return np.stack([rows[text] for text in texts])

    @abstractmethod
    def _recall(self, texts: Sequence[str]) -> Rows:
        """Give the vectors of those texts that are remembered."""

    @abstractmethod
    def _remember(self, fresh: Mapping[str, NDArray[np.float32]]) -> None:
        """Remember the vectors of texts."""
