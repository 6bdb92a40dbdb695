"""LangGraph's long-term store over Chroma.

    with EngramStore("./engram-data") as store:
        graph = builder.compile(store=store)

Its items are kept in a collection of their own; a `Memory` may have the same folder open. It does what LangGraph's
`InMemoryStore` does, and more: items are durable, an update keeps `created_at`, items may expire, and the vectors of a
value go with it (docs/decisions/0021).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, IndexConfig, Op, PutOp, Result, TTLConfig

from langgraph_engram.config import resolve
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.errors import InvalidInput, InvalidSetting, StoreError
from langgraph_engram.screening import screen_value
from langgraph_engram.stores.base import kind_of_location
from langgraph_engram.stores.clients import open_memory, open_server, translated_errors
from langgraph_engram.stores.folders import OPEN_FOLDERS
from langgraph_engram.stores.langgraph_store.batches import run_batch
from langgraph_engram.stores.langgraph_store.indexer import BatchVectors, open_indexer
from langgraph_engram.stores.langgraph_store.items import Items
from langgraph_engram.stores.langgraph_store.operations import CheckedBatch, checked_batch

if TYPE_CHECKING:
    from chromadb.api.client import Client

log = logging.getLogger(__name__)

PART = "items"
"""The part of a folder that holds items."""
WHOLE_VALUE = ["$"]
"""The path to all of a value, which items are found by by default."""
SWEEP_MINUTES = 5.0
"""The default interval between two sweeps."""


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
            store: A folder, the `http(s)://` URL of a Chroma server, or "memory:" for an empty one of its own that
                is gone when it is closed. Else `ENGRAM_STORE`, else "./engram-data".
            encoder: What makes vectors. Else `ENGRAM_ENCODER`, else MiniLM.
            index: As `InMemoryStore` takes it: `embed` in place of the encoder, its `dims`, and the `fields` that items
                are found by. None for the whole value by the encoder, False for no semantic search.
            ttl: `default_ttl` in minutes; `refresh_on_read`, else true; `omit_expired`, else false: whether expired
                items that have not been swept are left out; `sweep_interval_minutes` to sweep in the background.

        Raises:
            InvalidInput: A name or number is invalid.
            StoreError: The store cannot be opened, or its items were indexed with another encoder.
        """
        if encoder is not None and (index is False or (index and index.get("embed"))):
            raise InvalidSetting(f"both encoder {encoder!r} and index {index!r}: give one of them")
        _check_index(index)
        if not isinstance(ttl or {}, Mapping):
            raise InvalidSetting(f'ttl is {ttl!r}: pass a mapping, such as {{"default_ttl": 60}}')
        choice = resolve(store, None, None, encoder)
        self._receive = choice.settings.receive
        self.location, self.ttl_config = choice.store, ttl
        self.clock: Callable[[], datetime] = partial(datetime.now, UTC)
        self.index_config = None if index is False else IndexConfig(**(index or {}))
        self._indexer = None if index is False else open_indexer(index or {}, open_encoder(choice.encoder))
        self._fields = None if index is False else list((index or {}).get("fields") or WHOLE_VALUE)
        self.embeddings = self._indexer.embeddings if self._indexer else None
        self._items, self._release = self._open()
        self._closed = False
        self._loop = _running_loop()
        self._sweeper = _Sweeper(self.sweep_ttl)
        if ttl and (minutes := ttl.get("sweep_interval_minutes")):
            self._sweeper.start(minutes)

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
            InvalidStateError: It is called in the event loop in which the store was opened, which it would block.
        """
        if self._loop is not None and self._loop is _running_loop():
            raise asyncio.InvalidStateError(
                "a synchronous call would block the event loop in which the store was opened: await aget, aput, asearch"
            )
        batch = self._checked(ops)
        return self._run(batch, self._indexer.embed(batch) if self._indexer else BatchVectors())

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as one batch without blocking the event loop; see `batch`."""
        batch = await asyncio.to_thread(self._checked, list(ops))
        vectors = await self._indexer.aembed(batch) if self._indexer else BatchVectors()
        return await asyncio.to_thread(self._run, batch, vectors)

    def sweep_ttl(self) -> int:
        """Remove the expired items, and return how many there were."""
        with self._in_use() as items:
            return items.sweep(self.clock().timestamp())

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in the background; `ttl` with `sweep_interval_minutes` has started it already."""
        self._sweeper.start(
            sweep_interval_minutes or (self.ttl_config or {}).get("sweep_interval_minutes") or SWEEP_MINUTES
        )

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping; wait at most `timeout` seconds for a sweep under way, and return whether it has ended."""
        return self._sweeper.stop(timeout)

    def close(self) -> None:
        """Close the store. Closing twice is harmless."""
        self._sweeper.stop()
        with self._items.lock:  # a batch under way is done first
            closed, self._closed = self._closed, True
            if not closed:
                self._release()

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _open(self) -> tuple[Items, Callable[[], None]]:
        items, release = _open_items(self.location)
        with ExitStack() as failed:
            failed.callback(release)
            if self._indexer:
                with items.held(), translated_errors(self.location):
                    items.require_encoder(self._indexer.name)
            failed.pop_all()
        return items, release

    @contextmanager
    def _in_use(self) -> Iterator[Items]:
        with self._items.held(), translated_errors(self.location):
            if self._closed:
                raise StoreError(f"the store {self.location!r} is closed: open it again")
            yield self._items

    def _checked(self, ops: Iterable[Op]) -> CheckedBatch:
        """Check operations, and screen what they put for secrets, as messages are (`receive.secrets`)."""
        if self._receive.secrets == "keep":
            return checked_batch(ops, self._fields)
        screened: list[Op] = []
        masked = 0
        try:
            for op in ops:
                value, count = screen_value(op.value, self._receive) if isinstance(op, PutOp) else (None, 0)
                screened.append(op._replace(value=value) if isinstance(op, PutOp) else op)
                masked += count
        except RecursionError as error:
            raise InvalidInput("a value is nested too deeply to be screened: give a flatter one") from error
        batch = checked_batch(screened, self._fields)
        if masked:
            log.warning("%d secrets were masked in what is put into the store (receive.secrets)", masked)
        return batch

    def _run(self, batch: CheckedBatch, vectors: BatchVectors) -> list[Result]:
        omit_expired = bool((self.ttl_config or {}).get("omit_expired"))
        with self._in_use() as items:
            return run_batch(items, batch, vectors, self.clock(), omit_expired=omit_expired)


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
    """Check LangGraph's configuration of an index."""
    if index is None or index is False:
        return
    names = set(index) if isinstance(index, Mapping) else {"?"}
    if names - set(IndexConfig.__annotations__) or ("dims" in names and "embed" not in names):
        raise InvalidSetting(
            f"index is {index!r}: pass a mapping with `embed` and its `dims`, or without both for the encoder, and "
            f"`fields` where not all of a value is searched; or False"
        )


