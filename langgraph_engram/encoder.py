"""Define the port through which text becomes vectors. Adapters live in `encoders/`; nothing heavy is imported here."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]


class Encoder(Protocol):
    """Turn texts into unit vectors."""

    @property
    def name(self) -> str:
        """Give what identifies the vector space. A store refuses an encoder of another name."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1. No texts give (0, dimensions).
        """
