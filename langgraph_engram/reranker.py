"""Define the port through which what the routes found is read closely and put in a better order."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Say how well each of a few texts answers a query."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score texts for a query.

        Returns:
            One score for each text, in order; a higher one is better, and only their order counts.

        Raises:
            RerankerUnavailable: The first call found no weights or lacks a package.
        """
