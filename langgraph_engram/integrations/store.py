"""LangGraph's long-term store over Chroma.

    with EngramStore("./engram-data") as store:
        graph = builder.compile(store=store)

Its items are kept in a collection of their own; a `Memory` may have the same folder open. It does what LangGraph's
`InMemoryStore` does, and more: items are durable, an update keeps `created_at`, and the vectors of a value go with it
(docs/decisions/0021). Items do not expire.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, IndexConfig, Op, PutOp, Result

from langgraph_engram.config import resolve
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.errors import InvalidInput, InvalidSetting, StoreError
from langgraph_engram.screening import screen_value
from langgraph_engram.stores.base import kind_of_location
from langgraph_engram.stores.clients import open_memory, open_server, translated_errors
from langgraph_engram.stores.folders import OPEN_FOLDERS
from langgraph_engram.stores.langgraph_store import BatchVectors, Items, checked, open_indexer, run_batch

log = logging.getLogger(__name__)

PART = "items"
"""The part of a folder that holds items."""


class EngramStore(BaseStore, AbstractContextManager["EngramStore", None]):
    """LangGraph's store over Chroma. Many threads and event loops may use it at once."""

    def __init__(
        self,
        store: str | Path | None = None,
        *,
        encoder: str | Path | Encoder | Embeddings | None = None,
        index: IndexConfig | Literal[False] | None = None,
    ) -> None:
        """Open a store.

        Args:
            store: A folder, the `http(s)://` URL of a Chroma server, or "memory:" for an empty one of its own that
                is gone when it is closed. Else `ENGRAM_STORE`, else "./engram-data".
            encoder: What makes vectors. Else `ENGRAM_ENCODER`, else MiniLM.
            index: As `InMemoryStore` takes it: `embed` in place of the encoder, its `dims`, and the `fields` that items
                are found by. None for the whole value by the encoder, False for no semantic search.

        Raises:
            InvalidInput: A name or number is invalid.
            StoreError: The store cannot be opened, or its items were indexed with another encoder.
        """
        _check_index(index)
        if encoder is not None and (index is False or (index and index.get("embed"))):
            raise InvalidSetting(f"both encoder {encoder!r} and index {index!r}: give one of them")
        choice = resolve(store, None, None, encoder)
        self._receive = choice.settings.receive
        self.location = choice.store
        self.index_config = None if index is False else IndexConfig(**(index or {}))
        self._indexer = None if index is False else open_indexer(index or {}, open_encoder(choice.encoder))
        self.embeddings = self._indexer.embeddings if self._indexer else None
        self._items, self._release = _open_items(self.location, self._indexer.name if self._indexer else None)
        self._closed = False

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as one batch: all reads see the store as it was before, and then the writes come.

        Args:
            ops: The operations. Of several writes to one address the last one counts.

        Returns:
            The result of each operation, in their order. Items found by a query have a `score`, the cosine of their
            best vector, in -1..1, best first; those without a vector follow with None. Without a query the newest
            come first, by their last update.

        Raises:
            InvalidNamespaceError: A label of a namespace is not text, is empty, or holds a period. Nothing is written.
            InvalidInput: Something else about an operation is invalid, or a value holds a secret that is refused
                (`receive.secrets` in ENGRAM_SETTINGS). Nothing is written.
            StoreError: The store cannot be read or written, or is closed.
        """
        asked = [checked(op) for op in self._screened(list(ops))]
        vectors = self._indexer.embed(asked) if self._indexer else BatchVectors()
        with self._items.writes.held(), translated_errors(self.location):
            if self._closed:
                raise StoreError(f"the store {self.location!r} is closed: open it again")
            return run_batch(self._items, asked, vectors, datetime.now(UTC))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as one batch in a thread, without blocking the event loop; see `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def close(self) -> None:
        """Close the store. Closing twice is harmless."""
        with self._items.writes.lock:  # a batch under way is done first
            closed, self._closed = self._closed, True
            if not closed:
                self._release()

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _screened(self, ops: Sequence[Op]) -> Sequence[Op]:
        """Screen what operations put for secrets, as messages are (`receive.secrets`)."""
        if self._receive.secrets == "keep":
            return ops
        try:
            values, masked = screen_value([op.value if isinstance(op, PutOp) else None for op in ops], self._receive)
        except RecursionError as error:
            raise InvalidInput("a value is nested too deeply to be screened: give a flatter one") from error
        if masked:
            log.warning("%d secrets were masked in what is put into the store (receive.secrets)", masked)
        pairs = zip(ops, values, strict=True)
        return [op._replace(value=value) if isinstance(op, PutOp) else op for op, value in pairs]


@asynccontextmanager
async def open_store_for_server() -> AsyncIterator[EngramStore]:
    """Open the store that `ENGRAM_STORE` and `ENGRAM_ENCODER` name, for `store.path` of a `langgraph.json`.

    The server calls it once for each of its event loops; all of a process share a folder. Opening and closing happen
    in threads.
    """
    store = await asyncio.to_thread(EngramStore)
    try:
        yield store
    finally:
        await asyncio.to_thread(store.close)


def _check_index(index: object) -> None:
    if index is None or index is False:
        return
    names = set(index) if isinstance(index, Mapping) else {"?"}
    if names - set(IndexConfig.__annotations__) or ("dims" in names and "embed" not in names):
        raise InvalidSetting(
            f"index is {index!r}: pass a mapping with `embed` and its `dims`, or without both for the encoder, and "
            f"`fields` where not all of a value is searched; or False"
        )


def _open_items(location: str, encoder: str | None) -> tuple[Items, Callable[[], None]]:
    """Open the items of a store for an encoder of this name, and return what closes them; to be called once."""
    kind = kind_of_location(location)
    with ExitStack() as failed, translated_errors(location):
        if kind == "folder":
            folder = Path(location).expanduser().resolve()
            items = OPEN_FOLDERS.acquire(folder, PART, lambda client: Items(client(), str(folder), folder))
            release: Callable[[], None] = partial(OPEN_FOLDERS.release, folder, PART)
            failed.callback(release)
        else:
            client, release = open_memory() if kind == "memory" else open_server(location)
            failed.callback(release)
            items = Items(client, location)
        if encoder:
            with items.writes.held():
                items.require_encoder(encoder)
        failed.pop_all()
    return items, release
