"""Say what a commit writes of each kind, which vectors are known already, and what an index is after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

from langgraph_engram.encoder import Vectors
from langgraph_engram.stores.kinds import PENDINGS, Kind, T
from langgraph_engram.stores.scope_index import ScopeIndex


@dataclass(frozen=True)
class Batch(Generic[T]):
    """Things of one kind that are written together, and their vectors."""

    kind: Kind[T]
    items: Sequence[T]
    vectors: Vectors | None
    """None for what is never searched."""


def known_vectors(index: ScopeIndex, parts: Sequence[tuple[Kind[Any], Sequence[Any]]]) -> dict[str, Vectors]:
    """Give the vectors of texts that stand in the index already, such as those of records whose status changes."""
    vectors: dict[str, Vectors] = {}
    for kind, items in parts:
        shelf = index.shelf(kind)
        for item in items:
            held = shelf.get(kind.id_of(item))
            if held is not None and kind.text_of(held) == kind.text_of(item):
                vectors[kind.text_of(item)] = shelf.vectors[shelf.position(kind.id_of(item))]
    return vectors


def grown(index: ScopeIndex, batches: Sequence[Batch[Any]], settled: Sequence[str], revision: str) -> ScopeIndex:
    """Give an index as it is after a commit, `settled` being the ids of pendings that it took away."""
    noted = [one for batch in batches if batch.kind == PENDINGS for one in batch.items]
    after = index.at(revision).pending(noted, settled)
    for batch in batches:
        if batch.vectors is not None:
            after = after.put(batch.kind, batch.items, batch.vectors)
    return after
