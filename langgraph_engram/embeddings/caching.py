"""Cache the vectors of an encoder in memory."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np

from langgraph_engram.embeddings.base import Encoder, Vectors

DEFAULT_SIZE = 20_000
"""Texts in memory: 30 MB of vectors of 384 dimensions, and the texts."""


class CachingEncoder:
    """Encode texts with `inner` unless their vectors are cached. As safe in many threads as `inner` is."""

    def __init__(self, inner: Encoder, size: int = DEFAULT_SIZE) -> None:
        """Create an empty cache of `size` texts; the least recently used is evicted first, 0 caches nothing."""
        self.inner = inner
        self._size = size
        self._rows: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = Lock()

    @property
    def name(self) -> str:
        """Return the inner encoder's name: the vector space is the same."""
        return self.inner.name

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, the missing ones in one call. The array is not shared with the cache."""
        if not texts:
            return self.inner.encode(texts)
        rows = self._load(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in rows]
        if missing:
            fresh = {text: row.copy() for text, row in zip(missing, self.inner.encode(missing), strict=True)}
            self._save(fresh)
            rows |= fresh
        return np.stack([rows[text] for text in texts])

    def _load(self, texts: Sequence[str]) -> dict[str, Vectors]:
        with self._lock:
            known = {text: self._rows[text] for text in texts if text in self._rows}
            for text in known:
                self._rows.move_to_end(text)
        return known

    def _save(self, fresh: Mapping[str, Vectors]) -> None:
        with self._lock:
            self._rows |= fresh
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
