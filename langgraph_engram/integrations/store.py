"""LangGraph's long-term store over Chroma.

    with EngramStore("./engram-data") as store:
        graph = builder.compile(store=store)

It keeps its items in the folder that a `Memory` may have open too, in collections of its own. What LangGraph's
`InMemoryStore` does, this does, and more: items last, `created_at` is kept, items may expire, and the vectors of a
value that has gone go with it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, IndexConfig, Op, Result, TTLConfig

from langgraph_engram.config import resolve
from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.errors import InvalidSetting, StoreError
from langgraph_engram.stores.clients import translated
from langgraph_engram.stores.langgraph_store.factory import Indexer, Sweeper, open_indexer, open_items
from langgraph_engram.stores.langgraph_store.index import ItemStore
from langgraph_engram.stores.langgraph_store.operations import BatchVectors, Plan, plan, run

WHOLE_VALUE = ["$"]
"""The path to all of a value: what items are found by unless told otherwise."""
SWEEP = 5.0
"""Minutes between two sweeps of a sweeper that is started without a word on it."""


class EngramStore(BaseStore):
    """LangGraph's store over Chroma. Many threads and event loops may use it at once."""

    supports_ttl = True

    def __init__(
        self,
        store: str | Path | None = None,
        *,
        encoder: str | Path | Encoder | Embeddings | None = None,
        index: IndexConfig | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Open a store.

        Args:
            store: A folder, the `http(s)://` URL of a Chroma server, or "memory:" for an empty one that is kept nowhere
                and shared with nobody. Else `ENGRAM_STORE`, else "./engram-data".
            encoder: What makes vectors; else `ENGRAM_ENCODER`, else MiniLM.
            index: As `InMemoryStore` takes it: `embed` in place of the encoder, its `dims`, and the `fields` that items
                are found by. None for the whole value by the encoder, False for no search by meaning.
            ttl: `default_ttl` in minutes; `refresh_on_read`, else true; `omit_expired`, else true: what has expired is
                not shown though it has not been swept; `sweep_interval_minutes` to sweep in the background.

        Raises:
            InvalidInput: A name or number that means nothing.
            StoreError: The store cannot be opened, or its items were indexed with another encoder.
        """
        if encoder is not None and (index is False or (index and index.get("embed"))):
            raise InvalidSetting(f"both encoder {encoder!r} and index {index!r}: give one of them")
        choice = resolve(store, None, None, encoder)
        self.location, self.ttl_config = choice.store, ttl
        self.clock: Callable[[], datetime] = partial(datetime.now, UTC)
        self._indexer: Indexer | None = None
        self._fields: list[str] | None = None
        if index is not False:
            self._indexer = open_indexer(index or {}, open_encoder(choice.encoder))
            self._fields = list((index or {}).get("fields") or WHOLE_VALUE)
        self.index_config = None if index is False else IndexConfig(**(index or {}))
        self.embeddings = getattr(self._indexer, "embeddings", None)
        self._items, self._let_go = self._open()
        self._closed = False
        self._sweeper = Sweeper(self.sweep_ttl)
        if ttl and (minutes := ttl.get("sweep_interval_minutes")):
            self._sweeper.start(minutes)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as one batch: all that is read is as it was before, and then the writes come.

        Args:
            ops: The operations. Of several writes to one address the last one counts.

        Returns:
            What each operation gives, in their order. Items found by a query have a `score`, the cosine of their best
            vector, in -1..1, best first; those without a vector follow with None. Without a query items come by
            namespace, in the order in which they were first put.

        Raises:
            InvalidNamespaceError: A label of a namespace is no text, empty, or holds a period. Nothing is written.
            InvalidInput: Something else about an operation means nothing. Nothing is written.
            StoreError: The store cannot be read or written, or is closed.
        """
        planned = plan(ops, self._fields)
        return self._run(planned, *self._encoded(planned))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as one batch without holding up the event loop; see `batch`."""
        planned = await asyncio.to_thread(plan, list(ops), self._fields)
        encoded = await self._aencoded(planned)
        return await asyncio.to_thread(self._run, planned, *encoded)

    def sweep_ttl(self) -> int:
        """Remove the items that have expired, and give how many there were."""
        with self._used() as items:
            return items.sweep(self.clock())

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in the background from now on; done already where `ttl` has `sweep_interval_minutes`."""
        self._sweeper.start(sweep_interval_minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or SWEEP)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Sweep no more; wait at most `timeout` seconds for a sweep under way, and give whether it has ended."""
        return self._sweeper.stop(timeout)

    def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
        self._sweeper.stop()
        with self._items.lock:  # a batch under way is done first
            closed, self._closed = self._closed, True
            if not closed:
                self._let_go()

    def __enter__(self) -> Self:
        """Give the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _open(self) -> tuple[ItemStore, Callable[[], None]]:
        space = self._indexer.name if self._indexer else None  # what cannot be had fails before anything is written
        items, let_go = open_items(self.location)
        with ExitStack() as failed:
            failed.callback(let_go)
            if space is not None:
                with items.lock, translated(self.location):
                    items.use_space(space)
            failed.pop_all()
        return items, let_go

    def _encoded(self, planned: Plan) -> tuple[Vectors | None, Vectors | None]:
        if self._indexer is None or not (planned.texts or planned.queries):
            return None, None
        return self._indexer.encode(planned.texts, planned.queries)

    async def _aencoded(self, planned: Plan) -> tuple[Vectors | None, Vectors | None]:
        if self._indexer is None or not (planned.texts or planned.queries):
            return None, None
        return await self._indexer.aencode(planned.texts, planned.queries)

    def _run(self, planned: Plan, texts: Vectors | None, queries: Vectors | None) -> list[Result]:
        meanings = BatchVectors(_by_text(planned.texts, texts), _by_text(planned.queries, queries))
        omit_expired = (self.ttl_config or {}).get("omit_expired", True)
        with self._used() as items:
            return run(items, planned, meanings, self.clock(), omit_expired=omit_expired)

    @contextmanager
    def _used(self) -> Iterator[ItemStore]:
        with self._items.lock, translated(self.location):
            if self._closed:
                raise StoreError(f"the store {self.location!r} is closed: open it again")
            yield self._items


@asynccontextmanager
async def open_store_for_server() -> AsyncIterator[EngramStore]:
    """Open the store that `ENGRAM_STORE` and `ENGRAM_ENCODER` name, for `store.path` of a `langgraph.json`.

    The server calls it once for each of its event loops; all of a process share what stands in a folder. Opening and
    closing happen in threads.
    """
    store = await asyncio.to_thread(EngramStore)
    try:
        yield store
    finally:
        await asyncio.to_thread(store.close)


def _by_text(texts: Sequence[str], vectors: Vectors | None) -> Mapping[str, Vectors]:
    return {} if vectors is None else dict(zip(texts, vectors, strict=True))
