"""Embed what items are found by, and queries: with LangChain's `Embeddings`, or with an `Encoder` as such."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, ensure_embeddings

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.factory import name_of
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting
from langgraph_engram.stores.langgraph_store.operations import CheckedBatch


@dataclass(frozen=True)
class BatchVectors:
    """The vectors of a batch, by text, each of shape (dimensions,) and length 1, or 0."""

    texts: Mapping[str, Vectors] = field(default_factory=dict)
    queries: Mapping[str, Vectors] = field(default_factory=dict)

    def of(self, texts: Sequence[str]) -> Vectors | None:
        """Return the vectors of texts one after another, or None if there are no texts."""
        return np.concatenate([self.texts[text] for text in texts]) if texts else None


@dataclass(frozen=True)
class Indexer:
    """Embed documents as documents and queries as queries, in one vector space."""

    embeddings: Embeddings
    name: str
    """What identifies the vector space."""
    dimensions: int | None = None
    """The size of a vector; None for any."""

    def embed(self, batch: CheckedBatch) -> BatchVectors:
        """Embed the texts and queries of a batch."""
        documents = self.embeddings.embed_documents(batch.texts) if batch.texts else []
        queries = [self.embeddings.embed_query(query) for query in batch.queries]
        return BatchVectors(self._by_text(batch.texts, documents), self._by_text(batch.queries, queries))

    async def aembed(self, batch: CheckedBatch) -> BatchVectors:
        """Embed the texts and queries of a batch without holding up the event loop."""
        documents = await self.embeddings.aembed_documents(batch.texts) if batch.texts else []
        queries = [await self.embeddings.aembed_query(query) for query in batch.queries]
        return BatchVectors(self._by_text(batch.texts, documents), self._by_text(batch.queries, queries))

    def _by_text(self, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> dict[str, Vectors]:
        """Return vectors scaled to length 1, but for those of zeros."""
        sizes = sorted({len(vector) for vector in vectors})
        wanted = [self.dimensions or size for size in sizes[:1]]
        if len(vectors) != len(texts) or sizes != wanted or 0 in sizes:
            raise EncoderUnavailable(
                f"{self.name!r} gave {len(vectors)} vectors of {sizes} dimensions for {len(texts)} texts: check the "
                f"embeddings, and `dims`"
            )
        rows = np.asarray(vectors, dtype=np.float64).reshape(len(texts), *sizes or (0,))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return dict(zip(texts, np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32), strict=True))


def open_indexer(index: IndexConfig, encoder: Encoder) -> Indexer:
    """Open what embeds items and queries."""
    embed = index.get("embed")
    if embed is None:
        return Indexer(_OfEncoder(encoder), encoder.name)
    if not isinstance(embed, str | Embeddings) and not callable(embed):
        raise InvalidSetting(f"invalid `embed` {embed!r}: give LangChain `Embeddings`, a function, or 'provider:model'")
    embeddings, dimensions = ensure_embeddings(embed), index.get("dims")
    name = name_of(embeddings) if isinstance(embed, str | Embeddings) else _name_of_function(embed)
    return Indexer(embeddings, f"{name}:{dimensions}" if dimensions else name, dimensions)


@dataclass(frozen=True)
class _OfEncoder(Embeddings):
    """An `Encoder` as LangChain's `Embeddings`."""

    encoder: Encoder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.encoder.encode(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def _name_of_function(function: object) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"
