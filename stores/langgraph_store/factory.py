"""Open the items of a store by its location, and what encodes them.

The locations, folders and locks are those of a memory; the collections are others.
"""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, ensure_embeddings
from langgraph.store.base.embed import EmbeddingsLambda

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.langchain import name_of
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting
from langgraph_engram.stores.base import MEMORY, kind_of_location
from langgraph_engram.stores.clients import Lazy, open_memory, open_server, translated_errors
from langgraph_engram.stores.folders import OPEN_FOLDERS
from langgraph_engram.stores.langgraph_store.index import ItemStore

if TYPE_CHECKING:
    from chromadb.api.client import Client


PART = "items"
"""The part of a folder that holds items."""


def open_items(location: str | Path) -> tuple[ItemStore, Callable[[], None]]:
    """Open the items of a store.

    Args:
        location: A folder, shared within the process; "memory:" for fresh items that are gone when they are closed; or
            the `http(s)://` URL of a Chroma server, which several processes may use.

    Returns:
        The items, and what closes them; to be called once.

    Raises:
        InvalidSetting: The location is empty, or an invalid URL.
        StoreLocked: Another process has the folder open.
        StoreUnwritable: The folder cannot be made or written.
        StoreUnreachable: No Chroma server answers.
    """
    if location == "":
        raise InvalidSetting("the store's location is empty: give a folder, 'memory:' or the URL of a Chroma server")
    kind = kind_of_location(location)
    if kind == "memory":
        client, close = open_memory()
        return ItemStore(client, MEMORY), close
    if kind == "server":
        return _open_on_server(str(location))
    folder = Path(location).expanduser().resolve()
    items = OPEN_FOLDERS.acquire(folder, PART, partial(_open_in_folder, folder))
    return items, partial(OPEN_FOLDERS.release, folder, PART)


def open_indexer(index: IndexConfig, encoder: Encoder) -> "Indexer":
    """Open what encodes items and queries.

    Args:
        index: LangGraph's configuration; `embed` and `dims` may be left out.
        encoder: What encodes where `embed` is left out. Nothing of it is loaded before it is needed.

    Raises:
        InvalidSetting: `embed` cannot embed.
    """
    embed = index.get("embed")
    if embed is None:
        return EncoderIndexer(encoder)
    if not isinstance(embed, str | Embeddings) and not callable(embed):
        raise InvalidSetting(f"invalid `embed` {embed!r}: give LangChain `Embeddings`, a function, or 'provider:model'")
    return EmbeddingsIndexer(ensure_embeddings(embed), index.get("dims"))


class Indexer(Protocol):
    """Encode items and queries into one vector space."""

    @property
    def name(self) -> str:
        """Return what identifies the vector space."""

    def encode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries.

        Returns:
            Two float32 arrays of shape (n, dimensions); each row has length 1, or 0.
        """

    async def aencode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries without holding up the event loop."""


@dataclass(frozen=True)
class EncoderIndexer:
    """Encode with an `Encoder`, in one call."""

    encoder: Encoder

    @property
    def name(self) -> str:
        """Return the encoder's name."""
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
    """The size of a vector; None for any."""

    @property
    def name(self) -> str:
        """Return the embeddings' class, or function, with model and dimensions where they are known."""
        function = _function_of(self.embeddings)
        name = name_of(self.embeddings) if function is None else _name_of_function(function)
        return f"{name}:{self.dimensions}" if self.dimensions else name

    def encode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries.

        Raises:
            EncoderUnavailable: The embeddings gave too few vectors, or not of the size they should be.
            ValueError: They were made of an asynchronous function; use `aencode`.
        """
        documents = self.embeddings.embed_documents(list(texts)) if texts else []
        encoded_queries = [self.embeddings.embed_query(query) for query in queries]
        return self._checked(documents, len(texts)), self._checked(encoded_queries, len(queries))

    async def aencode(self, texts: Sequence[str], queries: Sequence[str]) -> tuple[Vectors, Vectors]:
        """Encode texts and queries: an asynchronous function on the caller's loop, anything else in a thread."""
        if not hasattr(self.embeddings, "afunc"):
            return await to_thread(self.encode, texts, queries)
        documents = await self.embeddings.aembed_documents(list(texts)) if texts else []
        encoded_queries = [await self.embeddings.aembed_query(query) for query in queries]
        return self._checked(documents, len(texts)), self._checked(encoded_queries, len(queries))

    def _checked(self, vectors: Sequence[Sequence[float]], count: int) -> Vectors:
        sizes = sorted({len(vector) for vector in vectors})
        wanted = [self.dimensions or size for size in sizes[:1]]
        if len(vectors) != count or sizes != wanted or 0 in sizes:
            raise EncoderUnavailable(
                f"{self.name!r} gave {len(vectors)} vectors of {sizes} dimensions for {count} texts: check the "
                f"embeddings, and `dims`"
            )
        return _unit_rows(np.asarray(vectors, dtype=np.float64).reshape(count, *sizes or (0,)))


def _open_in_folder(folder: Path, client: "Lazy[Client]") -> ItemStore:
    with translated_errors(str(folder)):
        return ItemStore(client(), str(folder), folder=folder)


def _open_on_server(url: str) -> tuple[ItemStore, Callable[[], None]]:
    with ExitStack() as failed:
        client, close = open_server(url)
        failed.callback(close)
        with translated_errors(url):
            items = ItemStore(client, url, shared=True)
        failed.pop_all()
    return items, close


def _unit_rows(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Vectors:
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
