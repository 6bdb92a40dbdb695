"""LangGraph's long-term store over Chroma.

    with EngramStore("./engram-data") as store:
        graph = builder.compile(store=store)

Its items are kept in collections of their own; a `Memory` may have the same folder open. It does what LangGraph's
`InMemoryStore` does, and more: items are durable, an update keeps `created_at`, items may expire, and the vectors of a
value go with it (docs/decisions/0018).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Literal, Self
from weakref import WeakKeyDictionary

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, IndexConfig, Op, PutOp, Result, TTLConfig

from langgraph_engram.config import resolve
from langgraph_engram.embeddings.base import Encoder, Vectors
from langgraph_engram.embeddings.factory import open_encoder
from langgraph_engram.errors import EncoderUnavailable, InvalidInput, InvalidSetting, StoreError
from langgraph_engram.screening import screen_value
from langgraph_engram.stores.clients import translated_errors
from langgraph_engram.stores.langgraph_store.factory import Indexer, open_indexer, open_items
from langgraph_engram.stores.langgraph_store.index import ItemStore
from langgraph_engram.stores.langgraph_store.items import Address, StoredItem
from langgraph_engram.stores.langgraph_store.operations import BatchVectors, Plan, joined, plan, run

log = logging.getLogger(__name__)

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
        self._indexer: Indexer | None = None
        self._fields: list[str] | None = None
        if index is not False:
            self._indexer = open_indexer(index or {}, open_encoder(choice.encoder))
            self._fields = list((index or {}).get("fields") or WHOLE_VALUE)
        self.index_config = None if index is False else IndexConfig(**(index or {}))
        self.embeddings = getattr(self._indexer, "embeddings", None)
        self._items, self._release = self._open()
        self._closed = False
        self._loop = _running_loop()
        self._batches = _JoinedBatches(self._arun)
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
        planned = self._plan(ops)
        return self._run(planned, *self._encoded(planned))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as one batch without blocking the event loop; see `batch`.

        Batches that come while another one of their event loop runs are joined: they are then run as one.
        """
        planned = await asyncio.to_thread(self._plan, list(ops))
        return await self._batches.run(planned)

    def _plan(self, ops: Iterable[Op]) -> Plan:
        """Check operations, and screen what they put for secrets, as messages are (`receive.secrets`)."""
        if self._receive.secrets == "keep":
            return plan(ops, self._fields)
        screened: list[Op] = []
        masked = 0
        try:
            for op in ops:
                value, count = screen_value(op.value, self._receive) if isinstance(op, PutOp) else (None, 0)
                screened.append(op._replace(value=value) if isinstance(op, PutOp) else op)
                masked += count
            planned = plan(screened, self._fields)
        except RecursionError as error:
            raise InvalidInput("a value is nested too deeply to be screened: give a flatter one") from error
        if masked:
            log.warning("%d secrets were masked in what is put into the store (receive.secrets)", masked)
        return planned

    async def _arun(self, planned: Plan) -> list[Result]:
        encoded = await self._aencoded(planned)
        return await asyncio.to_thread(self._run, planned, *encoded)

    def sweep_ttl(self) -> int:
        """Remove the expired items, and return how many there were."""
        with self._in_use() as items:
            return items.sweep(self.clock())

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

    def _open(self) -> tuple[ItemStore, Callable[[], None]]:
        encoder_name = self._indexer.name if self._indexer else None  # a missing one fails before anything is written
        items, release = open_items(self.location)
        with ExitStack() as failed:
            failed.callback(release)
            with items.held(), translated_errors(self.location):
                if encoder_name is not None:
                    items.require_encoder(encoder_name)
                self._restore_vectors(items)
            failed.pop_all()
        return items, release

    def _restore_vectors(self, items: ItemStore) -> None:
        """Encode the items again whose vectors were lost as a process died; without them they are found by no query."""
        try:
            items.restore_vectors(self._vectors_of if self._indexer else None)
        except (EncoderUnavailable, ValueError) as error:  # an asynchronous function cannot encode here
            log.warning("items whose vectors were lost are not encoded until the store is opened again: %s", error)

    def _vectors_of(self, items: Sequence[StoredItem]) -> Mapping[Address, Vectors]:
        """Return the vectors of items by the fields of this store; what each was put with is not known any more."""
        planned = plan([PutOp(item.namespace, item.key, item.value) for item in items], self._fields)
        texts, _ = self._encoded(planned)
        puts = planned.puts(BatchVectors(_by_text(planned.texts, texts), {}))
        return {put.address: put.vectors for put in puts if put.vectors is not None}

    def _encoded(self, planned: Plan) -> tuple[Vectors | None, Vectors | None]:
        if self._indexer is None or not (planned.texts or planned.queries):
            return None, None
        return self._indexer.encode(planned.texts, planned.queries)

    async def _aencoded(self, planned: Plan) -> tuple[Vectors | None, Vectors | None]:
        if self._indexer is None or not (planned.texts or planned.queries):
            return None, None
        return await self._indexer.aencode(planned.texts, planned.queries)

    def _run(self, planned: Plan, texts: Vectors | None, queries: Vectors | None) -> list[Result]:
        vectors = BatchVectors(_by_text(planned.texts, texts), _by_text(planned.queries, queries))
        omit_expired = (self.ttl_config or {}).get("omit_expired", False)
        with self._in_use() as items:
            return run(items, planned, vectors, self.clock(), omit_expired=omit_expired)

    @contextmanager
    def _in_use(self) -> Iterator[ItemStore]:
        with self._items.held(), translated_errors(self.location):
            if self._closed:
                raise StoreError(f"the store {self.location!r} is closed: open it again")
            yield self._items


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


