"""Open the items of a store by its location: the same locations, folders and locks as a memory's, other collections."""

import logging
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Protocol

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, ensure_embeddings
from langgraph.store.base.embed import EmbeddingsLambda

from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.langchain import name_of
from langgraph_engram.errors import EncoderUnavailable, InvalidSetting, StoreError
from langgraph_engram.stores.clients import open_memory, open_server, translated
from langgraph_engram.stores.folders import MEMORY, OPEN_FOLDERS
from langgraph_engram.stores.langgraph_store.index import ItemStore

if TYPE_CHECKING:
    from chromadb.api.client import Client


PART = "items"
"""What the items' part of a folder is called."""


def open_items(location: str | Path) -> tuple[ItemStore, Callable[[], None]]:
    """Open the items of a store.

    Args:
        location: A folder, shared within the process; "memory:" for fresh ones that are kept nowhere; or the
            `http(s)://` URL of a Chroma server, which several processes may use.

    Returns:
        The items, and what lets go of them; to be called once.

    Raises:
        InvalidSetting: The location is empty, or no URL.
        StoreLocked: Another process has the folder open.
        StoreUnwritable: The folder cannot be made or written.
        StoreUnreachable: No Chroma server answers.
    """
    if location == "":
        raise InvalidSetting("no location of a store: give a folder, 'memory:' or the URL of a Chroma server")
    if location == MEMORY:
        client, empty = open_memory(None)
        items = ItemStore(client, MEMORY, on_close=empty)
        return items, items.close
    if isinstance(location, str) and "://" in location:
        items = _open_on_server(location)
        return items, items.close
    folder = Path(location).expanduser().resolve()
    return OPEN_FOLDERS.take(folder, PART, partial(_in_folder, folder)), partial(OPEN_FOLDERS.let_go, folder, PART)


def _in_folder(folder: Path, client: "Client") -> ItemStore:
    with translated(str(folder)):
        return ItemStore(client, str(folder))


def _open_on_server(url: str) -> ItemStore:
    with ExitStack() as failed:
        client, hang_up = open_server(url)
        failed.callback(hang_up)
        with translated(url):
            items = ItemStore(client, url, shared=True, on_close=hang_up)
        failed.pop_all()
    return items


log = logging.getLogger(__name__)


class Sweeper:
    """What sweeps at intervals. It is started and stopped from any thread."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        """Take what removes expired items and gives how many there were."""
        self._sweep = sweep
        self._lock = Lock()
        self._running: tuple[Thread, Event] | None = None

    def start(self, minutes: float) -> None:
        """Sweep every so many minutes. Starting twice is harmless: the first interval stands."""
        with self._lock:
            if self._running is None:
                stop = Event()
                thread = Thread(target=self._run, args=(minutes * 60, stop), name="engram-sweeper", daemon=True)
                self._running = thread, stop
                thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop, and wait at most `timeout` seconds for a sweep under way; gives whether it has stopped."""
        with self._lock:
            running, self._running = self._running, None
        if running is None:
            return True
        thread, stop = running
        stop.set()
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self, seconds: float, stop: Event) -> None:
        while not stop.wait(seconds):
            try:
                swept = self._sweep()
            except StoreError as error:
                log.warning("expired items were not swept: %s", error)
            else:
                log.debug("%d expired items swept", swept)


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
