"""Gather pairs into clusters: what is linked by any chain of pairs is one cluster, whatever their order."""

from collections.abc import Sequence

from langgraph_engram.state import Pair


def clusters(pairs: Sequence[Pair], most: int | None = None) -> list[list[str]]:
    """Give the connected sets of records (union-find).

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
    for pair in sorted(pairs, key=_closest_first):
        first, second = (members.setdefault(one, [one]) for one in (pair.older_id, pair.newer_id))
        if first is second or (most is not None and len(first) + len(second) > most):
            continue
        joined = [*first, *second]
        members |= dict.fromkeys(joined, joined)
    distinct = {id(cluster): sorted(cluster) for cluster in members.values() if len(cluster) > 1}
    return sorted(distinct.values())


def _closest_first(pair: Pair) -> tuple[float, float, str, str]:
    return -pair.cosine, -pair.jaccard, pair.older_id, pair.newer_id
