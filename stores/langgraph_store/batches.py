"""Run a checked batch over the items of a store: its reads, and then its writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Result, SearchItem, SearchOp

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.stores.langgraph_store.filters import passes
from langgraph_engram.stores.langgraph_store.indexer import BatchVectors
from langgraph_engram.stores.langgraph_store.items import Address, Items, Namespace, StoredItem
from langgraph_engram.stores.langgraph_store.operations import CheckedBatch, Write, matches


def run_batch(
    items: Items, batch: CheckedBatch, vectors: BatchVectors, now: datetime, *, omit_expired: bool
) -> list[Result]:
    """Run a batch over items that are held."""
    reads = _Reads(items, vectors.queries, now.timestamp(), omit_expired)
    results = reads.results(batch)
    items.refresh(reads.touched, now.timestamp())
    replaced = items.get(write.address for write in batch.writes)
    items.put([_new_item(write, replaced, vectors, now) for write in batch.writes if write.text is not None])
    items.delete(write.address for write in batch.writes if write.text is None)
    return results


@dataclass
class _Reads:
    """The reads of one batch."""

    items: Items
    queries: Mapping[str, Vectors]
    now: float
    """Seconds since 1970."""
    omit_expired: bool
    touched: list[StoredItem] = field(default_factory=list)
    """Items that were read and whose time to live restarts."""

    def results(self, batch: CheckedBatch) -> list[Result]:
        """Return the result of each operation; None for a write."""
        found = self.items.get((op.namespace, op.key) for op in batch.ops if isinstance(op, GetOp))
        results: list[Result] = []
        for op in batch.ops:
            match op:
                case GetOp():
                    results.append(self._get(op, found))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._list(op))
                case _:
                    results.append(None)
        return results

    def _get(self, op: GetOp, found: Mapping[Address, StoredItem]) -> Item | None:
        item = found.get((op.namespace, op.key))
        if item is None or self._is_hidden(item):
            return None
        if op.refresh_ttl:
            self.touched.append(item)
        return item.as_item()

    def _search(self, op: SearchOp) -> list[SearchItem]:
        items = [item for item in self.items.under(op.namespace_prefix) if not self._is_hidden(item)]
        if op.filter:
            items = [item for item in items if passes(item.value, op.filter)]
        query = self.queries.get(op.query or "")
        ranked = _newest_first(items) if query is None else _nearest_first(items, query)
        hits = ranked[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            self.touched += [item for item, _ in hits]
        return [item.as_search_item(score) for item, score in hits]

    def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        if self.omit_expired:
            self.items.sweep(self.now)
        conditions = op.match_conditions or ()
        listed = (
            namespace
            for namespace in self.items.namespaces()
            if all(matches(namespace, condition) for condition in conditions)
        )
        distinct = sorted({namespace[: op.max_depth] for namespace in listed})  # None takes all of it
        return distinct[op.offset : op.offset + op.limit]

    def _is_hidden(self, item: StoredItem) -> bool:
        return self.omit_expired and item.expired(self.now)


def _newest_first(items: Sequence[StoredItem]) -> list[tuple[StoredItem, float | None]]:
    """Order items by their last update; those of one batch backwards."""
    oldest_first = sorted(items, key=lambda item: item.updated_at)
    return [(item, None) for item in reversed(oldest_first)]


def _nearest_first(items: Sequence[StoredItem], query: Vectors) -> list[tuple[StoredItem, float | None]]:
    """Rank items by their scores, equal ones as they come; items without a vector last."""
    scored = [(item, item.score(query)) for item in items]
    return sorted(scored, key=lambda hit: float("inf") if hit[1] is None else -hit[1])


def _new_item(write: Write, replaced: Mapping[Address, StoredItem], vectors: BatchVectors, now: datetime) -> StoredItem:
    """Return the item of a write. One that is replaced keeps its `created_at`, unless it has expired."""
    before = replaced.get(write.address)
    is_update = before is not None and not before.expired(now.timestamp())
    namespace, key = write.address
    return StoredItem(
        namespace,
        key,
        text=write.text or "",
        created_at=before.created_at if before is not None and is_update else now,
        updated_at=now,
        vectors=vectors.of(write.indexed_texts),
        ttl=write.ttl,
        expires_at=None if write.ttl is None else now.timestamp() + write.ttl * 60,
    )
