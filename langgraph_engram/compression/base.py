"""Define the `Compressor` port, through which texts become shorter before a model reads them."""

from collections.abc import Sequence
from typing import Protocol


class Compressor(Protocol):
    """Leave out words that a reader does not need."""

    def compress(self, texts: Sequence[str]) -> list[str]:
        """Shorten texts.

        Returns:
            A shorter text for each text, in order: some of its words, in their order. A text that has words keeps
            some; a text without words stays as it is.

        Raises:
            CompressorUnavailable: The first call found no weights or lacks a package.
        """
