"""Adapt any LangChain `Embeddings` to the `Encoder` port.

The port has one way to encode, so queries pass through `embed_documents` like texts.
"""

from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderUnavailable

MODEL_ATTRIBUTES = ("model", "model_name", "model_id", "deployment")
"""Attributes that may hold the name of the model, the likeliest first."""
SIZE_ATTRIBUTES = ("dimensions", "output_dimensionality", "size")
"""Attributes that may hold a chosen number of dimensions: another number is another vector space."""
MAX_REASON = 300
"""Characters of an error of a service that are kept."""
PROBE = "dimensions"
"""A text encoded only to learn how many dimensions there are."""


class LangChainEncoder:
    """Encode with a LangChain `Embeddings`, scaled to length 1."""

    def __init__(self, embeddings: Embeddings, name: str | None = None) -> None:
        """Wrap embeddings.

        Args:
            embeddings: The embeddings.
            name: The name of the vector space; None to derive it from the embeddings' class, model and dimensions.
                Pass one where two models would get the same name.
        """
        self._embeddings = embeddings
        self.name = name or name_of(embeddings)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, in one call of `embed_documents`. No texts cost one call that learns the dimensions.

        Raises:
            EncoderUnavailable: The embeddings failed, or gave too few vectors, of unequal lengths, or not of finite
                numbers.
        """
        return self._embed(list(texts)) if texts else self._embed([PROBE])[:0]

    def _embed(self, texts: list[str]) -> Vectors:
        try:
            lists = self._embeddings.embed_documents(texts)
        except Exception as error:  # each service has errors of its own
            reason = " ".join(str(error).split())[:MAX_REASON]
            raise self._unavailable(f"gave no vectors: {type(error).__name__}: {reason}") from error
        dimensions = {len(vector) for vector in lists}
        if len(lists) != len(texts) or len(dimensions) != 1 or 0 in dimensions:
            raise self._unavailable(
                f"gave {len(lists)} vectors of {sorted(dimensions)} dimensions for {len(texts)} texts"
            )
        vectors = np.asarray(lists, dtype=np.float64)
        if not np.isfinite(vectors).all():
            raise self._unavailable("gave a vector with a number that is not finite")
        return _normalize(vectors)

    def _unavailable(self, reason: str) -> EncoderUnavailable:
        return EncoderUnavailable(f"{self.name!r} {reason}; check the embeddings, or try again")


def name_of(embeddings: Embeddings) -> str:
    """Return the name of an embeddings' vector space: its class, its model and the dimensions chosen for it."""
    names = [getattr(embeddings, attribute, None) for attribute in MODEL_ATTRIBUTES]
    sizes = [getattr(embeddings, attribute, None) for attribute in SIZE_ATTRIBUTES]
    model = next((name for name in names if isinstance(name, str) and name), "")
    size = next((str(size) for size in sizes if isinstance(size, int)), "")
    return ":".join(part for part in (type(embeddings).__name__, model, size) if part)


def _normalize(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Vectors:
    """Scale each row to length 1. A row of zeros, which has no direction, becomes one with equal components."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    vectors = np.where(largest > 0, vectors / np.where(largest > 0, largest, 1), 1)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
