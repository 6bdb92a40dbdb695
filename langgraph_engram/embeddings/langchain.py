"""Adapt any LangChain `Embeddings` to the `Encoder` port.

The port knows one way to encode, and so texts and queries both pass through `embed_documents`: a model that words its
queries differently is used as for documents. Errors of the embeddings' own service are left as they are.
"""

from collections.abc import Sequence

import numpy as np
from langchain_core.embeddings import Embeddings

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.errors import EncoderUnavailable

MODEL_ATTRIBUTES = ("model", "model_name", "model_id", "deployment")
"""Where the integrations keep the name of their model, the likeliest first."""
SIZE_ATTRIBUTES = ("dimensions", "output_dimensionality", "size")
"""Where they keep a number of dimensions that the caller chose: vectors of another number are another space."""
PROBE = "dimensions"
"""A text encoded only to learn how many dimensions there are."""


class LangChainEncoder:
    """Encode with a LangChain `Embeddings`, scaled to length 1."""

    def __init__(self, embeddings: Embeddings, name: str | None = None) -> None:
        """Take the embeddings.

        Args:
            embeddings: What encodes.
            name: What identifies the vector space; None to read it off the embeddings' class, model and dimensions.
                Give one where two models would be named alike.
        """
        self._embeddings = embeddings
        self._name = name or name_of(embeddings)

    @property
    def name(self) -> str:
        """Give what identifies the vector space, such as "OpenAIEmbeddings:text-embedding-3-small"."""
        return self._name

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts, in order, in one call of `embed_documents`. No texts cost one call that learns the dimensions.

        Returns:
            A float32 array of shape (len(texts), dimensions); each row has length 1.

        Raises:
            EncoderUnavailable: The embeddings gave too few vectors, of unequal lengths, or not of finite numbers.
        """
        if not texts:
            return self._embed([PROBE])[:0]
        return self._embed(list(texts))

    def _embed(self, texts: list[str]) -> Vectors:
        lists = self._embeddings.embed_documents(texts)
        dimensions = {len(one) for one in lists}
        if len(lists) != len(texts) or len(dimensions) != 1 or 0 in dimensions:
            raise EncoderUnavailable(
                f"{self.name!r} gave {len(lists)} vectors of {sorted(dimensions)} dimensions for {len(texts)} texts: "
                "check the embeddings"
            )
        vectors = np.asarray(lists, dtype=np.float64)
        if not np.isfinite(vectors).all():
            raise EncoderUnavailable(
                f"{self.name!r} gave a vector with a number that is not finite: check the embeddings"
            )
        return normalised(vectors)


def normalised(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Vectors:
    """Scale each row to length 1. A row of zeros, which points nowhere, becomes one that points equally everywhere.

    Args:
        vectors: Finite numbers, of shape (texts, dimensions); at least one dimension.

    Returns:
        Float32, of the same shape.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    vectors = np.where(largest > 0, vectors / np.where(largest > 0, largest, 1), 1)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def name_of(embeddings: Embeddings) -> str:
    """Name the vector space of embeddings by their class, their model and the dimensions chosen for it."""
    kind = type(embeddings).__name__
    model = next((value for value in _values(embeddings, MODEL_ATTRIBUTES) if isinstance(value, str) and value), None)
    size = next((value for value in _values(embeddings, SIZE_ATTRIBUTES) if isinstance(value, int)), None)
    return ":".join([kind, *([model] if model else []), *([str(size)] if size else [])])


def _values(embeddings: Embeddings, attributes: Sequence[str]) -> list[object]:
    return [getattr(embeddings, attribute, None) for attribute in attributes]
