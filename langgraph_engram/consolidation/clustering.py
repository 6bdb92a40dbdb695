"""Put near-duplicates together in clusters, and clusters in batches that share a question."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Pair, Record
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.stores.index import ScopeIndex

LINE_TOKENS = 12
"""Tokens of what stands around a record in a question."""

Cluster: TypeAlias = tuple[Record, ...]
"""Records that resemble one another, oldest first."""
ClusterBatch: TypeAlias = tuple[Cluster, ...]
"""Clusters that share a question."""


def clusters_of(
    pairs: Sequence[Pair], own: Mapping[str, Record], index: ScopeIndex, settings: UpdateSettings
) -> list[Cluster]:
    """Return what is decided on together: the connected records, or each pair alone.

    Args:
        pairs: The near-duplicates.
        own: The run's records by id; others are looked up in the index.
        index: What is stored of the scope.
        settings: How large a cluster may be, or whether pairs are asked about one by one.
    """
    if settings.ask == "pairs":
        linked = [[pair.older_id, pair.newer_id] for pair in pairs]
    else:
        linked = connected_ids(pairs, settings.max_cluster)
    found = (
        [record for record_id in ids if (record := own.get(record_id) or index.records.get(record_id))]
        for ids in linked
    )
    return [tuple(sorted(group, key=by_age)) for group in found if len(group) > 1]


def batch_clusters(clusters: Sequence[Cluster], settings: UpdateSettings) -> list[ClusterBatch]:
    """Return the clusters in batches of at most `call_tokens`, or of one cluster."""
    batches: list[list[Cluster]] = []
    held = 0
    for cluster in clusters:
        size = sum(count_tokens(record.content) + LINE_TOKENS for record in cluster)
        if not batches or settings.ask == "pairs" or held + size > settings.call_tokens:
            batches.append([])
            held = 0
        batches[-1].append(cluster)
        held += size
    return [tuple(batch) for batch in batches]


def connected_ids(pairs: Sequence[Pair], most: int | None = None) -> list[list[str]]:
    """Return the connected sets of records (union-find).

    Args:
        pairs: The links.
        most: Records of a cluster at most. The closest pairs are joined first, and a pair whose clusters would make
            too large a one joins nothing: a large cluster comes apart at its weakest links. A record all of whose pairs
            lead into full clusters stands in none. The parts meet again when a later record resembles both.

    Returns:
        Lists of two record ids or more, each sorted, in the order of their first id: the same for every order of
        pairs.
    """
    members: dict[str, list[str]] = {}
    for pair in sorted(pairs, key=lambda pair: (-pair.cosine, -pair.jaccard, pair.older_id, pair.newer_id)):
        first, second = (members.setdefault(record_id, [record_id]) for record_id in (pair.older_id, pair.newer_id))
        if first is second or (most is not None and len(first) + len(second) > most):
            continue
        joined = [*first, *second]
        members |= dict.fromkeys(joined, joined)
    distinct = {id(cluster): sorted(cluster) for cluster in members.values() if len(cluster) > 1}
    return sorted(distinct.values())


def by_age(record: Record) -> tuple[datetime, str, int, int, str]:
    """Return the key that sorts records by when they were mentioned, oldest first."""
    mentioned_at = record.mentioned_at or datetime.min.replace(tzinfo=UTC)
    return mentioned_at, record.session_id, record.seq, record.part, record.record_id
