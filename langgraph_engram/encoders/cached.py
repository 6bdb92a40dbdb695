"""Remember the vectors of texts that were encoded lately, so that one text is encoded once in a run.

State carries no vectors: a node that needs one asks again, and this makes asking again free. Nothing goes to disk.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.encoder import Encoder
from langgraph_engram.encoders.remembering import RememberingEncoder, Rows

SIZE = 20_000
"""Texts remembered unless told otherwise: 30 MB of vectors of 384 dimensions, and the texts."""


class CachedEncoder(RememberingEncoder):
    """Encode with `inner` what was not encoded lately in this process."""

    def __init__(self, inner: Encoder, size: int = SIZE) -> None:
        """Start with nothing remembered.

        Args:
            inner: What encodes.
            size: Texts remembered; the one used longest ago is forgotten first. 0 remembers nothing.
        """
        super().__init__(inner)
        self._size = size
        self._rows: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def _recall(self, texts: Sequence[str]) -> Rows:
        with self._lock:
            known = {text: self._rows[text] for text in texts if text in self._rows}
            for text in known:
                self._rows.move_to_end(text)
        return known

    def _remember(self, fresh: Mapping[str, NDArray[np.float32]]) -> None:
        with self._lock:
            self._rows |= fresh
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