def _open_items(location: str) -> tuple[Items, Callable[[], None]]:
    """Open the items of a store, and return what closes them; to be called once."""
    kind = kind_of_location(location)
    if kind == "folder":
        folder = Path(location).expanduser().resolve()
        items = OPEN_FOLDERS.acquire(folder, PART, lambda client: _items_in(client(), folder))
        return items, partial(OPEN_FOLDERS.release, folder, PART)
    client, close = open_memory() if kind == "memory" else open_server(location)
    with ExitStack() as failed, translated_errors(location):
        failed.callback(close)
        items = Items(client, location)
        failed.pop_all()
    return items, close


def _items_in(client: "Client", folder: Path) -> Items:
    with translated_errors(str(folder)):
        return Items(client, str(folder), folder)


class _Sweeper:
    """A background thread that removes expired items. It may be started and stopped from any thread."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        """Sweep by a function that returns how many items it has removed."""
        self._sweep, self._lock = sweep, Lock()
        self._running: tuple[Thread, Event] | None = None

    def start(self, minutes: float) -> None:
        """Sweep every so many minutes. Starting twice is harmless: the first interval stays."""
        with self._lock:
            if self._running is None:
                stop = Event()
                thread = Thread(target=self._run, args=(minutes * 60, stop), name="engram-sweeper", daemon=True)
                self._running = thread, stop
                thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop, and wait at most `timeout` seconds for a sweep under way; return whether it has stopped."""
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
                log.debug("%d expired items swept", self._sweep())
            except StoreError as error:
                log.warning("expired items were not swept: %s", error)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
