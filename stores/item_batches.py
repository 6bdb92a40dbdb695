"""Run a checked batch of LangGraph's operations on items: what is read is as it was before, then the writes come."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice

import numpy as np
from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Result, SearchItem, SearchOp

from langgraph_engram.encoder import Vectors
from langgraph_engram.stores.item_filters import passes
from langgraph_engram.stores.item_plans import Meanings, Plan
from langgraph_engram.stores.item_shelf import ItemShelf
from langgraph_engram.stores.item_store import ItemStore
from langgraph_engram.stores.items import Address, Namespace, StoredItem

NEVER = float("-inf")


def run(items: ItemStore, plan: Plan, meanings: Meanings, now: datetime, *, omit_expired: bool) -> list[Result]:
    """Run a batch, as one: no other batch of this process comes between.

    Args:
        items: What the batch is about.
        plan: The batch.
        meanings: The vectors of its texts and queries; a query without one is passed over.
        now: The moment of the batch, with its time zone.
        omit_expired: Whether items whose time is over are passed over, though they have not been swept.

    Returns:
        What each operation gives, in their order.
    """
    with items.lock:
        reading = Reading(items, meanings.queries, now, now.timestamp() if omit_expired else NEVER)
        results = reading.answers(plan)
        items.refresh(reading.touched, now.timestamp())
        if plan.writes:
            items.write(plan.puts(meanings), now)
        return results


@dataclass
class Reading:
    """The reads of one batch."""

    items: ItemStore
    queries: Mapping[str, Vectors]
    now: datetime
    gone_at: float
    """Seconds since 1970 before which an item has to expire in order to be passed over."""
    touched: list[StoredItem] = field(default_factory=list)
    """Items that were read and are to live anew."""

    def answers(self, plan: Plan) -> list[Result]:
        """Give what each operation gives."""
        found = self.items.find((op.namespace, op.key) for op in plan.ops if isinstance(op, GetOp))
        results: list[Result] = []
        for op in plan.ops:
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
        if item is None or self._hidden(item):
            return None
        if op.refresh_ttl:
            self.touched.append(item)
        return item.as_item()

    def _search(self, op: SearchOp) -> list[SearchItem]:
        shelves = self.items.shelves(op.namespace_prefix)
        query = self.queries.get(op.query or "")
        ordered = ((item, None) for shelf in shelves for item in shelf) if query is None else ranked(shelves, query)
        passing = (
            (item, score)
            for item, score in ordered
            if not self._hidden(item) and (not op.filter or passes(item.value, op.filter))
        )
        hits = list(islice(passing, op.offset, op.offset + op.limit))
        if op.refresh_ttl:
            self.touched += [item for item, _ in hits]
        return [item.as_search_item(score) for item, score in hits]

    def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        if self.gone_at > NEVER:
            self.items.sweep(self.now)
        conditions = op.match_conditions or ()
        found = (one for one in self.items.namespaces() if all(matches(one, each) for each in conditions))
        names = sorted({one[: op.max_depth] for one in found})  # None takes all of it
        return names[op.offset : op.offset + op.limit]

    def _hidden(self, item: StoredItem) -> bool:
        return item.expires_at is not None and item.expires_at <= self.gone_at


def ranked(shelves: Sequence[ItemShelf], query: Vectors) -> Iterator[tuple[StoredItem, float | None]]:
    """Give items by meaning: best score first, those first put first where scores are equal; last those without one.

    Args:
        shelves: Where the items stand.
        query: A vector of length 1, of shape (dimensions,).

    Returns:
        Each item with its score, the cosine of its best vector, in -1..1; None where it has no vector.
    """
    if not shelves:
        return
    scored = [shelf.scores(query) for shelf in shelves]
    slots = np.concatenate([slots for slots, _ in scored])
    scores = np.concatenate([scores for _, scores in scored])
    owners = np.repeat(np.arange(len(shelves)), [len(slots) for slots, _ in scored])
    for place in np.argsort(-scores, kind="stable"):
        yield shelves[owners[place]].at(slots[place]), float(scores[place])
    for item in chain.from_iterable(shelf.unscored() for shelf in shelves):
        yield item, None


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Say whether a namespace begins or ends as a condition says; `*` stands for any one label."""
    path: Iterable[str] = condition.path
    size = len(condition.path)
    if len(namespace) < size:
        return False
    end = namespace[:size] if condition.match_type == "prefix" else namespace[len(namespace) - size :]
    return all(wanted in ("*", label) for wanted, label in zip(path, end, strict=True))
