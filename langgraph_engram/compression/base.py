"""Define the port through which texts become shorter before a model reads them. Adapters live in `compression/`."""

from collections.abc import Sequence
from typing import Protocol


class Compressor(Protocol):
    """Leave out of texts what a reader can do without."""

    def compress(self, texts: Sequence[str]) -> list[str]:
        """Shorten texts.

        Returns:
            One for each text, in order: some of its words, in their order. A text that has words keeps some; one that
            has none is given back as it is.

        Raises:
            CompressorUnavailable: The first call found no weights or lacks a package.
        """