@dataclass
class _Waiting:
    """The batches of one event loop that wait for the one that runs."""

    running: asyncio.Lock = field(default_factory=asyncio.Lock)
    batches: list[tuple[Plan, "asyncio.Future[list[Result]]"]] = field(default_factory=list)


def _check_index(index: object) -> None:
    """Check LangGraph's configuration of an index.

    Raises:
        InvalidSetting: It is none, names what there is not, or names dimensions without what embeds.
    """
    if index is None or index is False:
        return
    names = set(index) if isinstance(index, Mapping) else {"?"}
    if names - set(IndexConfig.__annotations__) or ("dims" in names and "embed" not in names):
        raise InvalidSetting(
            f"index is {index!r}: pass a mapping with `embed` and its `dims`, or without both for the encoder, and "
            f"`fields` where not all of a value is searched; or False"
        )


class _JoinedBatches:
    """Runs the batches that wait in an event loop as one, so that many single writes cost few commits."""

    def __init__(self, run: Callable[[Plan], Awaitable[list[Result]]]) -> None:
        """Run by a function."""
        self._run = run
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()
        self._lock = Lock()

    async def run(self, planned: Plan) -> list[Result]:
        """Run a batch, with those that wait beside it; what fails fails for all of them."""
        loop = asyncio.get_running_loop()
        with self._lock:
            waiting = self._of_loop.setdefault(loop, _Waiting())
        own: asyncio.Future[list[Result]] = loop.create_future()
        waiting.batches.append((planned, own))
        try:
            async with waiting.running:
                if not own.done():
                    await self._run_all(waiting)
            return own.result()
        finally:
            own.cancel()  # where this call was cancelled, nobody waits for it

    async def _run_all(self, waiting: _Waiting) -> None:
        batches = [(planned, future) for planned, future in waiting.batches if not future.done()]
        waiting.batches = []
        try:
            results = iter(await self._run(joined([planned for planned, _ in batches])))
        except Exception as error:  # noqa: BLE001 - each of those who wait raises it
            for _, future in batches:
                if not future.done():
                    future.set_exception(error)
        except asyncio.CancelledError:
            waiting.batches = batches + waiting.batches  # the next in line runs them
            raise
        else:
            for planned, future in batches:
                found = list(islice(results, len(planned.ops)))
                if not future.done():
                    future.set_result(found)


class _Sweeper:
    """A background thread that removes expired items. It may be started and stopped from any thread."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        """Sweep by a function that returns how many items it has removed."""
        self._sweep = sweep
        self._lock = Lock()
        self._running: tuple[Thread, Event] | None = None

    def start(self, minutes: float) -> None:
        """Sweep every so many minutes. Starting twice is harmless: the first interval holds."""
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
                swept = self._sweep()
            except StoreError as error:
                log.warning("expired items were not swept: %s", error)
            else:
                log.debug("%d expired items swept", swept)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _by_text(texts: Sequence[str], vectors: Vectors | None) -> Mapping[str, Vectors]:
    return {} if vectors is None else dict(zip(texts, vectors, strict=True))
