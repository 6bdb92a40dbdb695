"""Remember the vectors of texts that were encoded lately, so that one text is encoded once in a run.

State carries no vectors: a node that needs one asks again, and this makes asking again free. Nothing goes to disk.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.encoder import Encoder, Vectors

SIZE = 20_000
"""Texts remembered unless told otherwise: 30 MB of vectors of 384 dimensions, and the texts."""


class CachedEncoder:
    """Encode with `inner` what is not remembered. Many threads may use it at once, if they may use `inner`."""

    def __init__(self, inner: Encoder, size: int = SIZE) -> None:
        """Start with nothing remembered.

        Args:
            inner: What encodes. It is asked for all that is missing in one call.
            size: Texts remembered; the one used longest ago is forgotten first. 0 remembers nothing.
        """
        self.inner = inner
        self._size = size
        self._rows: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

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

    def _recall(self, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        with self._lock:
            known = {text: self._rows[text] for text in texts if text in self._rows}
            for text in known:
                self._rows.move_to_end(text)
        return known

    def _remember(self, fresh: dict[str, NDArray[np.float32]]) -> None:
        with self._lock:
            self._rows |= fresh
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
