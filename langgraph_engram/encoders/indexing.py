"""Turn texts of items and queries into vectors, by an encoder of ours or by the `embed` of LangGraph's `IndexConfig`.

LangChain's `Embeddings` may word queries otherwise than documents, and a function may be asynchronous: the `Encoder`
port knows neither, and so this is a port of its own. All vectors have length 1; one of zeros, which points nowhere,
stays so.
"""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, ensure_embeddings
from langgraph.store.base.embed import EmbeddingsLambda

from langgraph_engram.encoder import Encoder, Vectors
from langgraph_engram.encoders.langchain import name_of
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting


class Indexer(Protocol):
    """Encode what is kept and what is asked."""

    @property
    def name(self) -> str:
        """Give what identifies the vector space."""

    def encode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries.

        Returns:
            Two float32 arrays of shape (n, dimensions); each row has length 1, or 0.
        """

    async def aencode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries without holding up the event loop."""


@dataclass(frozen=True)
class EncoderIndexer:
    """Encode with an encoder of ours, in one call."""

    encoder: Encoder

    @property
    def name(self) -> str:
        """Give the encoder's name."""
        return self.encoder.name

    def encode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries."""
        vectors = self.encoder.encode([*texts, *queries])
        return vectors[: len(texts)], vectors[len(texts) :]

    async def aencode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries in a thread."""
        return await to_thread(self.encode, texts, queries)


@dataclass(frozen=True)
class EmbeddingsIndexer:
    """Encode with LangChain's `Embeddings`, documents as documents and queries as queries."""

    embeddings: Embeddings
    dimensions: int | None = None
    """How many numbers a vector has; None for as many as come."""

    @property
    def name(self) -> str:
        """Give the embeddings' class, or function, with model and dimensions where they are known."""
        function = _function_of(self.embeddings)
        name = name_of(self.embeddings) if function is None else _name_of_function(function)
        return f"{name}:{self.dimensions}" if self.dimensions else name

    def encode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries.

        Raises:
            EncoderUnavailable: The embeddings gave too few vectors, or not of the size they should be.
            ValueError: They were made of an asynchronous function; use the asynchronous twin.
        """
        documents = self.embeddings.embed_documents(list(texts)) if texts else []
        asked = [self.embeddings.embed_query(query) for query in queries]
        return self._checked(documents, len(texts)), self._checked(asked, len(queries))

    async def aencode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries: an asynchronous function on the caller's loop, anything else in a thread."""
        if not hasattr(self.embeddings, "afunc"):
            return await to_thread(self.encode, texts, queries)
        documents = await self.embeddings.aembed_documents(list(texts)) if texts else []
        asked = [await self.embeddings.aembed_query(query) for query in queries]
        return self._checked(documents, len(texts)), self._checked(asked, len(queries))

    def _checked(self, vectors: Sequence[Sequence[float]], count: int) -> Vectors:
        sizes = sorted({len(one) for one in vectors})
        wanted = [self.dimensions or size for size in sizes[:1]]
        if len(vectors) != count or sizes != wanted or 0 in sizes:
            raise EncoderUnavailable(
                f"{self.name!r} gave {len(vectors)} vectors of {sizes} dimensions for {count} texts: check the "
                f"embeddings, and `dims`"
            )
        return unit_rows(np.asarray(vectors, dtype=np.float64).reshape(count, *sizes or (0,)))


def open_indexer(index: IndexConfig, encoder: Encoder) -> Indexer:
    """Open what encodes items.

    Args:
        index: LangGraph's configuration; `embed` and `dims` may be left out.
        encoder: What encodes where `embed` is left out. Nothing of it is loaded before it is needed.

    Raises:
        InvalidSetting: `embed` is nothing that embeds.
    """
    embed = index.get("embed")
    if embed is None:
        return EncoderIndexer(encoder)
    if not isinstance(embed, str | Embeddings) and not callable(embed):
        raise InvalidSetting(f"no `embed`: {embed!r}; give LangChain `Embeddings`, a function, or 'provider:model'")
    return EmbeddingsIndexer(ensure_embeddings(embed), index.get("dims"))


def unit_rows(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Vectors:
    """Scale each row to length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _function_of(embeddings: Embeddings) -> Callable[..., object] | None:
    if not isinstance(embeddings, EmbeddingsLambda):
        return None
    function: Callable[..., object | Awaitable[object]] | None = getattr(
        embeddings, "func", getattr(embeddings, "afunc", None)
    )
    return function


def _name_of_function(function: Callable[..., object]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"
